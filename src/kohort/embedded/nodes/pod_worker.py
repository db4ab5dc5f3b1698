"""Pod worker: latest runtime state, last reported status and termination state of one pod."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kohort.api.codec import Json
from kohort.api.meta import ObjectKey
from kohort.embedded.nodes.bound_pods import TERMINAL, BoundPod
from kohort.embedded.nodes.phases import by_name, completed, finalized_state, has_stopped, phase_of
from kohort.embedded.nodes.runtime import ContainerWaiting, PodEvent, PodFailure, PodState, RunningPod, Terminated
from kohort.embedded.nodes.shapes import PodStatusShape
from kohort.embedded.nodes.status import PodStatusContext, patch_between, status_of
from kohort.embedded.nodes.timers import Timer

NOTHING_YET = PodState(())
PodReport = tuple[PodState, PodStatusContext]


def has_run_out(pod: Mapping[str, Any]) -> bool:
    """Whether a finished pod has no container that a runtime could restart."""
    status, policy = pod.get("status") or {}, (pod.get("spec") or {}).get("restartPolicy")
    found = status.get("containerStatuses") or ()
    ended = bool(found) and all((each.get("state") or {}).get("terminated") for each in found)
    return ended and (policy == "Never" or (policy == "OnFailure" and status.get("phase") == "Succeeded"))


@dataclass(frozen=True, slots=True)
class WorkerCallbacks:
    """Callbacks shared by all pod workers."""

    changed: Callable[[ObjectKey], None]
    note: "Callable[[PodWorker, PodEvent], None]"


class PodWorker:
    """A pod admitted by its node; also the sink of its runtime's reports."""

    __slots__ = (
        "_base",
        "_callbacks",
        "_reported",
        "_shape",
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
        "timer",
        "uid",
        "version",
        "waited",
    )

    def __init__(
        self, seen: BoundPod, shape: PodStatusShape, base: Mapping[str, Json], callbacks: WorkerCallbacks
    ) -> None:
        self.key, self.uid, self.node = seen.key, seen.uid, seen.node
        self._shape = shape
        self._base: Mapping[str, Json] | None = base
        """The status found at start-up; after the first write the reported status is used instead."""
        self._reported: PodReport | None = None
        self._callbacks = callbacks
        self.latest = NOTHING_YET
        self.running: RunningPod | None = None
        self.requests: Mapping[str, int] = {}
        self.started: datetime | None = None
        self.pod_ip = ""
        self.failure: PodFailure | None = None
        """Why the node failed the pod."""
        self.given: float | None = None
        """Grace period last passed to the runtime, in seconds."""
        self.waited = False
        """Whether a stopped pod's grace period has passed, so that waiting containers never start."""
        self.timer: Timer | None = None
        self.version = ""
        """resourceVersion of the last own write; `is_echoed` once the informer has shown it."""
        self.is_echoed = False
        self.is_released = True
        """Whether it holds no resources of the node (any more)."""
        self.is_past = False
        """Whether it finished under a previous agent and is kept for its logs only."""
        self.is_removed = False
        """Whether its final deletion was requested."""

    # Runtime reports

    def state(self, state: PodState) -> None:
        """Stores the latest state."""
        if state != self.latest:
            self.latest = state
            self._callbacks.changed(self.key)

    def note(self, note: PodEvent) -> None:
        """Forwards an event."""
        self._callbacks.note(self, note)

    # State

    @property
    def awaits_first_report(self) -> bool:
        """Whether the runtime has not yet reported on a pod that a previous agent saw running."""
        begun = self._base is not None and bool(self._base.get("containerStatuses"))
        return self.latest is NOTHING_YET and begun and not self.waited

    @property
    def is_stopping(self) -> bool:
        """Whether the runtime was requested to stop it."""
        return self.given is not None

    @property
    def is_over(self) -> bool:
        """Whether nothing is running and nothing will."""
        state = completed(self._shape, self.latest)
        if not has_stopped(state):
            return False
        if state.over or state.failed is not None or phase_of(self._shape, state, is_last=False) in TERMINAL:
            return True
        waits = any(isinstance(each.state, ContainerWaiting) for each in (*state.init, *state.containers))
        return self.is_stopping and (self.waited or not waits)

    def stop(self, grace: float) -> None:
        """Stops it with the grace period, or earlier than requested before."""
        if self.given is None or grace < self.given:
            self.given = grace
            if self.running is not None:
                self.running.stop(grace)

    def has_started(self, container: str) -> bool | None:
        """Whether a container has logs; None if the pod has no such container."""
        found = by_name(completed(self._shape, self.latest)).get(container)
        if found is None:
            return None
        return not isinstance(found.state, ContainerWaiting) or found.last is not None

    def why_waiting(self, container: str) -> str:
        """The waiting reason of a container."""
        state = by_name(completed(self._shape, self.latest))[container].state
        return state.reason if isinstance(state, ContainerWaiting) else ""

    # Reported status

    def status(self, seen: BoundPod, host_ip: str, now: datetime) -> PodReport:
        """The state and context to report."""
        state = completed(self._shape, self.latest)
        over = self.is_over
        failure = state.failed or self.failure
        if over and self.is_stopping:
            state = finalized_state(self._shape, state, self._end() or now)
        state = PodState(state.containers, state.init, failure, state.over)
        context = PodStatusContext(
            self.uid, self.started or now, host_ip, self.pod_ip, seen.generation, seen.open_gates, is_last=over
        )
        return state, context

    def _end(self) -> datetime | None:
        """Time of the last termination, stable across calls."""
        report = self._reported
        if report is not None and report[1].is_last:
            ends = [each.state.finished for each in report[0].containers if isinstance(each.state, Terminated)]
            return max(ends, default=None)
        return None

    def patch(self, report: PodReport, now: datetime) -> dict[str, Json]:
        """The status patch; empty if the API is up to date."""
        if self._reported == report:
            return {}
        new = status_of(self._shape, *report)
        old = self._base if self._reported is None else status_of(self._shape, *self._reported)
        return patch_between(old or {}, new, now)

    def expected(self) -> tuple[str, str] | None:
        """Readiness and phase last reported; None if none was."""
        if self._reported is None:
            return None
        result = status_of(self._shape, *self._reported)
        ready = next(each["status"] for each in result["conditions"] if each["type"] == "Ready")
        return ready, result["phase"]

    def record_report(self, report: PodReport, version: str) -> None:
        """Records a successful report."""
        self._reported, self._base = report, None
        if version:
            self.version, self.is_echoed = version, False

    def reset_report(self, status: Mapping[str, Json]) -> None:
        """Resets the reported status after a write by another client."""
        self._reported, self._base = None, status
