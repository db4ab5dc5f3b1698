"""One scheduling cycle (docs/spec/scheduling.md §3): heads, nomination, order, processing, requeue.

Nominations read the tree in its state at the start of the cycle; the engine pops and requeues the heads.
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
