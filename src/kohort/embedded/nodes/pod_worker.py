"""One pod in the hands of an agent: what its runtime said last, what the API was told last, and why it is to stop."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kohort.api.codec import Json
from kohort.api.meta import ObjectKey
from kohort.embedded.nodes.bound_pods import TERMINAL, BoundPod
from kohort.embedded.nodes.phases import by_name, completed, given_up, has_stopped, phase_of
from kohort.embedded.nodes.runtime import ContainerWaiting, PodEvent, PodFailure, PodState, RunningPod, Terminated
from kohort.embedded.nodes.shapes import PodStatusShape
from kohort.embedded.nodes.status import PodStatusContext, patch_between, status_of
from kohort.embedded.nodes.timers import Alarm

NOTHING_YET = PodState(())
Told = tuple[PodState, PodStatusContext]


def has_run_out(pod: Mapping[str, Any]) -> bool:
    """Whether a pod has ended so that no runtime could take it for one that is to be restarted."""
    status, policy = pod.get("status") or {}, (pod.get("spec") or {}).get("restartPolicy")
    found = status.get("containerStatuses") or ()
    ended = bool(found) and all((each.get("state") or {}).get("terminated") for each in found)
    return ended and (policy == "Never" or (policy == "OnFailure" and status.get("phase") == "Succeeded"))


@dataclass(frozen=True, slots=True)
class WorkerCallbacks:
    """Whom the works of all pods turn to."""

    changed: Callable[[ObjectKey], None]
    note: "Callable[[PodWorker, PodEvent], None]"


class PodWorker:
    """A pod that its node has taken; also what the runtime reports to."""

    __slots__ = (
        "_base",
        "_office",
        "_shape",
        "_told",
        "alarm",
        "failure",
        "given",
        "is_echoed",
        "is_past",
        "is_released",
        "is_removed",
        "key",
        "latest",
        "node",
        "pod_ip",
        "requests",
        "running",
        "started",
        "uid",
        "version",
        "waited",
    )

    def __init__(
        self, seen: BoundPod, shape: PodStatusShape, base: Mapping[str, Json], office: WorkerCallbacks
    ) -> None:
        self.key, self.uid, self.node = seen.key, seen.uid, seen.node
        self._shape = shape
        self._base: Mapping[str, Json] | None = base
        """The status as it was found; from the first write on, what was told is worked out instead."""
        self._told: Told | None = None
        self._office = office
        self.latest = NOTHING_YET
        self.running: RunningPod | None = None
        self.requests: Mapping[str, int] = {}
        self.started: datetime | None = None
        self.pod_ip = ""
        self.failure: PodFailure | None = None
        """Why the node gave up on the pod."""
        self.given: float | None = None
        """Seconds of grace that the runtime was given last."""
        self.waited = False
        """Whether a pod that was stopped had time enough, so that what waits now never starts."""
        self.alarm: Alarm | None = None
        self.version = ""
        """The version that our last write made; `is_echoed` once the cache has shown it."""
        self.is_echoed = False
        self.is_released = True
        """Whether it has no part of the node, or no longer."""
        self.is_past = False
        """Whether it ended under a former agent, and is kept for its logs only."""
        self.is_removed = False
        """Whether the API was asked to remove it for good."""

    # What the runtime says

    def state(self, state: PodState) -> None:
        """Take down the newest state."""
        if state != self.latest:
            self.latest = state
            self._office.changed(self.key)

    def note(self, note: PodEvent) -> None:
        """Pass an event on."""
        self._office.note(self, note)

    # What is to be done

    @property
    def is_unheard(self) -> bool:
        """Whether the runtime has yet to say how a pod fares that a former agent has seen at work."""
        begun = self._base is not None and bool(self._base.get("containerStatuses"))
        return self.latest is NOTHING_YET and begun and not self.waited

    @property
    def is_stopping(self) -> bool:
        """Whether the runtime was told to stop it."""
        return self.given is not None

    @property
    def is_over(self) -> bool:
        """Whether nothing runs and nothing will."""
        state = completed(self._shape, self.latest)
        if not has_stopped(state):
            return False
        if state.over or state.failed is not None or phase_of(self._shape, state, is_last=False) in TERMINAL:
            return True
        waits = any(isinstance(each.state, ContainerWaiting) for each in (*state.init, *state.containers))
        return self.is_stopping and (self.waited or not waits)

    def stop(self, grace: float) -> None:
        """Have it stopped, sooner than before or not at all."""
        if self.given is None or grace < self.given:
            self.given = grace
            if self.running is not None:
                self.running.stop(grace)

    def has_started(self, container: str) -> bool | None:
        """Whether a container has anything to say; None where the pod has no such container."""
        found = by_name(completed(self._shape, self.latest)).get(container)
        if found is None:
            return None
        return not isinstance(found.state, ContainerWaiting) or found.last is not None

    def why_waiting(self, container: str) -> str:
        """The reason for which a container does not run."""
        state = by_name(completed(self._shape, self.latest))[container].state
        return state.reason if isinstance(state, ContainerWaiting) else ""

    # What the API is to know

    def status(self, seen: BoundPod, host_ip: str, now: datetime) -> Told:
        """The state as it is to be told, and what is said besides."""
        state = completed(self._shape, self.latest)
        over = self.is_over
        failure = state.failed or self.failure
        if over and self.is_stopping:
            state = given_up(self._shape, state, self._end() or now)
        state = PodState(state.containers, state.init, failure, state.over)
        about = PodStatusContext(
            self.uid, self.started or now, host_ip, self.pod_ip, seen.generation, seen.open_gates, is_last=over
        )
        return state, about

    def _end(self) -> datetime | None:
        """The moment of the last end, which stays the same however often it is asked for."""
        told = self._told
        if told is not None and told[1].is_last:
            ends = [each.state.finished for each in told[0].containers if isinstance(each.state, Terminated)]
            return max(ends, default=None)
        return None

    def patch(self, told: Told, now: datetime) -> dict[str, Json]:
        """What the API must be told to know this; nothing where it does."""
        if self._told == told:
            return {}
        new = status_of(self._shape, *told)
        old = self._base if self._told is None else status_of(self._shape, *self._told)
        return patch_between(old or {}, new, now)

    def expected(self) -> tuple[str, str] | None:
        """The readiness and the phase that the API was told; None where it was told nothing."""
        if self._told is None:
            return None
        said = status_of(self._shape, *self._told)
        ready = next(each["status"] for each in said["conditions"] if each["type"] == "Ready")
        return ready, said["phase"]

    def knows(self, told: Told, version: str) -> None:
        """The API has been told."""
        self._told, self._base = told, None
        if version:
            self.version, self.is_echoed = version, False

    def doubt(self, status: Mapping[str, Json]) -> None:
        """Somebody else has changed the status: it is now so."""
        self._told, self._base = None, status
