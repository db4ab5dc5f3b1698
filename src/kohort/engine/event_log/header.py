"""The first line of a log: what it is, in which version, and for events the settings under which the engine decided.

Nothing is left out of it that equals a default: defaults may change, and a log must still replay as it was recorded.
"""

from typing import Final

from kohort.api.codec import decode, encode
from kohort.api.errors import DecodeError
from kohort.api.gates import FeatureGates, Gate
from kohort.api.struct import Struct
from kohort.engine.admission_fair_sharing import HistoryRules
from kohort.engine.cycle import CycleRules
from kohort.engine.event_log.lines import json_line
from kohort.engine.fair_preemption import FairRules
from kohort.engine.requests.rules import RequestRules, Transformation
from kohort.engine.settings import EngineSettings

VERSION: Final = 4
"""Increased with every change of lines or settings."""
EVENTS: Final = "kohort-events"
DECISIONS: Final = "kohort-decisions"


class _Head(Struct):
    log: str
    version: int


class _Transformation(Struct):
    factors: dict[str, str]
    """In decimal digits: a billionth of a large factor is beyond what JSON numbers carry."""
    multiplier: str
    keeps_input: bool


class _Requests(Struct):
    excluded: tuple[str, ...]
    transformations: dict[str, _Transformation]


class _Settings(Struct):
    gates: tuple[str, ...]
    cycle: CycleRules
    fair: FairRules | None
    requests: _Requests
    waits_for_pods: bool
    eviction_timestamps: bool
    history: HistoryRules | None


class _EventsHead(_Head):
    settings: _Settings


def events_header(settings: EngineSettings) -> bytes:
    """The first line of an event log."""
    return json_line(_EventsHead(log=EVENTS, version=VERSION, settings=_written(settings)))


def decisions_header() -> bytes:
    """The first line of a decision log; without settings, so that runs under different ones compare line by line."""
    return json_line(_Head(log=DECISIONS, version=VERSION))


def settings_of(line: bytes) -> EngineSettings:
    """The settings of an event log by its first line."""
    check_header(line, EVENTS)
    return _read(decode(line, _EventsHead).settings)


def check_header(line: bytes, name: str) -> None:
    """Refuse what is no log of that name, or one of another version."""
    head = decode(line, _Head)
    if head.log != name:
        raise DecodeError(f"this is a log of {head.log}, not of {name}")
    if head.version != VERSION:
        raise DecodeError(
            f"version {head.version} of the log can't be read, only version {VERSION}: record it again, or read it with"
            f" the release of Kohort that wrote it"
        )


def _written(settings: EngineSettings) -> _Settings:
    return _Settings(
        gates=tuple(sorted(gate.name for gate in settings.gates.on)),
        cycle=settings.cycle,
        fair=settings.fair,
        requests=_Requests(
            excluded=settings.requests.excluded,
            transformations={
                name: _Transformation(
                    factors={output: str(factor) for output, factor in each.factors.items()},
                    multiplier=each.multiplier,
                    keeps_input=each.keeps_input,
                )
                for name, each in settings.requests.transformations.items()
            },
        ),
        waits_for_pods=settings.waits_for_pods,
        eviction_timestamps=settings.eviction_timestamps,
        history=settings.history,
    )


def _read(written: _Settings) -> EngineSettings:
    return EngineSettings(
        gates=_gates(written.gates),
        cycle=written.cycle,
        fair=written.fair,
        requests=RequestRules(
            excluded=written.requests.excluded,
            transformations={name: _transformation(each) for name, each in written.requests.transformations.items()},
        ),
        waits_for_pods=written.waits_for_pods,
        eviction_timestamps=written.eviction_timestamps,
        history=written.history,
    )


def _gates(names: tuple[str, ...]) -> FeatureGates:
    unknown = [name for name in names if name not in Gate.__members__]
    if unknown:
        raise DecodeError(f"the log was recorded with unknown feature gates: {', '.join(unknown)}")
    return FeatureGates(frozenset(Gate[name] for name in names))


def _transformation(written: _Transformation) -> Transformation:
    try:
        factors = {output: int(factor) for output, factor in written.factors.items()}
    except ValueError:
        raise DecodeError(f"factors must be whole numbers: {encode(written.factors).decode()}") from None
    return Transformation(factors, written.multiplier, written.keeps_input)
