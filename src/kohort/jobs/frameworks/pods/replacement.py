"""The condition WaitingForReplacementPods of a group's Workload (JOB-168)."""

from datetime import datetime

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import Condition
from kohort.engine.lifecycle.conditions import (
    EVICTED,
    condition,
    condition_false,
    condition_true,
    is_evicted,
    new_condition,
)

WAITING = "WaitingForReplacementPods"


def replacement_condition(workload: Workload, absent: int, now: datetime) -> Condition | None:
    """The desired condition, or None."""
    known = condition(workload, WAITING)
    if absent:
        return _waiting(workload, known, now)
    if known is None or known.status == "False":
        return known
    return new_condition(
        WAITING, condition_false("PodsReady", "No pods need replacement"), workload.metadata.generation, now
    )


def _waiting(workload: Workload, known: Condition | None, now: datetime) -> Condition:
    evicted = condition(workload, EVICTED)
    if evicted is not None and is_evicted(workload):
        return new_condition(
            WAITING, condition_true(evicted.reason, evicted.message), workload.metadata.generation, now
        )
    if known is not None and known.status == "True":
        return known
    return new_condition(
        WAITING, condition_true("PodsFailed", "Some Failed pods need replacement"), workload.metadata.generation, now
    )
