"""Which start of a container a question for its log means, or why there is no answer, in the kubelet's words."""

from kohort.embedded.nodes.runtime import ContainerStatus, Waiting
from kohort.embedded.runtimes.pods import RunPod
from kohort.embedded.server.logs import LogOptions
from kohort.kube.errors import bad_request


def which_start(pod: RunPod, status: ContainerStatus, attempt: int, options: LogOptions) -> int:
    """The number of the start whose log is wanted."""
    name = pod.metadata.name
    waits = isinstance(status.state, Waiting)
    if options.previous:
        if status.last is None:
            raise bad_request(f'previous terminated container "{status.name}" in pod "{name}" not found')
        return attempt if waits else attempt - 1
    if isinstance(status.state, Waiting) and status.last is None:
        why = status.state.reason
        raise bad_request(f'container "{status.name}" in pod "{name}" is waiting to start: {why}')
    return attempt
