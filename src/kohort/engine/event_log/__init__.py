"""Event logs and decision logs: what was applied to an engine, when it ran, and what it decided, line by line.

Both logs are JSON lines that begin with a header. An event log carries the settings too, so that it replays by itself
to the very lines of the decision log. Lines come and go as bytes.
"""

from kohort.engine.event_log.files import compress_lines, decompress_lines
from kohort.engine.event_log.model import (
    DecisionLog,
    EventApplied,
    EventLog,
    LogEntry,
    LoggedDecision,
    ScheduleCall,
    ScheduleMode,
)
from kohort.engine.event_log.reading import read_decisions, read_events
from kohort.engine.event_log.recorder import Recorder, replay

__all__ = [
    "DecisionLog",
    "EventApplied",
    "EventLog",
    "LogEntry",
    "LoggedDecision",
    "Recorder",
    "ScheduleCall",
    "ScheduleMode",
    "compress_lines",
    "decompress_lines",
    "read_decisions",
    "read_events",
    "replay",
]
