"""Recording and replaying: what the engine was told, when it was asked, and what it decided, line by line.

Both logs are JSON lines that begin with a header. A step is written before it is taken, so that whatever goes wrong
can be replayed. Lines come and go as bytes; opening files is the caller's business.
"""

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final, Generic, TypeVar, get_args

import msgspec
from msgspec import structs

from kohort.api.codec import decode, encode
from kohort.api.core.objects import ObjectView
from kohort.api.errors import ApiError, DecodeError, DocumentError
from kohort.api.kueue.v1beta2.workload import Admission
from kohort.api.meta import Time
from kohort.api.struct import Struct
from kohort.engine.decisions import Decision, Displace, Evict, Linger, Migrate, Requeue, Reserve, Wait
from kohort.engine.engine import Engine
from kohort.engine.events import Event, EvictionFailed, Gone, Object, Put, ReservationFailed
from kohort.engine.records import Key
from kohort.engine.settings import Settings

Write = Callable[[bytes], object]
"""Takes one line, with its end: the `write` of an open file, or the `append` of a list."""
Entry = TypeVar("Entry")

VERSION: Final = 1
EVENTS: Final = "kohort-events"
DECISIONS: Final = "kohort-decisions"


class Turn(Enum):
    """How the engine was asked to decide."""

    SCHEDULE = "schedule"
    CYCLE = "cycle"


@dataclass(frozen=True, slots=True)
class Applied:
    """An event that the engine was told of."""

    at: datetime
    event: Event


@dataclass(frozen=True, slots=True)
class Turned:
    """A turn that the engine was asked for."""

    at: datetime
    turn: Turn


Step = Applied | Turned


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision and the number of its turn; a Wait has lost its assignment."""

    at: datetime
    turn: int
    decision: Decision


@dataclass(frozen=True, slots=True)
class Log(Generic[Entry]):
    """What a log says."""

    entries: tuple[Entry, ...]
    warning: str = ""
    """Not empty where the last line breaks off, as after a crash."""


# The lines


class _Header(Struct, forbid_unknown_fields=True):
    log: str
    version: int


class _Line(Struct, forbid_unknown_fields=True, tag_field="do"):
    t: Time


class _Put(_Line, tag="put"):
    object: msgspec.Raw


class _Gone(_Line, tag="gone"):
    kind: str
    key: Key


class _ReservationFailed(_Line, tag="reservationFailed"):
    workload: Key


class _EvictionFailed(_Line, tag="evictionFailed"):
    workload: Key


class _Turn(_Line, tag="turn"):
    turn: Turn


class _Decision(_Line):
    turn: int
    workload: Key


class _Reserve(_Decision, tag="reserve"):
    admission: Admission
    considered: str = ""
    borrow: int = 0
    replaces: Key | None = None


class _Evict(_Decision, tag="evict"):
    reason: str
    preemptor: Key
    preemptor_path: str
    victim_path: str


class _Migrate(_Decision, tag="migrate"):
    successor: Key


class _Displace(_Decision, tag="displace"):
    nodes: tuple[str, ...]


class _Linger(_Decision, tag="linger"):
    message: str


class _Wait(_Decision, tag="wait"):
    reason: str
    message: str
    requeue: Requeue


_EventLine: Any = _Put | _Gone | _ReservationFailed | _EvictionFailed | _Turn
_DecisionLine: Any = _Reserve | _Evict | _Migrate | _Displace | _Linger | _Wait


# Writing


class Recorder:
    """An engine that writes down what it is told and what it decides."""

    def __init__(self, engine: Engine, events: Write, decisions: Write) -> None:
        self.engine = engine
        self._events = events
        self._decisions = decisions
        self._turns = 0
        events(_ended(_Header(log=EVENTS, version=VERSION)))
        decisions(_ended(_Header(log=DECISIONS, version=VERSION)))

    def apply(self, event: Event, now: datetime) -> None:
        """Take in what happened."""
        self._events(_ended(_event_line(event, now)))
        self.engine.apply(event, now)

    def schedule(self, now: datetime) -> list[Decision]:
        """Decide whatever can be decided now."""
        return self._turn(Turn.SCHEDULE, now, self.engine.schedule)

    def run_cycle(self, now: datetime) -> list[Decision]:
        """Run a single cycle over every tree."""
        return self._turn(Turn.CYCLE, now, self.engine.run_cycle)

    def take(self, step: Step) -> None:
        """Take a step that was recorded before."""
        match step:
            case Applied(at=at, event=event):
                self.apply(event, at)
            case Turned(at=at, turn=Turn.SCHEDULE):
                self.schedule(at)
            case Turned(at=at, turn=Turn.CYCLE):
                self.run_cycle(at)

    def _turn(self, turn: Turn, now: datetime, decide: Callable[[datetime], list[Decision]]) -> list[Decision]:
        self._turns += 1
        self._events(_ended(_Turn(t=now, turn=turn)))
        decisions = decide(now)
        for decision in decisions:
            self._decisions(_ended(_decision_line(decision, self._turns, now)))
        return decisions


def _ended(line: Any) -> bytes:
    return encode(line) + b"\n"


def _event_line(event: Event, now: datetime) -> Any:
    match event:
        case Put(object=thing):
            return _Put(t=now, object=_object(thing))
        case Gone(kind=kind, key=key):
            return _Gone(t=now, kind=kind, key=key)
        case ReservationFailed(workload=key):
            return _ReservationFailed(t=now, workload=key)
        case EvictionFailed(workload=key):
            return _EvictionFailed(t=now, workload=key)


def _object(thing: Object) -> msgspec.Raw:
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
        case Displace(nodes=nodes):
            return _Displace(t=now, turn=turn, workload=key, nodes=nodes)
        case Linger(message=message):
            return _Linger(t=now, turn=turn, workload=key, message=message)
        case Wait(reason=reason, message=message, requeue=requeue):
            return _Wait(t=now, turn=turn, workload=key, reason=reason, message=message, requeue=requeue)


# Reading


def read_events(lines: Iterable[bytes], file: str = EVENTS) -> Log[Step]:
    """The steps of a log; raises a DocumentError that names the line where one is damaged."""
    return _read(lines, file, EVENTS, _step)


def read_decisions(lines: Iterable[bytes], file: str = DECISIONS) -> Log[Decided]:
    """The decisions of a log; raises a DocumentError that names the line where one is damaged."""
    return _read(lines, file, DECISIONS, _decided)


def replay(steps: Iterable[Step], settings: Settings) -> list[bytes]:
    """Take all steps with a new engine; the lines of its decisions."""
    decisions: list[bytes] = []
    recorder = Recorder(Engine(settings), events=len, decisions=decisions.append)
    for step in steps:
        recorder.take(step)
    return decisions


def _read(lines: Iterable[bytes], file: str, name: str, parse: Callable[[bytes], Entry]) -> Log[Entry]:
    entries: list[Entry] = []
    broken_off: DocumentError | None = None
    number = 0
    for number, line in enumerate(lines, 1):
        if broken_off is not None:
            raise broken_off
        try:
            if number == 1:
                _check_header(line, name)
            else:
                entries.append(parse(line))
        except ApiError as error:
            damage = DocumentError(str(error), file=file, line=number)
            if line.endswith(b"\n"):
                raise damage from None
            broken_off = damage
    if not number:
        raise DocumentError(f"empty; a log begins with the header of {name}", file=file)
    return Log(tuple(entries), f"the last line breaks off and was left out: {broken_off}" if broken_off else "")


def _check_header(line: bytes, name: str) -> None:
    header = decode(line, _Header)
    if header.log != name:
        raise DecodeError(f"this is a log of {header.log}, not of {name}")
    if header.version != VERSION:
        raise DecodeError(f"version {header.version} of the log is not known; version {VERSION} is")


def _step(line: bytes) -> Step:
    found = decode(line, _EventLine)
    match found:
        case _Put():
            return Applied(found.t, Put(_thing(found.object)))
        case _Gone():
            return Applied(found.t, Gone(found.kind, found.key))
        case _ReservationFailed():
            return Applied(found.t, ReservationFailed(found.workload))
        case _EvictionFailed():
            return Applied(found.t, EvictionFailed(found.workload))
    return Turned(found.t, found.turn)


class _Head(Struct):
    api_version: str
    kind: str


def _names(kind: Any) -> tuple[str, str]:
    resource = kind.resource if issubclass(kind, ObjectView) else kind.info.resource
    return resource.api_version, resource.kind


_KINDS: Final[dict[tuple[str, str], Any]] = {_names(kind): kind for kind in get_args(Object)}


def _thing(raw: msgspec.Raw) -> Object:
    head = decode(raw, _Head)
    kind = _KINDS.get((head.api_version, head.kind))
    if kind is None:
        known = ", ".join(sorted(name for _, name in _KINDS))
        raise DecodeError(f"the engine is never told of {head.api_version} {head.kind}, only of {known}")
    thing: Object = decode(raw, kind)
    return thing


def _decided(line: bytes) -> Decided:
    found = decode(line, _DecisionLine)
    return Decided(found.t, found.turn, _decision(found))


def _decision(line: Any) -> Decision:
    match line:
        case _Reserve():
            return Reserve(line.workload, line.admission, line.considered, line.borrow, line.replaces)
        case _Evict():
            return Evict(line.workload, line.reason, line.preemptor, line.preemptor_path, line.victim_path)
        case _Migrate():
            return Migrate(line.workload, line.successor)
        case _Displace():
            return Displace(line.workload, line.nodes)
        case _Linger():
            return Linger(line.workload, line.message)
    return Wait(line.workload, line.reason, line.message, line.requeue)


# The file form

_GZIP: Final = 31
"""zlib's word for its largest window, framed as gzip."""


def packed(lines: Iterable[bytes], file: str) -> bytes:
    """The content of a file with these lines, compressed where its name ends in `.gz`."""
    content = b"".join(lines)
    if not file.endswith(".gz"):
        return content
    press = zlib.compressobj(wbits=_GZIP)
    return press.compress(content) + press.flush()


def unpacked(content: bytes, file: str) -> list[bytes]:
    """The lines of a file; of one that breaks off, as far as they go."""
    return (_decompressed(content, file) if file.endswith(".gz") else content).splitlines(keepends=True)


def _decompressed(content: bytes, file: str) -> bytes:
    """All that can be read; a file that was written in several goes has a frame for each."""
    found = []
    while content:
        press = zlib.decompressobj(wbits=_GZIP)
        try:
            found.append(press.decompress(content))
        except zlib.error as error:
            raise DocumentError(f"not compressed by gzip, or damaged: {error}", file=file) from None
        content = press.unused_data
    return b"".join(found)
