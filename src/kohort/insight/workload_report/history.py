"""What happened to a Workload, from its conditions: each tells of the last time it changed."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import Condition
from kohort.insight.workload_report.model import HistoryEntry

_TEXTS: Final = {
    "QuotaReserved": "got its quota",
    "Admitted": "was admitted",
    "PodsReady": "had all its pods ready",
    "Evicted": "was evicted",
    "Preempted": "was preempted",
    "Finished": "finished",
    "Requeued": "was put back into its queue",
    "DeactivationTarget": "was to be deactivated",
}
_SPOKEN: Final = frozenset({"Evicted", "Preempted", "Finished", "DeactivationTarget"})
"""Conditions whose message says more than the condition."""


def history_of(workload: Workload, now: datetime) -> tuple[HistoryEntry, ...]:
    """What happened, the oldest first; and what is known to come."""
    return tuple(sorted(_happenings(workload, now), key=lambda each: each.time))


def _happenings(workload: Workload, now: datetime) -> Iterator[HistoryEntry]:
    if workload.metadata.creation_timestamp is not None:
        yield HistoryEntry(workload.metadata.creation_timestamp, "was submitted")
    for condition in workload.status.conditions:
        if condition.status == "True" and condition.type in _TEXTS:
            yield HistoryEntry(condition.last_transition_time, _text(condition))
    requeue = workload.status.requeue_state
    if requeue is not None and requeue.requeue_at is not None and requeue.requeue_at > now:
        tries = f" (try {requeue.count + 1})" if requeue.count else ""
        yield HistoryEntry(requeue.requeue_at, f"will be looked at again{tries}")


def _text(condition: Condition) -> str:
    told = f": {condition.message}" if condition.type in _SPOKEN and condition.message else ""
    reason = f" ({condition.reason})" if condition.type == "Evicted" else ""
    return f"{_TEXTS[condition.type]}{reason}{told}"


def evictions_of(workload: Workload) -> str:
    """How often it was evicted and why, where that happened more than once."""
    stats = workload.status.scheduling_stats
    counts = stats.evictions if stats is not None else ()
    if sum(each.count for each in counts) < 2:
        return ""
    told = ", ".join(f"{each.count} times for {each.underlying_cause or each.reason}" for each in counts)
    return f"It was evicted {told}"
