"""What people are told about a cluster, in words."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Final

from kohort.api.amounts import readable_amount, to_amount
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.local.lives import Pods
from kohort.local.progress import Ready

_UNSAID: Final = ("ephemeral-storage",)

FAREWELLS: Final[Mapping[Pods, str]] = {
    Pods.LEFT: "pods run on, and the next start finds them (--end-pods ends them)",
    Pods.ENDED: "pods are ended then",
    Pods.SIMULATED: "simulated pods go on by the clock",
}


def nodes_in_words(nodes: Sequence[DeclaredNode], runtime: str) -> str:
    """What there is to run pods on."""
    offered = sorted(
        (name, to_amount(name, amount)) for name, amount in nodes[0].offered.items() if name not in _UNSAID
    )
    said = (f"{name} {readable_amount(name, amount)}" for name, amount in offered)
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
