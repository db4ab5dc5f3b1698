"""Classifies the pods that were running when the previous run of a cluster ended: running, finished or lost.

At a start, the node agent updates the conditions of pods that finished meanwhile, so that pods which finished in
earlier runs are not counted.
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

_MAX_WAIT_SECONDS: Final = 3.0
"""How long a start waits for the status of adopted pods."""
_POLL_SECONDS: Final = 0.02
_ALIVE: Final = "PodReadyToStartContainers"
_OVER: Final = ("Succeeded", "Failed")


class PodFate(Enum):
    """State of a pod of the previous run."""

    RUNS = "running"
    ENDED = "finished"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class PreviousRunPods:
    """Counts of the pods of the previous run, by state."""

    running: int = 0
    ended: int = 0
    lost: int = 0


NOTHING: Final = PreviousRunPods()


def pods_of_previous_run(pods: Iterable[Pod], began: datetime) -> PreviousRunPods:
    """Counts for all pods, given the start of this run."""
    fates = [fate_of(pod, began) for pod in pods]
    return PreviousRunPods(fates.count(PodFate.RUNS), fates.count(PodFate.ENDED), fates.count(PodFate.LOST))


def fate_of(pod: Pod, began: datetime) -> PodFate | None:
    """The state of a pod; None if it was not running when the previous run ended."""
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
    """Whether the container was lost; False once it has been restarted in an earlier run."""
    if container.state.terminated is not None:
        return container.state.terminated.reason == LOST
    before, now = container.last_state.terminated, container.state.running
    if before is None or before.reason != LOST:
        return False
    return now is None or now.started_at is None or now.started_at >= began


async def inspect_previous_run(plane: ControlPlane, client: Client, began: datetime) -> PreviousRunPods:
    """Counts of pods of the previous run, once the node agents are up to date or a timeout has passed."""
    with suppress(TimeoutError):
        await within(client.clock, _MAX_WAIT_SECONDS, _agents_up_to_date(plane, client))
    return pods_of_previous_run((await client.of(Pod).list()).items, began)


async def _agents_up_to_date(plane: ControlPlane, client: Client) -> None:
    while not all(agent.is_up_to_date for agent in plane.agents):
        await client.clock.sleep(_POLL_SECONDS)
