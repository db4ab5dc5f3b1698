"""What became of the pods that ran when a cluster's last run ended: told by how they are found, since nobody looked on.

A start turns the condition of a pod that is over by then, so that pods which ended in earlier runs are not counted.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from kohort.api.core.pods import ContainerStatus, Pod
from kohort.embedded.control_plane import ControlPlane
from kohort.embedded.nodes.phases import LOST
from kohort.kube.client import Client
from kohort.kube.clock import within

_PATIENCE: Final = 3.0
"""Seconds that a start waits for word of pods that it found."""
_LOOK_AGAIN: Final = 0.02
_ALIVE: Final = "PodReadyToStartContainers"
_OVER: Final = ("Succeeded", "Failed")


class PodFate(Enum):
    """What became of a pod."""

    RUNS = "runs on"
    ENDED = "ended meanwhile"
    LOST = "is gone"


@dataclass(frozen=True, slots=True)
class PreviousRunPods:
    """How many pods of the last run met which fate."""

    running: int = 0
    ended: int = 0
    lost: int = 0


NOTHING: Final = PreviousRunPods()


def pods_of_previous_run(pods: Iterable[Pod], began: datetime) -> PreviousRunPods:
    """The pods of the last run, given all pods and when this one began."""
    fates = [fate_of(pod, began) for pod in pods]
    return PreviousRunPods(fates.count(PodFate.RUNS), fates.count(PodFate.ENDED), fates.count(PodFate.LOST))


def fate_of(pod: Pod, began: datetime) -> PodFate | None:
    """What became of a pod; None for one that did not run when the last run ended."""
    status = pod.status
    if status.start_time is None or status.start_time >= began:
        return None
    if status.phase in _OVER and not _has_turned(pod, began):
        return None
    if any(_is_lost(each, began) for each in status.container_statuses):
        return PodFate.LOST
    if status.phase in _OVER:
        return PodFate.ENDED
    return PodFate.RUNS if any(each.state.running is not None for each in status.container_statuses) else None


def _has_turned(pod: Pod, began: datetime) -> bool:
    found = next((each for each in pod.status.conditions if each.type == _ALIVE), None)
    return found is not None and found.last_transition_time is not None and found.last_transition_time >= began


def _is_lost(container: ContainerStatus, began: datetime) -> bool:
    """Whether it was not found; one that starts again has that behind it."""
    if container.state.terminated is not None:
        return container.state.terminated.reason == LOST
    before, now = container.last_state.terminated, container.state.running
    if before is None or before.reason != LOST:
        return False
    return now is None or now.started_at is None or now.started_at >= began


async def inspect_previous_run(plane: ControlPlane, client: Client, began: datetime) -> PreviousRunPods:
    """The aftermath of the last run, once the node knows how its pods fare, or after a while."""
    with suppress(TimeoutError):
        await within(client.clock, _PATIENCE, _heard(plane, client))
    return pods_of_previous_run((await client.of(Pod).list()).items, began)


async def _heard(plane: ControlPlane, client: Client) -> None:
    while not all(agent.is_up_to_date for agent in plane.agents):
        await client.clock.sleep(_LOOK_AGAIN)
