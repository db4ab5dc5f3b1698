"""What logs are made of: steps that an engine took, and what it decided."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from kohort.engine.decisions import Decision
from kohort.engine.events import EngineEvent
from kohort.engine.settings import EngineSettings


class ScheduleMode(Enum):
    """Whether a scheduling run or a single cycle was requested."""

    SCHEDULE = "schedule"
    CYCLE = "cycle"


@dataclass(frozen=True, slots=True)
class EventApplied:
    """An event that was applied to the engine."""

    at: datetime
    event: EngineEvent


@dataclass(frozen=True, slots=True)
class ScheduleCall:
    """A scheduling run or cycle that was requested."""

    at: datetime
    turn: ScheduleMode


LogEntry = EventApplied | ScheduleCall


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """A decision and the number of its turn; a Wait has lost its assignment."""

    at: datetime
    turn: int
    decision: Decision


@dataclass(frozen=True, slots=True)
class EventLog:
    """Events and calls of an engine, and its settings: all that a replay needs."""

    settings: EngineSettings
    entries: tuple[LogEntry, ...]
    warning: str = ""
    """Not empty where the last line breaks off, as after a crash."""


@dataclass(frozen=True, slots=True)
class DecisionLog:
    """What an engine decided."""

    entries: tuple[LoggedDecision, ...]
    warning: str = ""
    """Not empty where the last line breaks off, as after a crash."""
