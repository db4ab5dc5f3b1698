"""The row of a pod: its status from phase, conditions and container states."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kohort.api.codec import Json, JsonMapping
from kohort.api.conditions import is_true_in_json
from kohort.embedded.tables.cells import NONE, Cells, age, dig, is_deleted, layout, name_of
from kohort.embedded.tables.durations import time_since

_TERMINAL = ("Succeeded", "Failed")
_FINISHED = {
    "Succeeded": {"reason": "Succeeded", "message": "The pod has completed successfully."},
    "Failed": {"reason": "Failed", "message": "The pod failed."},
}


@dataclass
class _Tally:
    """Counts over the containers."""

    reason: str
    ready: int = 0
    restarts: int = 0
    last_restart: str = ""
    has_running: bool = False
    failure: str = ""

    def count_restarts(self, status: JsonMapping) -> None:
        self.restarts += int(status.get("restartCount") or 0)
        finished = dig(status, "lastState", "terminated", "finishedAt") or ""
        self.last_restart = max(self.last_restart, finished)


def pod_cells(pod: JsonMapping, now: datetime) -> Cells:
    """Name, ready, status, restarts, age; where it runs and what it waits for."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    sidecars = {one.get("name") for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
    tally = _tally(pod, sidecars)
    total = len(spec.get("containers") or ()) + len(sidecars)
    addresses = status.get("podIPs") or [{}]
    return (
        name_of(pod),
        f"{tally.ready}/{total}",
        _word(pod, tally.reason),
        _restarts(tally, now),
        age(pod, now),
        addresses[0].get("ip") or status.get("podIP") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(pod),
    )


def _tally(pod: JsonMapping, sidecars: set[Any]) -> _Tally:
    status = pod.get("status") or {}
    reason = status.get("reason") or status.get("phase") or ""
    if any(one.get("reason") == "SchedulingGated" for one in status.get("conditions") or ()):
        reason = "SchedulingGated"
    starting = _Tally(reason)
    is_starting = _look_at_init(pod, starting, sidecars)
    if is_starting and not is_true_in_json(pod, "Initialized"):
        return starting
    running = _Tally(starting.reason, starting.ready)
    for one in status.get("initContainerStatuses") or ():
        if one.get("name") in sidecars:
            running.count_restarts(one)
    for one in reversed(status.get("containerStatuses") or ()):
        _look_at(one, running)
    running.reason = _settled(pod, running)
    return running


def _look_at_init(pod: JsonMapping, tally: _Tally, sidecars: set[Any]) -> bool:
    """Evaluates init containers up to the first that is not done; returns whether there is one."""
    total = len(dig(pod, "spec", "initContainers") or ())
    for index, one in enumerate(dig(pod, "status", "initContainerStatuses") or ()):
        tally.count_restarts(one)
        ended = dig(one, "state", "terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if one.get("name") in sidecars and one.get("started"):
            tally.ready += bool(one.get("ready"))
            continue
        tally.reason = f"Init:{_init_reason(one, ended, index, total)}"
        return True
    return False


def _init_reason(one: JsonMapping, ended: JsonMapping | None, index: int, total: int) -> str:
    if ended is not None:
        return _ending(ended)
    waiting = dig(one, "state", "waiting", "reason")
    return str(waiting) if waiting and waiting != "PodInitializing" else f"{index}/{total}"


def _ending(ended: JsonMapping) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _look_at(one: JsonMapping, tally: _Tally) -> None:
    tally.count_restarts(one)
    waiting, ended = dig(one, "state", "waiting", "reason"), dig(one, "state", "terminated")
    if waiting:
        tally.reason = waiting
    elif ended is not None:
        tally.reason = _ending(ended)
        if ended.get("exitCode"):
            tally.failure = tally.reason
    elif one.get("ready") and dig(one, "state", "running") is not None:
        tally.has_running = True
        tally.ready += 1


def _settled(pod: JsonMapping, tally: _Tally) -> str:
    """The reason of a pod with completed containers, from the other containers."""
    if tally.reason != "Completed":
        return tally.reason
    if tally.has_running and is_true_in_json(pod, "Ready"):
        return "Running"
    return tally.failure or ("NotReady" if tally.has_running else tally.reason)


def _word(pod: JsonMapping, reason: str) -> str:
    if not is_deleted(pod):
        return reason
    if dig(pod, "status", "reason") == "NodeLost":
        return "Unknown"
    return reason if dig(pod, "status", "phase") in _TERMINAL else "Terminating"


def _restarts(tally: _Tally, now: datetime) -> str:
    if tally.restarts and tally.last_restart:
        return f"{tally.restarts} ({time_since(tally.last_restart, now)} ago)"
    return str(tally.restarts)


def _gates(pod: JsonMapping) -> str:
    gates = [one.get("conditionType", "") for one in dig(pod, "spec", "readinessGates") or ()]
    return f"{sum(is_true_in_json(pod, gate) for gate in gates)}/{len(gates)}" if gates else NONE


def pod_row_conditions(pod: JsonMapping) -> list[Json]:
    """Row conditions of a completed pod."""
    finished = _FINISHED.get(str(dig(pod, "status", "phase")))
    return [{"type": "Completed", "status": "True", **finished}] if finished else []


PODS = layout("Name|Ready|Status|Restarts|Age|IP+|Node+|Nominated Node+|Readiness Gates+", pod_cells)
