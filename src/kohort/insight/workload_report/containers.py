"""Containers of a job's pods that could not be started, and why."""

from collections.abc import Iterable, Iterator
from typing import Final

from kohort.api.core.pods import ContainerStatus, Pod

MAX_CAUSES: Final = 3
"""Number of different causes shown; the pods of a job mostly share one."""
_NOT_STARTED: Final = frozenset({"StartError", "ContainerCannotRun"})
"""Reasons of a terminated container that never ran."""
_NOT_CREATED: Final = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
    }
)
"""Reasons of a waiting container that cannot start."""


def start_failures(pods: Iterable[Pod]) -> tuple[str, ...]:
    """A sentence for each cause of container start failures, with one of the pods as an example."""
    causes: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for pod in pods:
        for container, reason, message in _failures(pod):
            causes.setdefault((reason, message), (container, []))[1].append(pod.metadata.name)
    return tuple(
        f"Container {container} of pod {failed[0]}{_others(failed)} failed to start ({reason}): {message}"
        for (reason, message), (container, failed) in list(causes.items())[:MAX_CAUSES]
    )


def _others(failed: list[str]) -> str:
    count = len(set(failed)) - 1
    return f" and of {count} more" if count else ""


def _failures(pod: Pod) -> Iterator[tuple[str, str, str]]:
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        if (cause := _cause(status)) is not None:
            yield (status.name, *cause)


def _cause(status: ContainerStatus) -> tuple[str, str] | None:
    """Reason and message; of a container that is about to be restarted, those of its last termination."""
    waiting = status.state.waiting
    if waiting is not None and waiting.reason in _NOT_CREATED:
        return waiting.reason, waiting.message
    ended = status.state.terminated or (status.last_state.terminated if waiting is not None else None)
    if ended is not None and ended.reason in _NOT_STARTED:
        return ended.reason, ended.message
    return None
