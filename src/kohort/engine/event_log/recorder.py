"""Recording an engine and replaying what was recorded.

An entry is written before it is applied, so that failures can be replayed.
"""

from collections.abc import Callable
from datetime import datetime

from kohort.engine.decisions import Decision
from kohort.engine.engine import Engine
from kohort.engine.event_log.header import decisions_header, events_header
from kohort.engine.event_log.lines import decision_line, event_line, turn_line
from kohort.engine.event_log.model import EventApplied, EventLog, LogEntry, ScheduleCall, ScheduleMode
from kohort.engine.events import EngineEvent

_Write = Callable[[bytes], object]
"""Takes one line, with its end: the `write` of an open file, or the `append` of a list."""


class Recorder:
    """An engine whose events, calls and decisions are logged."""

    def __init__(self, engine: Engine, events: _Write, decisions: _Write) -> None:
        self.engine = engine
        self._events = events
        self._decisions = decisions
        self._turns = 0
        events(events_header(engine.settings))
        decisions(decisions_header())

    def apply(self, event: EngineEvent, now: datetime) -> None:
        """Take in what happened."""
        self._events(event_line(event, now))
        self.engine.apply(event, now)

    def schedule(self, now: datetime) -> list[Decision]:
        """Drain a scheduling run."""
        return self._turn(ScheduleMode.SCHEDULE, now, self.engine.schedule)

    def run_cycle(self, now: datetime) -> list[Decision]:
        """Run a single cycle over every tree."""
        return self._turn(ScheduleMode.CYCLE, now, self.engine.run_cycle)

    def take(self, step: LogEntry) -> None:
        """Take a step that was recorded before."""
        match step:
            case EventApplied(at=at, event=event):
                self.apply(event, at)
            case ScheduleCall(at=at, turn=ScheduleMode.SCHEDULE):
                self.schedule(at)
            case ScheduleCall(at=at, turn=ScheduleMode.CYCLE):
                self.run_cycle(at)

    def _turn(self, turn: ScheduleMode, now: datetime, decide: Callable[[datetime], list[Decision]]) -> list[Decision]:
        self._turns += 1
        self._events(turn_line(turn, now))
        decisions = decide(now)
        for decision in decisions:
            self._decisions(decision_line(decision, self._turns, now))
        return decisions


def replay(log: EventLog) -> list[bytes]:
    """Take all steps with a new engine of the same settings; the lines of its decisions."""
    decisions: list[bytes] = []
    recorder = Recorder(Engine(log.settings), events=len, decisions=decisions.append)
    for step in log.entries:
        recorder.take(step)
    return decisions
