"""Explanations of pending workloads: `explain` for existing ones, `would_fit` for others, `lines` as text.

They are computed by the functions that decide, on the live state, and undone, so that they can't differ from decisions.
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
