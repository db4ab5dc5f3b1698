"""One scheduling cycle (docs/spec/scheduling.md §3): heads, nomination, order, processing, requeue.

Nominations read the tree as it stands when the cycle begins; heads are popped and put back by the engine.
"""

from kohort.engine.cycle.model import MAX_SCANS, CycleContext, CycleEntry, CycleResult, CycleRules, CycleView, Head
from kohort.engine.cycle.processing import evaluate, run
from kohort.engine.cycle.verdict import NO_LONGER_FITS, WAITING_FOR_QUOTA, EntryAction, EntryVerdict

__all__ = [
    "MAX_SCANS",
    "NO_LONGER_FITS",
    "WAITING_FOR_QUOTA",
    "CycleContext",
    "CycleEntry",
    "CycleResult",
    "CycleRules",
    "CycleView",
    "EntryAction",
    "EntryVerdict",
    "Head",
    "evaluate",
    "run",
]
