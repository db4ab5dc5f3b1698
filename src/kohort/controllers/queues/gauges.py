"""The gauges of queues and cohorts: what their status says, for Prometheus (API-143 to API-145).

They are set with each look at an object, on every replica. Series with flavors are set anew as a whole, so that none
stays behind when a flavor leaves a queue.
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
from kohort.controllers.queues.labelled_gauges import show_by_labels
from kohort.controllers.queues.pending_totals import ACTIVE as PENDING
from kohort.controllers.queues.pending_totals import PARKED, STATUSES, PendingTotals, pending_totals
from kohort.controllers.queues.reconciler import key
from kohort.controllers.queues.references import CLUSTER_QUEUE
from kohort.controllers.queues.workload_counts import UnadmittedReason, WorkloadCounts
from kohort.engine.drs import share_of
from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.lifecycle.conditions import ACTIVE
from kohort.engine.quota import FlavorResource
from kohort.metrics.families import Gauge
from kohort.metrics.series import WorkloadSeries

QUEUE_STATUSES: Final = ("pending", "active", "terminating")
TRUTHS: Final = ("True", "False", "Unknown")

Labels = dict[str, str]


class ClusterQueueGauges:
    """What is told of ClusterQueues."""

    def __init__(self, context: ControllerContext, tallies: WorkloadCounts) -> None:
        self._context = context
        self._metrics = context.metrics
        self._tallies = tallies

    def show(self, queue: ClusterQueue) -> None:
        """Set the gauges to what the queue's status says now."""
        name = queue.metadata.name
        labels = {"cluster_queue": name}
        self._metrics.update_cluster_queue(name, queue.metadata.labels, queue.metadata.annotations)
        _choose(self._metrics.cluster_queue_status, QUEUE_STATUSES, status_of(queue), "status", labels)
        _show_holding(self._metrics, queue, labels)
        if not self._metrics.has_workload_labels:
            counts = self._context.engine.pending[name].counts
            places = {PENDING: counts.active + counts.in_flight, PARKED: counts.inadmissible}
            _show_counts(self._metrics.pending_workloads, self._admissible(name, places), labels)
        self._show_standings(name, labels)
        self._show_place(name, labels)
        self._show_quota(queue, labels)

    def forget(self, name: str) -> None:
        """The queue is gone."""
        self._metrics.drop_cluster_queue(name)

    def _local_queues(self, name: str) -> list[LocalQueue]:
        return self._context.local_queues.cache.find(CLUSTER_QUEUE, name)

    def survey(self, name: str) -> None:
        """Set the gauges that take a walk over all who wait, those of LocalQueues among them."""
        engine, metrics, labels = self._context.engine, self._metrics, {"cluster_queue": name}
        queue = engine.pending.get(name)
        if queue is None:
            return
        waiting = PendingTotals()
        for each in self._local_queues(name):
            place = _place(each)
            mine = pending_totals(engine.local_queues[ObjectKey(*place)].workloads.values(), queue)
            if not metrics.has_workload_labels:
                counts = self._admissible(name, mine.counts)
                _show_counts(metrics.local_queue.pending_workloads, counts, _labels_of(place))
            waiting.join(mine)
        if metrics.has_workload_labels:
            show_by_labels(self._context, name, [_place(each) for each in self._local_queues(name)])
        for status in STATUSES:
            metrics.pending_scheduling_hashes.set(len(waiting.kinds[status]), status=status, **labels)
        metrics.cluster_queue_resource_pending.forget(name)
        amounts = {**dict.fromkeys(engine.queues[name].group_of, 0), **waiting.amounts}
        for resource, amount in amounts.items():
            metrics.cluster_queue_resource_pending.set(in_units(resource, amount), resource=resource, **labels)

    def _admissible(self, name: str, places: Mapping[str, int]) -> Mapping[str, int]:
        """Counts by status; all are inadmissible in a ClusterQueue that is not active (API-143)."""
        if self._context.engine.queues[name].is_active:
            return places
        return {PARKED: sum(places.values())}

    def _show_standings(self, name: str, labels: Labels) -> None:
        places = [_place(each) for each in self._local_queues(name)]
        self._metrics.finished_workloads.set(sum(map(self._tallies.finished, places)), **labels)
        unadmitted: Counter[UnadmittedReason] = Counter()
        for place in places:
            unadmitted += self._tallies.unadmitted(place)
        self._metrics.unadmitted_workloads.forget(name)
        _show_unadmitted(self._metrics.unadmitted_workloads, unadmitted, labels)

    def _show_place(self, name: str, labels: Labels) -> None:
        node = self._context.engine.queues[name].node
        self._metrics.cluster_queue_info.forget(name)
        self._metrics.cluster_queue_info.set(1, **_tree_labels(node), **labels)

    def _show_quota(self, queue: ClusterQueue, labels: Labels) -> None:
        metrics, name = self._metrics, queue.metadata.name
        node = self._context.engine.queues[name].node
        labels = {**labels, "cohort": queue.spec.cohort_name or ""}
        for family, usage in (
            (metrics.cluster_queue_resource_reservation, queue.status.flavors_reservation),
            (metrics.cluster_queue_resource_usage, queue.status.flavors_usage),
        ):
            family.forget(name)
            _show_usage(family, usage, labels)
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
    """What is told of LocalQueues, where that is asked for."""

    def __init__(self, context: ControllerContext, tallies: WorkloadCounts) -> None:
        self._context = context
        self._metrics = context.metrics
        self._tallies = tallies

    def show(self, queue: LocalQueue) -> None:
        """Set the gauges to what the queue's status says now."""
        place, metrics = _place(queue), self._metrics.local_queue
        labels = _labels_of(place)
        self._metrics.update_local_queue(*place, queue.metadata.labels, queue.metadata.annotations)
        active = find(queue.status.conditions, ACTIVE)
        _choose(metrics.status, TRUTHS, active.status if active else "Unknown", "active", labels)
        _show_holding(metrics, queue, labels)
        metrics.finished_workloads.set(self._tallies.finished(place), **labels)
        self._show_unadmitted(queue, labels)
        self._show_usage(queue, labels)

    def forget(self, place: ObjectKey) -> None:
        """The queue is gone."""
        self._metrics.drop_local_queue(*place)

    def _show_unadmitted(self, queue: LocalQueue, labels: Labels) -> None:
        metrics, place, behind = self._metrics.local_queue, _place(queue), queue.spec.cluster_queue or ""
        if behind not in self._context.engine.queues:
            metrics.pending_workloads.forget(place.name, place.namespace)
            if not self._metrics.has_workload_labels:
                _show_counts(metrics.pending_workloads, {}, labels)
        metrics.unadmitted_workloads.forget(place.name, place.namespace)
        unadmitted = self._tallies.unadmitted(place)
        _show_unadmitted(metrics.unadmitted_workloads, unadmitted, {**labels, "cluster_queue": behind})

    def _show_usage(self, queue: LocalQueue, labels: Labels) -> None:
        metrics, place = self._metrics.local_queue, _place(queue)
        for family, usage in (
            (metrics.resource_reservation, queue.status.flavors_reservation),
            (metrics.resource_usage, queue.status.flavors_usage),
        ):
            family.forget(place.name, place.namespace)
            _show_usage(family, usage, labels)
        history = self._context.engine.history
        if history is not None and queue.status.fair_sharing is not None:
            usage_now = history.usage_of(ObjectKey(*place))
            metrics.admission_fair_sharing_usage.set(usage_now, cluster_queue=queue.spec.cluster_queue or "", **labels)


class CohortGauges:
    """What is told of Cohorts."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._metrics = context.metrics

    def show(self, cohort: Cohort, node: CohortNode) -> None:
        """Set the gauges of a Cohort to what its subtree has now."""
        self._metrics.update_cohort(node.name, cohort.metadata.labels, cohort.metadata.annotations)
        self.show_tree(node)
        if cohort.status.fair_sharing is not None:
            self._metrics.cohort.weighted_share.set(_share(node), cohort=node.name)

    def show_tree(self, node: CohortNode) -> None:
        """The same of one that only others name, and that has no object."""
        metrics = self._metrics.cohort
        metrics.weighted_share.forget(node.name)
        metrics.info.forget(node.name)
        metrics.info.set(1, cohort=node.name, **_tree_labels(node))
        self._show_subtree(node)

    def forget(self, name: str) -> None:
        """The Cohort is gone."""
        self._metrics.drop_cohort(name)

    def _show_subtree(self, node: CohortNode) -> None:
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
        shown = (self._context.cluster_queues.cache.get(key(queue.name)) for queue in queues)
        admitted = sum(each.status.admitted_workloads or 0 for each in shown if each is not None)
        metrics.subtree_admitted_active_workloads.set(admitted, cohort=node.name)


def status_of(queue: ClusterQueue) -> str:
    """One word for a ClusterQueue's state."""
    if queue.metadata.deletion_timestamp is not None:
        return "terminating"
    return "active" if is_true(queue.status.conditions, ACTIVE) else "pending"


def _choose(gauge: Gauge, choices: Iterable[str], chosen: str, label: str, labels: Labels) -> None:
    for each in choices:
        gauge.set(float(each == chosen), **{label: each}, **labels)


def _show_holding(metrics: WorkloadSeries, queue: ClusterQueue | LocalQueue, labels: Labels) -> None:
    metrics.reserving_active_workloads.set(queue.status.reserving_workloads or 0, **labels)
    if not metrics.custom.states:
        metrics.admitted_active_workloads.set(queue.status.admitted_workloads or 0, **labels)


def _show_counts(gauge: Gauge, places: Mapping[str, int], labels: Labels) -> None:
    for status in STATUSES:
        gauge.set(places.get(status, 0), status=status, **labels)


def _show_unadmitted(gauge: Gauge, counts: Counter[UnadmittedReason], labels: Labels) -> None:
    for standing, count in counts.items():
        gauge.set(count, reason=standing.reason, underlying_cause=standing.cause, **labels)


def _show_usage(gauge: Gauge, usage: Iterable[FlavorUsage | LocalQueueFlavorUsage], labels: Labels) -> None:
    for flavor in usage:
        for resource in flavor.resources:
            amount = to_amount(resource.name, resource.total or 0)
            gauge.set(in_units(resource.name, amount), flavor=flavor.name, resource=resource.name, **labels)


def in_units(resource: str, amount: int) -> float:
    """An amount as Prometheus is told it: cores, bytes, pieces."""
    return amount / 1000 if resource == CPU else float(amount)


def _limit(fr: FlavorResource, amount: int | None) -> float:
    return inf if amount is None else in_units(fr.resource, amount)


def _share(node: HierarchyNode) -> float:
    """The share by weight as a float, where the status has it rounded up (SCH-706)."""
    share = share_of(node)
    return nan if share.is_infinite else share.value


def _tree_labels(node: HierarchyNode) -> Labels:
    """Parent and root: a root Cohort is its own, a queue without a Cohort has none, and neither has a circle."""
    parent = node.parent.name if node.parent is not None else ""
    has_root = not node.is_cyclic and (node.parent is not None or isinstance(node, CohortNode))
    return {"parent_cohort": parent, "root_cohort": node.top().name if has_root else ""}


def _labels_of(place: ObjectKey) -> Labels:
    return {"name": place.name, "namespace": place.namespace}


def _place(queue: LocalQueue) -> ObjectKey:
    return key(queue.metadata.name, queue.metadata.namespace)
