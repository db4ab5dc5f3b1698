"""Messages of `kohort up` about a cluster."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Final

from kohort.api.amounts import readable_amount, to_amount
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.local.previous_run import PreviousRunPods
from kohort.local.progress import Ready
from kohort.local.runs import ClusterRun, PodsAfterStop, has_rebooted_since
from kohort.operators.names import stand_in_text

_HIDDEN_RESOURCES: Final = ("ephemeral-storage",)

ON_STOP: Final[Mapping[PodsAfterStop, str]] = {
    PodsAfterStop.LEFT: "pods keep running and are adopted at the next start (use --end-pods to terminate them)",
    PodsAfterStop.ENDED: "pods are terminated",
    PodsAfterStop.SIMULATED: "simulated pods continue",
}


EPHEMERAL_ON_STOP: Final = "state and pods are deleted on exit"


def nodes_text(nodes: Sequence[DeclaredNode], runtime: str) -> str:
    """A line about the nodes: their allocatable resources and runtime."""
    offered = sorted(
        (name, to_amount(name, amount)) for name, amount in nodes[0].offered.items() if name not in _HIDDEN_RESOURCES
    )
    amounts = (f"{name} {readable_amount(name, amount)}" for name, amount in offered)
    subject = f"node {nodes[0].name}" if len(nodes) == 1 else f"{len(nodes)} nodes, each"
    return f"{subject}: {', '.join(amounts)}; runtime {runtime}"


def ready_message(ready: Ready, stop: str) -> Iterator[str]:
    """The message of a ready cluster: addresses, files and next steps."""
    yield f"{ready.context} is ready at {ready.url}"
    shared = f", and in {ready.shared}" if ready.shared else ""
    yield f"  context {ready.context} in {ready.kubeconfig}{shared}"
    if ready.is_current:
        yield f"  {_current(ready)}"
    yield f"  {ready.nodes}"
    for line in ready.before:
        yield f"  {line}"
    if ready.starter is not None:
        created = f"created {', '.join(ready.starter)}" if ready.starter else "already exists, unchanged"
        yield f"  starter queue default in namespace default: {created}"
    for operator in ready.operators:
        yield f"  {stand_in_text(operator)}: creates the pods and reports status; not the operator itself"
    if ready.log:
        yield f"  log file {ready.log}"
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
        yield f"  {ready.again} --starter   # after stopping: creates a default queue (none exists yet)"
    yield f"{stop}; {ready.on_stop}"


def _current(ready: Ready) -> str:
    if ready.previous in ("", ready.context):
        return f"{ready.context} is the current context of kubectl"
    return f"{ready.context} is now the current context of kubectl; {ready.previous} is restored on exit"


def previous_run_lines(run: ClusterRun | None, found: PreviousRunPods) -> Iterator[str]:
    """How the previous run ended, if unexpectedly, and the state of its pods."""
    if run is not None and run.ended is None:
        how = "machine rebooted" if has_rebooted_since(run) else "process killed"
        yield f"previous run ended unexpectedly: {how}"
    if pods := previous_run_pods_text(found):
        yield f"pods of the previous run: {pods}"


def previous_run_pods_text(found: PreviousRunPods) -> str:
    """`2 running, 1 finished, 1 lost …`."""
    parts = []
    if found.running:
        parts.append(f"{found.running} running")
    if found.ended:
        parts.append(f"{found.ended} finished")
    if found.lost:
        parts.append(f"{found.lost} lost (Jobs retry up to backoffLimit)")
    return ", ".join(parts)
