"""Counters and timings of Workloads, from watch events: in one place for all writers.

Only the leader counts, so that a change is counted once; nothing from before it became the leader is counted.
"""

from collections.abc import Iterator
from datetime import datetime

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import EvictionCount
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.engine.lifecycle.admission import queued_since
from kohort.engine.lifecycle.conditions import (
    ADMITTED,
    EVICTED,
    FINISHED,
    PODS_READY,
    QUOTA_RESERVED,
    condition,
    holds,
    is_evicted,
    is_reserved,
)
from kohort.engine.lifecycle.reasons import WORKLOAD_SLICE_REPLACED
from kohort.metrics.series import WorkloadSeries

_Labels = dict[str, str]


class WorkloadMetrics:
    """Records changes of Workloads in Kueue's series (docs/spec/api-config-metrics.md, section 11)."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._metrics = context.metrics

    def observe(self, old: Workload | None, new: Workload | None) -> None:
        """Record a change of a Workload."""
        if old is None or new is None or old.status is new.status or not self._context.leads():
            return
        for type_, count in (
            (QUOTA_RESERVED, self._count_reservation),
            (ADMITTED, self._count_admission),
            (PODS_READY, self._count_readiness),
            (FINISHED, self._count_end),
        ):
            if holds(new, type_) and not holds(old, type_):
                count(new)
        if is_evicted(new) and not is_evicted(old):
            self._count_eviction(old, new)
        if is_evicted(new) and is_reserved(old) and not is_reserved(new):
            self._count_release(old, new)

    def _count_reservation(self, workload: Workload) -> None:
        waited = _seconds(queued_since(workload, self._context.now()), _since(workload, QUOTA_RESERVED))
        for series, labels in self._series(workload):
            series.quota_reserved_workloads_total.inc(**labels)
            series.quota_reserved_wait_time_seconds.observe(waited, **labels)

    def _count_admission(self, workload: Workload) -> None:
        admitted = _since(workload, ADMITTED)
        waited = _seconds(queued_since(workload, self._context.now()), admitted)
        checked = _seconds(_since(workload, QUOTA_RESERVED), admitted)
        custom = self._metrics.labels_of(workload)
        for series, labels in self._series(workload):
            labels_with_custom = {**labels, **{name: custom[name] for name in series.custom.admissions}}
            series.admitted_workloads_total.inc(**labels_with_custom)
            series.admission_wait_time_seconds.observe(waited, **labels_with_custom)
            series.admission_checks_wait_time_seconds.observe(checked, **labels)
        for cohort in self._cohorts_of(workload):
            self._metrics.cohort.subtree_admitted_workloads_total.inc(cohort=cohort, **_by(workload))

    def _count_readiness(self, workload: Workload) -> None:
        ready = _since(workload, PODS_READY)
        for series, labels in self._series(workload):
            queued = queued_since(workload, self._context.now())
            series.ready_wait_time_seconds.observe(_seconds(queued, ready), **labels)
            admitted = _seconds(_since(workload, ADMITTED), ready)
            series.admitted_until_ready_wait_time_seconds.observe(admitted, **labels)

    def _count_end(self, workload: Workload) -> None:
        ran = workload.status.accumulated_past_execution_time_seconds or 0
        if holds(workload, ADMITTED):
            ran += int(_seconds(_since(workload, ADMITTED), _since(workload, FINISHED)))
        for series, labels in self._series(workload):
            series.finished_workloads_total.inc(**labels)
            series.execution_time_seconds.observe(ran, **labels)

    def _count_eviction(self, old: Workload, new: Workload) -> None:
        """Count an eviction with an admission (API-105), and separately the first one for its reason (API-94)."""
        counted = _counted_last(old, new)
        if new.status.admission is None or counted is None:
            return
        why = {"reason": counted.reason, "underlying_cause": counted.underlying_cause}
        for series, labels in self._series(new):
            series.evicted_workloads_total.inc(**labels, **why)
        queue = {"cluster_queue": new.status.admission.cluster_queue}
        if counted.count == 1:
            self._metrics.evicted_workloads_once_total.inc(**queue, **_by(new), **why)
        if holds(old, PODS_READY):
            ready = _seconds(_since(old, PODS_READY), _since(new, EVICTED))
            self._metrics.pods_ready_to_evicted_time_seconds.observe(ready, **queue, **why)

    def _count_release(self, old: Workload, new: Workload) -> None:
        evicted = condition(new, EVICTED)
        if evicted is None or old.status.admission is None:
            return
        took = _seconds(evicted.last_transition_time, _since(new, QUOTA_RESERVED))
        labels = {"cluster_queue": old.status.admission.cluster_queue, "reason": evicted.reason}
        self._metrics.workload_eviction_latency_seconds.observe(took, **labels)

    def _series(self, workload: Workload) -> Iterator[tuple[WorkloadSeries, _Labels]]:
        """The series of the Workload's ClusterQueue and LocalQueue, with their labels."""
        by, namespace, cluster_queue = _by(workload), workload.metadata.namespace, self._cluster_queue_of(workload)
        if cluster_queue:
            yield self._metrics, {"cluster_queue": cluster_queue, **by}
        if workload.spec.queue_name:
            yield self._metrics.local_queue, {"name": workload.spec.queue_name, "namespace": namespace, **by}

    def _cluster_queue_of(self, workload: Workload) -> str:
        """The ClusterQueue of the admission; for a replaced and evicted slice that of its LocalQueue."""
        if workload.status.admission is not None:
            return workload.status.admission.cluster_queue
        finished = condition(workload, FINISHED)
        if finished is None or finished.reason != WORKLOAD_SLICE_REPLACED or not is_evicted(workload):
            return ""
        place = ObjectKey(workload.metadata.namespace, workload.spec.queue_name or "")
        local_queue = self._context.engine.read.local_queues.get(place)
        return local_queue.cluster_queue if local_queue is not None else ""

    def _cohorts_of(self, workload: Workload) -> Iterator[str]:
        admission = workload.status.admission
        queue = self._context.engine.read.cluster_queues.get(admission.cluster_queue) if admission else None
        if queue is not None and not queue.node.is_cyclic:
            yield from (cohort.name for cohort in queue.node.ancestors())


def _counted_last(old: Workload, new: Workload) -> EvictionCount | None:
    """The eviction that was added between two states."""
    stats = old.status.scheduling_stats
    before = {(each.reason, each.underlying_cause): each.count for each in stats.evictions} if stats else {}
    after = new.status.scheduling_stats.evictions if new.status.scheduling_stats else ()
    grown = (each for each in after if each.count > before.get((each.reason, each.underlying_cause), 0))
    return next(grown, None)


def _by(workload: Workload) -> _Labels:
    ref = workload.spec.priority_class_ref
    return {"priority_class": ref.name or "" if ref else ""}


def _since(workload: Workload, type_: str) -> datetime | None:
    found = condition(workload, type_)
    return found.last_transition_time if found else None


def _seconds(start: datetime | None, end: datetime | None) -> float:
    return 0.0 if start is None or end is None else max((end - start).total_seconds(), 0.0)
