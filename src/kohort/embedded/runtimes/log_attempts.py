"""Resolves which start of a container a log request refers to, with the kubelet's errors."""

from kohort.embedded.nodes.runtime import ContainerWaiting, RuntimeContainerStatus
from kohort.embedded.runtimes.pods import RunPod
from kohort.embedded.server.subresources.logs import PodLogOptions
from kohort.kube.errors import bad_request


def resolve_attempt(pod: RunPod, status: RuntimeContainerStatus, attempt: int, options: PodLogOptions) -> int:
    """The attempt whose log is requested."""
    name = pod.metadata.name
    waits = isinstance(status.state, ContainerWaiting)
    if options.previous:
        if status.last is None:
            raise bad_request(f'previous terminated container "{status.name}" in pod "{name}" not found')
        return attempt if waits else attempt - 1
    if isinstance(status.state, ContainerWaiting) and status.last is None:
        why = status.state.reason
        raise bad_request(f'container "{status.name}" in pod "{name}" is waiting to start: {why}')
    return attempt
