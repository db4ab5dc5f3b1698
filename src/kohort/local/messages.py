"""What people are told about a cluster, in words."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Final

from kohort.api.amounts import readable_amount, to_amount
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.local.previous_run import PreviousRunPods
from kohort.local.progress import Ready
from kohort.local.runs import ClusterRun, PodsAfterStop, has_rebooted_since

_UNSAID: Final = ("ephemeral-storage",)

FAREWELLS: Final[Mapping[PodsAfterStop, str]] = {
    PodsAfterStop.LEFT: "pods run on, and the next start finds them (--end-pods ends them)",
    PodsAfterStop.ENDED: "pods are ended then",
    PodsAfterStop.SIMULATED: "simulated pods go on by the clock",
}


NOTHING_STAYS: Final = "all is gone then, pods included"


def nodes_in_words(nodes: Sequence[DeclaredNode], runtime: str) -> str:
    """What there is to run pods on."""
    offered = sorted(
        (name, to_amount(name, amount)) for name, amount in nodes[0].offered.items() if name not in _UNSAID
    )
    said = (f"{name} {readable_amount(name, amount)}" for name, amount in offered)
    who = f"node {nodes[0].name}" if len(nodes) == 1 else f"{len(nodes)} nodes, each"
    return f"{who}: {', '.join(said)}; runtime {runtime}"


def ready_message(ready: Ready, stop: str) -> Iterator[str]:
    """What is where, and what to try next."""
    yield f"{ready.context} is ready at {ready.url}"
    shared = f", and in {ready.shared}" if ready.shared else ""
    yield f"  context {ready.context} in {ready.kubeconfig}{shared}"
    if ready.is_current:
        yield f"  {_current(ready)}"
    yield f"  {ready.nodes}"
    for line in ready.before:
        yield f"  {line}"
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
    named = f" --context {ready.context}" if ready.needs_context else ""
    yield f"  kubectl{named} get nodes"
    if ready.starter is not None:
        yield f"  kohort submit{named} --cpu 1 --follow -- echo hello"
    elif not ready.has_queues:
        yield f"  {ready.again} --starter   # once it is stopped: there is no queue yet, and this makes one"
    yield f"{stop}; {ready.farewell}"


def _current(ready: Ready) -> str:
    if ready.previous in ("", ready.context):
        return f"{ready.context} is the current context of kubectl"
    return f"{ready.context} is the current context of kubectl now; stopping it restores {ready.previous}"


def last_run_in_words(run: ClusterRun | None, found: PreviousRunPods) -> Iterator[str]:
    """How the last run ended, where nobody stopped it, and what became of its pods; nothing of an ordinary one."""
    if run is not None and run.ended is None:
        how = "the machine went down" if has_rebooted_since(run) else "its process was killed"
        yield f"the last run was not stopped: {how}"
    if pods := aftermath_in_words(found):
        yield f"pods of the last run: {pods}"


def aftermath_in_words(found: PreviousRunPods) -> str:
    """`2 run on, 1 ended meanwhile, 1 is gone …`."""
    parts = []
    if found.running:
        parts.append(f"{found.running} {'runs' if found.running == 1 else 'run'} on")
    if found.ended:
        parts.append(f"{found.ended} ended meanwhile")
    if found.lost:
        verb, whose = ("is", "its Job tries") if found.lost == 1 else ("are", "their Jobs try")
        parts.append(f"{found.lost} {verb} gone ({whose} again as far as backoffLimit allows)")
    return ", ".join(parts)
