"""The history of a Workload, from the last transitions of its conditions."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import Condition
from kohort.insight.workload_report.model import HistoryEntry

_TEXTS: Final = {
    "QuotaReserved": "quota reserved",
    "Admitted": "admitted",
    "PodsReady": "all pods ready",
    "Evicted": "evicted",
    "Preempted": "preempted",
    "Finished": "finished",
    "Requeued": "requeued",
    "DeactivationTarget": "deactivation requested",
}
_WITH_MESSAGE: Final = frozenset({"Evicted", "Preempted", "Finished", "DeactivationTarget"})
"""Conditions whose message is shown."""


def history_of(workload: Workload, now: datetime) -> tuple[HistoryEntry, ...]:
    """Past events, oldest first, and the next requeuing."""
    return tuple(sorted(_entries(workload, now), key=lambda each: each.time))


def _entries(workload: Workload, now: datetime) -> Iterator[HistoryEntry]:
    if workload.metadata.creation_timestamp is not None:
        yield HistoryEntry(workload.metadata.creation_timestamp, "submitted")
    for condition in workload.status.conditions:
        if condition.status == "True" and condition.type in _TEXTS:
            yield HistoryEntry(condition.last_transition_time, _text(condition))
    requeue = workload.status.requeue_state
    if requeue is not None and requeue.requeue_at is not None and requeue.requeue_at > now:
        attempt = f" (attempt {requeue.count + 1})" if requeue.count else ""
        yield HistoryEntry(requeue.requeue_at, f"will be requeued{attempt}")


def _text(condition: Condition) -> str:
    message = f": {condition.message}" if condition.type in _WITH_MESSAGE and condition.message else ""
    reason = f" ({condition.reason})" if condition.type == "Evicted" else ""
    return f"{_TEXTS[condition.type]}{reason}{message}"


def evictions_of(workload: Workload) -> str:
    """Number and causes of evictions, if more than one."""
    stats = workload.status.scheduling_stats
    counts = stats.evictions if stats is not None else ()
    if sum(each.count for each in counts) < 2:
        return ""
    causes = ", ".join(f"{each.underlying_cause or each.reason} ({each.count})" for each in counts)
    return f"Evictions: {causes}"
