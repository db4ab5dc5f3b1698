"""Why a workload is where it is: `explain` for one that exists, `would_fit` for one that does not, `lines` in words.

Everything is found by the functions that decide, tried on the live state and undone, so that it can't differ from them.
"""

from kohort.engine.explain.explain import explain, would_fit
from kohort.engine.explain.model import (
    Evaluation,
    Explanation,
    FlavorTrial,
    HeldQuota,
    PlaceHolder,
    PlacementTrial,
    PodSetTrial,
    PositionInQueue,
    PreemptionExplanation,
    PreemptionOutlook,
    QuotaHolders,
    Victim,
    WorkloadPhase,
)
from kohort.engine.explain.remedies import Remedy, remedies
from kohort.engine.explain.text import explanation_lines

__all__ = [
    "Evaluation",
    "Explanation",
    "FlavorTrial",
    "HeldQuota",
    "PlaceHolder",
    "PlacementTrial",
    "PodSetTrial",
    "PositionInQueue",
    "PreemptionExplanation",
    "PreemptionOutlook",
    "QuotaHolders",
    "Remedy",
    "Victim",
    "WorkloadPhase",
    "explain",
    "explanation_lines",
    "remedies",
    "would_fit",
]
