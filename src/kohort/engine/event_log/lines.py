"""Steps and decisions as lines of JSON, and back.

The field `do` is the type of a line, so that each can be read alone.
"""

from datetime import datetime
from typing import Any, Final, get_args

import msgspec
from msgspec import structs

from kohort.api.codec import decode, encode
from kohort.api.core.objects import ObjectView
from kohort.api.errors import DecodeError
from kohort.api.kueue.v1beta2.workload import Admission
from kohort.api.meta import ObjectKey, Time
from kohort.api.struct import Struct
from kohort.engine.decisions import (
    Decision,
    Evict,
    EvictForFailedNodes,
    KeepPending,
    KeepUnplaced,
    Migrate,
    RequeueReason,
    Reserve,
)
from kohort.engine.event_log.model import EventApplied, LogEntry, LoggedDecision, ScheduleCall, ScheduleMode
from kohort.engine.events import (
    DeviceClaimsCounted,
    EngineEvent,
    EngineObject,
    EvictionFailed,
    NodeUsageChanged,
    ObjectDeleted,
    ObjectUpserted,
    ReservationFailed,
)
from kohort.engine.records import PodSetDevices


class _Line(Struct, forbid_unknown_fields=True, tag_field="do"):
    t: Time


class _Put(_Line, tag="put"):
    object: msgspec.Raw


class _Gone(_Line, tag="gone"):
    kind: str
    key: ObjectKey


class _Claimed(_Line, tag="claimed"):
    workload: ObjectKey
    devices: tuple[PodSetDevices, ...]


class _NodeUsage(_Line, tag="nodeUsage"):
    node: str
    amounts: dict[str, int]


class _ReservationFailed(_Line, tag="reservationFailed"):
    workload: ObjectKey


class _EvictionFailed(_Line, tag="evictionFailed"):
    workload: ObjectKey


class _Turn(_Line, tag="turn"):
    turn: ScheduleMode


class _Decision(_Line):
    turn: int
    workload: ObjectKey


class _Reserve(_Decision, tag="reserve"):
    admission: Admission
    considered: str = ""
    borrow: int = 0
    replaces: ObjectKey | None = None


class _Evict(_Decision, tag="evict"):
    reason: str
    preemptor: ObjectKey
    preemptor_path: str
    victim_path: str


class _Migrate(_Decision, tag="migrate"):
    successor: ObjectKey


class _Displace(_Decision, tag="displace"):
    nodes: tuple[str, ...]


class _Linger(_Decision, tag="linger"):
    message: str


class _Wait(_Decision, tag="wait"):
    reason: str
    message: str
    requeue: RequeueReason


_EventLine: Any = _Put | _Gone | _Claimed | _NodeUsage | _ReservationFailed | _EvictionFailed | _Turn
_DecisionLine: Any = _Reserve | _Evict | _Migrate | _Displace | _Linger | _Wait


def json_line(line: Any) -> bytes:
    """A line with its end."""
    return encode(line) + b"\n"


def turn_line(turn: ScheduleMode, now: datetime) -> bytes:
    """A scheduling run or cycle that is requested."""
    return json_line(_Turn(t=now, turn=turn))


def event_line(event: EngineEvent, now: datetime) -> bytes:
    """An event that is applied to the engine."""
    return json_line(_event_line(event, now))


def decision_line(decision: Decision, turn: int, now: datetime) -> bytes:
    """A decision and the number of its turn."""
    return json_line(_decision_line(decision, turn, now))


def _event_line(event: EngineEvent, now: datetime) -> Any:
    match event:
        case ObjectUpserted(object=thing):
            return _Put(t=now, object=_object(thing))
        case ObjectDeleted(kind=kind, key=key):
            return _Gone(t=now, kind=kind, key=key)
        case DeviceClaimsCounted(workload=key, devices=devices):
            return _Claimed(t=now, workload=key, devices=devices)
        case NodeUsageChanged(node=node, amounts=amounts):
            return _NodeUsage(t=now, node=node, amounts=dict(amounts))
        case ReservationFailed(workload=key):
            return _ReservationFailed(t=now, workload=key)
        case EvictionFailed(workload=key):
            return _EvictionFailed(t=now, workload=key)


def _object(thing: EngineObject) -> msgspec.Raw:
    """The object with its kind, on one line: what it holds unread may have been written on several."""
    if isinstance(thing, ObjectView):
        thing = structs.replace(thing, api_version=thing.API_VERSION, kind=thing.KIND)
    return msgspec.Raw(msgspec.json.format(encode(thing), indent=-1))


def _decision_line(decision: Decision, turn: int, now: datetime) -> Any:
    key = decision.workload
    match decision:
        case Reserve():
            return _Reserve(
                t=now,
                turn=turn,
                workload=key,
                admission=decision.admission,
                considered=decision.considered,
                borrow=decision.borrow,
                replaces=decision.replaces,
            )
        case Evict():
            return _Evict(
                t=now,
                turn=turn,
                workload=key,
                reason=decision.reason,
                preemptor=decision.preemptor,
                preemptor_path=decision.preemptor_path,
                victim_path=decision.victim_path,
            )
        case Migrate(successor=successor):
            return _Migrate(t=now, turn=turn, workload=key, successor=successor)
        case EvictForFailedNodes(nodes=nodes):
            return _Displace(t=now, turn=turn, workload=key, nodes=nodes)
        case KeepUnplaced(message=message):
            return _Linger(t=now, turn=turn, workload=key, message=message)
        case KeepPending(reason=reason, message=message, requeue=requeue):
            return _Wait(t=now, turn=turn, workload=key, reason=reason, message=message, requeue=requeue)


def step_of(line: bytes) -> LogEntry:
    """The entry that a line encodes."""
    found = decode(line, _EventLine)
    match found:
        case _Put():
            return EventApplied(found.t, ObjectUpserted(_thing(found.object)))
        case _Gone():
            return EventApplied(found.t, ObjectDeleted(found.kind, found.key))
        case _Claimed():
            return EventApplied(found.t, DeviceClaimsCounted(found.workload, found.devices))
        case _NodeUsage():
            return EventApplied(found.t, NodeUsageChanged(found.node, found.amounts))
        case _ReservationFailed():
            return EventApplied(found.t, ReservationFailed(found.workload))
        case _EvictionFailed():
            return EventApplied(found.t, EvictionFailed(found.workload))
    return ScheduleCall(found.t, found.turn)


class _Head(Struct):
    api_version: str
    kind: str


def _names(kind: Any) -> tuple[str, str]:
    resource = kind.resource if issubclass(kind, ObjectView) else kind.info.resource
    return resource.api_version, resource.kind


_KINDS: Final[dict[tuple[str, str], Any]] = {_names(kind): kind for kind in get_args(EngineObject)}


def _thing(raw: msgspec.Raw) -> EngineObject:
    head = decode(raw, _Head)
    kind = _KINDS.get((head.api_version, head.kind))
    if kind is None:
        known = ", ".join(sorted(name for _, name in _KINDS))
        raise DecodeError(f"unsupported object {head.api_version} {head.kind}; supported: {known}")
    thing: EngineObject = decode(raw, kind)
    return thing


def decided_of(line: bytes) -> LoggedDecision:
    """The decision that a line encodes."""
    found = decode(line, _DecisionLine)
    return LoggedDecision(found.t, found.turn, _decision(found))


def _decision(line: Any) -> Decision:
    match line:
        case _Reserve():
            return Reserve(line.workload, line.admission, line.considered, line.borrow, line.replaces)
        case _Evict():
            return Evict(line.workload, line.reason, line.preemptor, line.preemptor_path, line.victim_path)
        case _Migrate():
            return Migrate(line.workload, line.successor)
        case _Displace():
            return EvictForFailedNodes(line.workload, line.nodes)
        case _Linger():
            return KeepUnplaced(line.workload, line.message)
    return KeepPending(line.workload, line.reason, line.message, line.requeue)
