"""What people are told about a cluster, in words."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Final

from kohort.api.amounts import to_amount
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.local.lives import Pods
from kohort.local.progress import Ready

_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
_IN_BYTES: Final = ("memory", "ephemeral-storage")
_UNSAID: Final = ("ephemeral-storage",)

FAREWELLS: Final[Mapping[Pods, str]] = {
    Pods.LEFT: "pods run on, and the next start finds them (--end-pods ends them)",
    Pods.ENDED: "pods are ended then",
    Pods.SIMULATED: "simulated pods go on by the clock",
}


def amount_in_words(resource: str, amount: str) -> str:
    """An amount with as many digits as a person wants to read: 23.4Gi of memory, not 24559084Ki."""
    if resource not in _IN_BYTES and not resource.startswith("hugepages-"):
        return amount
    return bytes_in_words(to_amount(resource, amount))


def bytes_in_words(count: float) -> str:
    """So many bytes, in the largest unit that there is one of."""
    for unit in _UNITS:
        if count < 1024 or unit == _UNITS[-1]:
            return f"{count:.1f}".removesuffix(".0") + unit
        count /= 1024
    raise AssertionError  # the last unit takes them all


def nodes_in_words(nodes: Sequence[DeclaredNode], runtime: str) -> str:
    """What there is to run pods on."""
    offered = nodes[0].offered
    said = (f"{name} {amount_in_words(name, offered[name])}" for name in sorted(offered) if name not in _UNSAID)
    who = f"node {nodes[0].name}" if len(nodes) == 1 else f"{len(nodes)} nodes, each"
    return f"{who}: {', '.join(said)}; runtime {runtime}"


def greeting(ready: Ready, stop: str) -> Iterator[str]:
    """What is where, and what to try next."""
    yield f"{ready.context} is ready at {ready.url}"
    shared = f", and in {ready.shared}" if ready.shared else ""
    yield f"  context {ready.context} in {ready.kubeconfig}{shared}"
    yield f"  {ready.nodes}"
    if ready.starter is not None:
        made = f"made {', '.join(ready.starter)}" if ready.starter else "was there already, and was left as it is"
        yield f"  starter queue default in namespace default: {made}"
    if ready.log:
        yield f"  log in {ready.log}"
    for warning in ready.warnings:
        yield f"  warning: {warning}"
    yield "Next:"
    if not ready.shared:
        yield f"  export KUBECONFIG={quote(ready.kubeconfig)}"
    yield "  kubectl get nodes"
    if ready.starter is not None:
        yield "  kohort submit --cpu 1 --follow -- echo hello"
    elif not ready.has_queues:
        yield "  kohort up --starter   # next time: there is no queue yet, and it makes one"
    yield f"{stop}; {ready.farewell}"
