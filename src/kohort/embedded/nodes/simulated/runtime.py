"""The simulated runtime: for tests, for trying out queues, and for clusters of any size on one machine."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kohort.api.codec import Json
from kohort.api.times import TimeError, parse_time
from kohort.embedded.nodes.bound_pods import TERMINAL, shape_of
from kohort.embedded.nodes.runtime import PodEvent, PodStatusSink, Terminated
from kohort.embedded.nodes.shapes import Shapes
from kohort.embedded.nodes.simulated.plans import Defaults, SimulatedPodPlan, read_plan
from kohort.embedded.nodes.simulated.pods import PodIdentity, PreviousPodState, SimulatedPod
from kohort.embedded.nodes.timers import Timers
from kohort.kube.clock import Clock

_MAX_PLANS = 4096


class SimulatedRuntime:
    """Simulates pods; after a restart they resume from their status."""

    def __init__(self, clock: Clock, defaults: Defaults | None = None) -> None:
        self._clock = clock
        self._defaults = defaults or Defaults()
        self._timers = Timers(clock)
        self._shapes = Shapes()
        self._plans: dict[SimulatedPodPlan, SimulatedPodPlan] = {}

    async def start(self) -> None:
        """Starts the timers."""
        self._timers.start()

    async def stop(self) -> None:
        """Stops the timers."""
        await self._timers.stop()

    def run(self, pod: dict[str, Json], reports: PodStatusSink) -> SimulatedPod:
        """Simulates a pod according to its annotations."""
        reading = read_plan(pod, self._defaults)
        for problem in reading.problems:
            reports.note(PodEvent("Warning", "InvalidAnnotation", problem))
        metadata, spec = pod["metadata"], pod["spec"]
        identity = PodIdentity(
            metadata.get("namespace", ""), metadata["name"], metadata.get("uid", ""), spec.get("nodeName", "")
        )
        shape = self._shapes.shared(shape_of(pod))
        running = SimulatedPod(identity, shape, self._shared(reading.plan), reports, self._clock, self._timers)
        running.begin(_past(pod.get("status") or {}, self._clock.wall()))
        return running

    def _shared(self, plan: SimulatedPodPlan) -> SimulatedPodPlan:
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        return self._plans.setdefault(plan, plan)


def _past(status: Mapping[str, Any], now: datetime) -> PreviousPodState:
    """What the pod's status shows of its previous runs; the first container represents all."""
    arrived = _time(status.get("startTime")) or now
    first: Mapping[str, Any] = next(iter(status.get("containerStatuses") or ()), {})
    state = first.get("state") or {}
    last = _terminated((first.get("lastState") or {}).get("terminated"), now)
    attempt = int(first.get("restartCount") or 0)
    started = _time((state.get("running") or {}).get("startedAt"))
    end = _terminated(state.get("terminated"), now) if status.get("phase") in TERMINAL else None
    return PreviousPodState(arrived, started, attempt, last, end)


def _terminated(found: Mapping[str, Any] | None, now: datetime) -> Terminated | None:
    if not found:
        return None
    code, reason = int(found.get("exitCode") or 0), str(found.get("reason") or "Error")
    finished = _time(found.get("finishedAt")) or now
    return Terminated(code, reason, _time(found.get("startedAt")) or finished, finished)


def _time(text: object) -> datetime | None:
    try:
        return parse_time(text) if isinstance(text, str) else None
    except TimeError:
        return None
