"""Recording and replaying: what the engine was told, when it was asked, and what it decided, line by line.

Both logs are JSON lines that begin with a header. An event log carries the settings too, so that it replays by itself
to the very lines of the decision log. Lines come and go as bytes.
"""

from kohort.engine.record.files import packed, unpacked
from kohort.engine.record.model import Applied, Decided, DecisionLog, EventLog, Step, Turn, Turned
from kohort.engine.record.reading import read_decisions, read_events
from kohort.engine.record.recorder import Recorder, replay

__all__ = [
    "Applied",
    "Decided",
    "DecisionLog",
    "EventLog",
    "Recorder",
    "Step",
    "Turn",
    "Turned",
    "packed",
    "read_decisions",
    "read_events",
    "replay",
    "unpacked",
]
