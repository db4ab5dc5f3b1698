"""The status of the Training Operator's kinds: conditions, and pods of each replica type by phase."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.times import format_time
from kohort.jobs.objects import is_terminating
from kohort.kube.events import EventToRecord
from kohort.operators.objects import find_condition, is_true, phase, set_condition

_EXCLUSIVE: Final = {"Running": "Restarting", "Restarting": "Running"}
_PHASES: Final = {"Running": "active", "Succeeded": "succeeded", "Failed": "failed"}


@dataclass(slots=True)
class KubeflowReport:
    """A status that is being built, and the events that go with it."""

    kind: str
    status: JsonObject
    now: datetime
    events: list[EventToRecord] = field(default_factory=list)

    def has(self, type_: str) -> bool:
        """Whether a condition is True."""
        return is_true(find_condition(self.status.get("conditions") or (), type_))

    def set(self, type_: str, message: str, *, status: str = "True", reason: str = "", warns: bool = False) -> None:
        """Set a condition, with an event; a failed job keeps its conditions."""
        if self.has("Failed"):
            return
        conditions = [each for each in self.status.get("conditions") or () if each["type"] != _EXCLUSIVE.get(type_)]
        self.status["conditions"] = conditions
        new = {"type": type_, "status": status, "reason": f"{self.kind}{reason or type_}", "message": message}
        old = find_condition(conditions, type_)
        if old is not None and (old["status"], old["reason"]) == (status, new["reason"]):
            return
        set_condition(conditions, new, self.now)
        find_condition(conditions, type_)["lastUpdateTime"] = format_time(self.now)  # type: ignore[index]
        self.events.append(EventToRecord("Warning" if warns else "Normal", new["reason"], message))

    def finish(self, type_: str, message: str) -> None:
        """Report the end."""
        self.set(type_, message, warns=type_ == "Failed")
        self.status.setdefault("completionTime", format_time(self.now))
        running = find_condition(self.status["conditions"], "Running")
        if is_true(running) and running is not None:
            running.update({"status": "False", "lastTransitionTime": format_time(self.now)})


def new_report(job: JsonObject, kind: str, now: datetime) -> KubeflowReport:
    """The present status, with the condition of a new job."""
    report = KubeflowReport(kind, deepcopy(job.get("status") or {}), now)
    if not report.status.get("conditions"):
        report.set("Created", f"{kind} {job['metadata']['name']} is created.")
    return report


def report_suspension(report: KubeflowReport, name: str) -> None:
    """Report that the job is suspended."""
    message = f"{report.kind} {name} is suspended."
    if report.has("Running"):
        report.set("Running", message, status="False", reason="Suspended")
    report.set("Suspended", message)
    for counts in (report.status.get("replicaStatuses") or {}).values():
        counts.pop("active", None)


def report_start(report: KubeflowReport, name: str) -> None:
    """Report that the job starts, perhaps again."""
    if report.has("Suspended"):
        report.set("Suspended", f"{report.kind} {name} is resumed.", status="False", reason="Resumed")
        report.status["startTime"] = format_time(report.now)
    report.status.setdefault("startTime", format_time(report.now))


def phase_counts(pods: Sequence[JsonObject]) -> dict[str, int]:
    """The pods that are not terminating, by phase; the status omits zeros."""
    found = [_PHASES.get(phase(each)) for each in pods if not is_terminating(each)]
    return {name: found.count(name) for name in _PHASES.values() if name in found}


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The pods of one replica type."""

    wanted: int
    counts: Mapping[str, int]
    restarts: bool
    """Whether failed pods are replaced."""

    def of(self, state: str) -> int:
        """The number of pods in a state."""
        return self.counts.get(state, 0)

    @property
    def is_complete(self) -> bool:
        """Whether all pods have succeeded."""
        return self.of("succeeded") == self.wanted


def report_leaders(report: KubeflowReport, about: str, states: Sequence[ReplicaState], *, is_done: bool) -> None:
    """Report the progress of the replica types that determine it."""
    if is_done or any(each.is_complete for each in states):
        report.finish("Succeeded", f"{report.kind} {about} successfully completed.")
    elif any(each.of("active") for each in states):
        report.set("Running", f"{report.kind} {about} is running.")


def report_failures(report: KubeflowReport, name: str, states: Mapping[str, ReplicaState]) -> None:
    """Report failed pods: the job restarts them, or fails."""
    for type_, state in states.items():
        failed = state.of("failed")
        if report.has("Succeeded") or not failed or state.wanted <= state.of("succeeded") + state.of("active"):
            continue
        about = f"{failed} {type_} replica(s) failed."
        if state.restarts:
            report.set("Restarting", f"{report.kind} {name} is restarting because {about}", warns=True)
        else:
            report.finish("Failed", f"{report.kind} {name} is failed because {about}")
