"""The gauges of queues and Cohorts, from their status (API-143 to API-145).

They are set with each reconcile, on every replica. Series with flavors are replaced as a whole, so that none remains
when a flavor is removed from a queue.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import inf, nan
from typing import Final

from kohort.api.amounts import CPU, to_amount
from kohort.api.conditions import find, is_true
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort, LocalQueue
from kohort.api.kueue.v1beta2.queues import FlavorUsage, LocalQueueFlavorUsage
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues.gauges.pending_totals import ACTIVE as PENDING
from kohort.controllers.queues.gauges.pending_totals import INADMISSIBLE, STATUSES, PendingTotals, pending_totals
from kohort.controllers.queues.gauges.workload_counts import UnadmittedReason, WorkloadCounts
from kohort.controllers.queues.gauges.workload_labels import update_by_labels
from kohort.controllers.queues.reconciler import object_key
from kohort.controllers.queues.references import CLUSTER_QUEUE
from kohort.engine.drs import share_of
from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.lifecycle.conditions import ACTIVE
from kohort.engine.quota import FlavorResource
from kohort.metrics.families import Gauge
from kohort.metrics.series import WorkloadSeries

QUEUE_STATUSES: Final = ("pending", "active", "terminating")
TRUTHS: Final = ("True", "False", "Unknown")

_Labels = dict[str, str]


class ClusterQueueGauges:
    """Gauges of ClusterQueues."""

    def __init__(self, context: ControllerContext, workload_counts: WorkloadCounts) -> None:
        self._context = context
        self._metrics = context.metrics
        self._workload_counts = workload_counts

    def update(self, queue: ClusterQueue) -> None:
        """Set the gauges from the queue's status."""
        name = queue.metadata.name
        labels = {"cluster_queue": name}
        self._metrics.update_cluster_queue(name, queue.metadata.labels, queue.metadata.annotations)
        _set_one_of(self._metrics.cluster_queue_status, QUEUE_STATUSES, status_of(queue), "status", labels)
        _set_active_counts(self._metrics, queue, labels)
        if not self._metrics.has_workload_labels:
            counts = self._context.engine.read.pending[name].counts
            by_status = {PENDING: counts.active + counts.in_flight, INADMISSIBLE: counts.inadmissible}
            _set_counts(self._metrics.pending_workloads, self._admissible(name, by_status), labels)
        self._set_workload_counts(name, labels)
        self._set_tree(name, labels)
        self._set_quota(queue, labels)

    def forget(self, name: str) -> None:
        """Drop the series of a deleted queue."""
        self._metrics.drop_cluster_queue(name)

    def _local_queues(self, name: str) -> list[LocalQueue]:
        return self._context.local_queues.cache.find(CLUSTER_QUEUE, name)

    def update_pending(self, name: str) -> None:
        """Set the gauges that need an iteration over all pending workloads, also those of LocalQueues."""
        engine, metrics, labels = self._context.engine, self._metrics, {"cluster_queue": name}
        queue = engine.read.pending.get(name)
        if queue is None:
            return
        pending = PendingTotals()
        for each in self._local_queues(name):
            key = _key_of(each)
            own = pending_totals(engine.read.local_queues[ObjectKey(*key)].workloads.values(), queue)
            if not metrics.has_workload_labels:
                counts = self._admissible(name, own.counts)
                _set_counts(metrics.local_queue.pending_workloads, counts, _labels_of(key))
            pending.join(own)
        if metrics.has_workload_labels:
            update_by_labels(self._context, name, [_key_of(each) for each in self._local_queues(name)])
        for status in STATUSES:
            metrics.pending_scheduling_hashes.set(len(pending.kinds[status]), status=status, **labels)
        metrics.cluster_queue_resource_pending.forget(name)
        amounts = {**dict.fromkeys(engine.read.cluster_queues[name].group_of, 0), **pending.amounts}
        for resource, amount in amounts.items():
            metrics.cluster_queue_resource_pending.set(in_units(resource, amount), resource=resource, **labels)

    def _admissible(self, name: str, by_status: Mapping[str, int]) -> Mapping[str, int]:
        """Counts by status; all are inadmissible in a ClusterQueue that is not active (API-143)."""
        if self._context.engine.read.cluster_queues[name].is_active:
            return by_status
        return {INADMISSIBLE: sum(by_status.values())}

    def _set_workload_counts(self, name: str, labels: _Labels) -> None:
        keys = [_key_of(each) for each in self._local_queues(name)]
        self._metrics.finished_workloads.set(sum(map(self._workload_counts.finished, keys)), **labels)
        unadmitted: Counter[UnadmittedReason] = Counter()
        for key in keys:
            unadmitted += self._workload_counts.unadmitted(key)
        self._metrics.unadmitted_workloads.forget(name)
        _set_unadmitted(self._metrics.unadmitted_workloads, unadmitted, labels)

    def _set_tree(self, name: str, labels: _Labels) -> None:
        node = self._context.engine.read.cluster_queues[name].node
        self._metrics.cluster_queue_info.forget(name)
        self._metrics.cluster_queue_info.set(1, **_tree_labels(node), **labels)

    def _set_quota(self, queue: ClusterQueue, labels: _Labels) -> None:
        metrics, name = self._metrics, queue.metadata.name
        node = self._context.engine.read.cluster_queues[name].node
        labels = {**labels, "cohort": queue.spec.cohort_name or ""}
        for family, usage in (
            (metrics.cluster_queue_resource_reservation, queue.status.flavors_reservation),
            (metrics.cluster_queue_resource_usage, queue.status.flavors_usage),
        ):
            family.forget(name)
            _set_usage(family, usage, labels)
        limits = (
            metrics.cluster_queue_nominal_quota,
            metrics.cluster_queue_borrowing_limit,
            metrics.cluster_queue_lending_limit,
        )
        for family in limits:
            family.forget(name)
        for fr, quota in node.quotas.items():
            for family, amount in zip(limits, quota, strict=True):
                family.set(_limit(fr, amount), flavor=fr.flavor, resource=fr.resource, **labels)
        metrics.cluster_queue_weighted_share.forget(name)
        if queue.status.fair_sharing is not None:
            metrics.cluster_queue_weighted_share.set(_share(node), **labels)


class LocalQueueGauges:
    """Gauges of LocalQueues, if enabled."""

    def __init__(self, context: ControllerContext, workload_counts: WorkloadCounts) -> None:
        self._context = context
        self._metrics = context.metrics
        self._workload_counts = workload_counts

    def update(self, queue: LocalQueue) -> None:
        """Set the gauges from the queue's status."""
        key, metrics = _key_of(queue), self._metrics.local_queue
        labels = _labels_of(key)
        self._metrics.update_local_queue(*key, queue.metadata.labels, queue.metadata.annotations)
        active = find(queue.status.conditions, ACTIVE)
        _set_one_of(metrics.status, TRUTHS, active.status if active else "Unknown", "active", labels)
        _set_active_counts(metrics, queue, labels)
        metrics.finished_workloads.set(self._workload_counts.finished(key), **labels)
        self._set_unadmitted(queue, labels)
        self._set_usage(queue, labels)

    def forget(self, key: ObjectKey) -> None:
        """Drop the series of a deleted queue."""
        self._metrics.drop_local_queue(*key)

    def _set_unadmitted(self, queue: LocalQueue, labels: _Labels) -> None:
        metrics, key, cluster_queue = self._metrics.local_queue, _key_of(queue), queue.spec.cluster_queue or ""
        if cluster_queue not in self._context.engine.read.cluster_queues:
            metrics.pending_workloads.forget(key.name, key.namespace)
            if not self._metrics.has_workload_labels:
                _set_counts(metrics.pending_workloads, {}, labels)
        metrics.unadmitted_workloads.forget(key.name, key.namespace)
        unadmitted = self._workload_counts.unadmitted(key)
        _set_unadmitted(metrics.unadmitted_workloads, unadmitted, {**labels, "cluster_queue": cluster_queue})

    def _set_usage(self, queue: LocalQueue, labels: _Labels) -> None:
        metrics, key = self._metrics.local_queue, _key_of(queue)
        for family, usage in (
            (metrics.resource_reservation, queue.status.flavors_reservation),
            (metrics.resource_usage, queue.status.flavors_usage),
        ):
            family.forget(key.name, key.namespace)
            _set_usage(family, usage, labels)
        history = self._context.engine.read.history
        if history is not None and queue.status.fair_sharing is not None:
            usage_now = history.usage_of(ObjectKey(*key))
            metrics.admission_fair_sharing_usage.set(usage_now, cluster_queue=queue.spec.cluster_queue or "", **labels)


class CohortGauges:
    """Gauges of Cohorts."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._metrics = context.metrics

    def update(self, cohort: Cohort, node: CohortNode) -> None:
        """Set the gauges of a Cohort from its subtree."""
        self._metrics.update_cohort(node.name, cohort.metadata.labels, cohort.metadata.annotations)
        self.update_tree(node)
        if cohort.status.fair_sharing is not None:
            self._metrics.cohort.weighted_share.set(_share(node), cohort=node.name)

    def update_tree(self, node: CohortNode) -> None:
        """Set the gauges of an implicit Cohort, which has no object."""
        metrics = self._metrics.cohort
        metrics.weighted_share.forget(node.name)
        metrics.info.forget(node.name)
        metrics.info.set(1, cohort=node.name, **_tree_labels(node))
        self._set_subtree(node)

    def forget(self, name: str) -> None:
        """Drop the series of a deleted Cohort."""
        self._metrics.drop_cohort(name)

    def _set_subtree(self, node: CohortNode) -> None:
        metrics, queues = self._metrics.cohort, list(node.all_queues())
        metrics.subtree_quota.forget(node.name)
        metrics.subtree_resource_reservations.forget(node.name)
        for fr, cell in node.cells.items():
            reserved = sum(queue.cells[fr].usage for queue in queues if fr in queue.cells)
            labels = {"cohort": node.name, "flavor": fr.flavor, "resource": fr.resource}
            for gauge, amount in (
                (metrics.subtree_quota, cell.subtree),
                (metrics.subtree_resource_reservations, reserved),
            ):
                if amount > 0:
                    gauge.set(in_units(fr.resource, amount), **labels)
        shown = (self._context.cluster_queues.cache.get(object_key(queue.name)) for queue in queues)
        admitted = sum(each.status.admitted_workloads or 0 for each in shown if each is not None)
        metrics.subtree_admitted_active_workloads.set(admitted, cohort=node.name)


def status_of(queue: ClusterQueue) -> str:
    """The status of a ClusterQueue: pending, active or terminating."""
    if queue.metadata.deletion_timestamp is not None:
        return "terminating"
    return "active" if is_true(queue.status.conditions, ACTIVE) else "pending"


def _set_one_of(gauge: Gauge, choices: Iterable[str], chosen: str, label: str, labels: _Labels) -> None:
    for each in choices:
        gauge.set(float(each == chosen), **{label: each}, **labels)


def _set_active_counts(metrics: WorkloadSeries, queue: ClusterQueue | LocalQueue, labels: _Labels) -> None:
    metrics.reserving_active_workloads.set(queue.status.reserving_workloads or 0, **labels)
    if not metrics.custom.states:
        metrics.admitted_active_workloads.set(queue.status.admitted_workloads or 0, **labels)


def _set_counts(gauge: Gauge, by_status: Mapping[str, int], labels: _Labels) -> None:
    for status in STATUSES:
        gauge.set(by_status.get(status, 0), status=status, **labels)


def _set_unadmitted(gauge: Gauge, counts: Counter[UnadmittedReason], labels: _Labels) -> None:
    for reason, count in counts.items():
        gauge.set(count, reason=reason.reason, underlying_cause=reason.cause, **labels)


def _set_usage(gauge: Gauge, usage: Iterable[FlavorUsage | LocalQueueFlavorUsage], labels: _Labels) -> None:
    for flavor in usage:
        for resource in flavor.resources:
            amount = to_amount(resource.name, resource.total or 0)
            gauge.set(in_units(resource.name, amount), flavor=flavor.name, resource=resource.name, **labels)


def in_units(resource: str, amount: int) -> float:
    """An amount in base units: cores, bytes, items."""
    return amount / 1000 if resource == CPU else float(amount)


def _limit(fr: FlavorResource, amount: int | None) -> float:
    return inf if amount is None else in_units(fr.resource, amount)


def _share(node: HierarchyNode) -> float:
    """The weighted share as a float; the status has it rounded up (SCH-706)."""
    share = share_of(node)
    return nan if share.is_infinite else share.value


def _tree_labels(node: HierarchyNode) -> _Labels:
    """Parent and root: a root Cohort is its own root; a queue without a Cohort and a cycle have none."""
    parent = node.parent.name if node.parent is not None else ""
    has_root = not node.is_cyclic and (node.parent is not None or isinstance(node, CohortNode))
    return {"parent_cohort": parent, "root_cohort": node.top().name if has_root else ""}


def _labels_of(key: ObjectKey) -> _Labels:
    return {"name": key.name, "namespace": key.namespace}


def _key_of(queue: LocalQueue) -> ObjectKey:
    return object_key(queue.metadata.name, queue.metadata.namespace)
