"""Maps node conditions to taints and computes the conditions of unreachable nodes; pure."""

from collections.abc import Iterable
from datetime import datetime

from kohort.api.codec import Json, to_json
from kohort.api.conditions import find
from kohort.api.core.nodes import Node
from kohort.api.meta import Taint
from kohort.api.times import format_time

_PREFIX = "node.kubernetes.io/"
NOT_READY, UNREACHABLE = f"{_PREFIX}not-ready", f"{_PREFIX}unreachable"
_UNSCHEDULABLE = f"{_PREFIX}unschedulable"

_KEYS = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): f"{_PREFIX}memory-pressure",
    ("DiskPressure", "True"): f"{_PREFIX}disk-pressure",
    ("NetworkUnavailable", "True"): f"{_PREFIX}network-unavailable",
    ("PIDPressure", "True"): f"{_PREFIX}pid-pressure",
}
_OURS = {*((key, "NoSchedule") for key in (*_KEYS.values(), _UNSCHEDULABLE))}
_NO_EXECUTE = {(NOT_READY, "NoExecute"), (UNREACHABLE, "NoExecute")}
_REPORTED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""Conditions posted by the kubelet."""


def ready_status(node: Node) -> str:
    """Status of the Ready condition; empty if it is missing."""
    ready = find(node.status.conditions, "Ready")
    return ready.status if ready is not None else ""


def no_schedule_taints(node: Node) -> set[tuple[str, str]]:
    """The NoSchedule taints, as key and effect, for the node's conditions."""
    states = {(each.type, each.status) for each in node.status.conditions}
    found = {(key, "NoSchedule") for state, key in _KEYS.items() if state in states}
    return found | {(_UNSCHEDULABLE, "NoSchedule")} if node.spec.unschedulable else found


def no_execute_taint(node: Node) -> set[tuple[str, str]]:
    """The NoExecute taint for the node's conditions."""
    key = _KEYS.get(("Ready", ready_status(node)))
    return {(key, "NoExecute")} if key else set()


def has_no_execute_taint(node: Node) -> bool:
    """Whether the node has a NoExecute taint of this controller."""
    return any((taint.key, taint.effect) in _NO_EXECUTE for taint in node.spec.taints)


def with_taints(node: Node, wanted: set[tuple[str, str]], now: datetime) -> tuple[Taint, ...]:
    """Replaces the taints managed by this controller; unchanged ones keep their time."""
    ours = _OURS | _NO_EXECUTE
    kept = [taint for taint in node.spec.taints if (taint.key, taint.effect) not in ours - wanted]
    present = {(taint.key, taint.effect) for taint in kept}
    added = sorted(wanted - present, key=lambda each: (each[1] != "NoSchedule", each))
    return (*kept, *(Taint(key=key, effect=effect, time_added=now.replace(microsecond=0)) for key, effect in added))


def unknown_conditions(node: Node, now: datetime) -> list[Json]:
    """The conditions to change when a node stops reporting."""
    reported = {each.type: each for each in node.status.conditions}
    changes = []
    for name in _REPORTED:
        before = reported.get(name)
        if before is None:
            changes.append(_unknown(name, "NodeStatusNeverUpdated", "Kubelet never posted node status.", now))
            changes[-1]["lastHeartbeatTime"] = format_time(node.metadata.creation_timestamp or now)
        elif before.status != "Unknown":
            changes.append(_unknown(name, "NodeStatusUnknown", "Kubelet stopped posting node status.", now))
    return changes


def _unknown(name: str, reason: str, message: str, now: datetime) -> dict[str, Json]:
    moment = format_time(now)
    return {"type": name, "status": "Unknown", "reason": reason, "message": message, "lastTransitionTime": moment}


def taints_body(taints: Iterable[Taint]) -> list[Json]:
    """Taints as JSON."""
    return [to_json(taint) for taint in taints]
