"""Why a workload is where it is: `explain` for one that exists, `would_fit` for one that does not, `lines` in words.

Everything is found by the functions that decide, tried on the live state and undone, so that it can't differ from them.
"""

from kohort.engine.explain.asking import explain, would_fit
from kohort.engine.explain.model import (
    Evaluation,
    Explanation,
    FlavorTrial,
    Held,
    Help,
    Holders,
    PodSetTrial,
    Preemption,
    Standing,
    State,
    Victim,
)
from kohort.engine.explain.remedies import Remedy, remedies
from kohort.engine.explain.words import lines

__all__ = [
    "Evaluation",
    "Explanation",
    "FlavorTrial",
    "Held",
    "Help",
    "Holders",
    "PodSetTrial",
    "Preemption",
    "Remedy",
    "Standing",
    "State",
    "Victim",
    "explain",
    "lines",
    "remedies",
    "would_fit",
]
