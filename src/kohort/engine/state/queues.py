"""Tracks ClusterQueues, Cohorts, LocalQueues and what they reference: flavors, checks and topologies."""

from collections.abc import Mapping
from datetime import datetime

from kohort.api.core.namespaces import Namespace
from kohort.api.kueue import v1beta2
from kohort.api.meta import ObjectKey
from kohort.api.selectors import compile_selector
from kohort.engine import record_builders
from kohort.engine.lifecycle.activity import inactivity_causes
from kohort.engine.pending import PendingQueue
from kohort.engine.records import ClusterQueueInfo
from kohort.engine.state.pending_tracking import PendingTracker
from kohort.engine.state.quota_accounting import QuotaTracker
from kohort.engine.state.store import EngineStore, LocalQueueInfo
from kohort.engine.state.unblocking import Unblocking
from kohort.engine.state.usage_accounting import UsageHistoryTracker


class QueueTracker:
    """Applies events of ClusterQueues, Cohorts, LocalQueues and what they depend on."""

    def __init__(
        self,
        store: EngineStore,
        unblocking: Unblocking,
        history: UsageHistoryTracker,
        pending: PendingTracker,
        quota: QuotaTracker,
    ) -> None:
        self._store = store
        self._unblocking = unblocking
        self._history = history
        self._pending = pending
        self._quota = quota

    def put_namespace(self, thing: Namespace) -> None:
        """Unblock queues that select the namespace only now (SCH-261)."""
        name, labels = thing.metadata.name, thing.metadata.labels
        before = self._store.namespaces.get(name)
        self._store.namespaces[name] = labels
        for queue in self._store.queues.values():
            admits, admitted = _admits(queue, labels), _admits(queue, before)
            if admits and not admitted:
                self._unblocking.unblock_tree(queue.node)
            elif admits != admitted:
                self._store.dirty.add(queue.name)

    def put_cluster_queue(self, thing: v1beta2.ClusterQueue, now: datetime) -> None:
        """Apply a new or changed ClusterQueue."""
        name, spec = thing.metadata.name, thing.spec
        before = self._store.cluster_queue_objects.get(name)
        self._store.cluster_queue_objects[name] = thing
        if before is not None and _decide_alike(before, thing):
            return
        if name in self._store.queues:
            self._unblocking.unblock_tree(self._store.queues[name].node)
        node = self._store.hierarchy.set_queue(
            name,
            spec.cohort_name,
            record_builders.quotas_of(spec.resource_groups),
            record_builders.weight_of(spec.fair_sharing),
        )
        queue = self._store.queues.get(name)
        if queue is None:
            queue = self._store.queues[name] = ClusterQueueInfo(name, node)
            self._store.pending[name] = PendingQueue(queue)
            self._quota.adopt_orphans(name, now)
        queue.policies = record_builders.policies_of(spec)
        queue.set_groups(record_builders.groups_of(spec.resource_groups))
        queue.namespaces = compile_selector(spec.namespace_selector)
        policy = spec.concurrent_admission_policy
        constraints = policy.migration.constraints if policy else None
        queue.last_acceptable_flavor = (constraints.last_acceptable_flavor_name or "") if constraints else ""
        scope = spec.admission_scope
        by_usage = scope is not None and scope.admission_mode == "UsageBasedAdmissionFairSharing"
        queue.orders_by_usage = by_usage and self._store.history is not None
        self._store.pending[name].order_by(self._store.history.usage_of if self._store.history and by_usage else None)
        self._refresh_activity(queue)
        self._unblocking.unblock_tree(node)
        if before is None:
            self._fill_from_local_queues(name, now)

    def _fill_from_local_queues(self, name: str, now: datetime) -> None:
        """Add workloads whose LocalQueues reference a new ClusterQueue (SCH-202)."""
        for local_queue in self._store.local_queues.values():
            if local_queue.cluster_queue == name:
                self._pending.enqueue_all(local_queue, now)

    def remove_cluster_queue(self, name: str) -> None:
        """Remove a ClusterQueue; its holders are kept for another one of the same name (SCH-420)."""
        queue = self._store.queues.pop(name, None)
        if queue is None:
            return
        self._unblocking.unblock_tree(queue.node)
        pending = self._store.pending.pop(name)
        for workload in pending.first(sum(pending.counts)):
            workload.queue = None
        for workload in list(queue.holders.values()):
            self._quota.release(workload)
            self._store.orphans[workload.key] = workload
        del self._store.cluster_queue_objects[name]
        self._store.hierarchy.remove_queue(name)

    def put_cohort(self, thing: v1beta2.Cohort) -> None:
        """Apply a new or changed Cohort."""
        name, spec = thing.metadata.name, thing.spec
        if self._store.cohort_specs.get(name) == spec:
            return
        self._store.cohort_specs[name] = spec
        if name in self._store.hierarchy.cohorts:
            self._unblocking.unblock_tree(self._store.hierarchy.cohorts[name])
        node = self._store.hierarchy.set_cohort(
            name,
            spec.parent_name,
            record_builders.quotas_of(spec.resource_groups),
            record_builders.weight_of(spec.fair_sharing),
        )
        self._unblocking.unblock_tree(node)
        self._untangle()

    def remove_cohort(self, name: str) -> None:
        """Unblock both the tree that it leaves and the one below it (SCH-401, SCH-261)."""
        node = self._store.hierarchy.cohorts.get(name)
        self._store.cohort_specs.pop(name, None)
        if node is not None:
            self._unblocking.unblock_tree(node)
            self._store.hierarchy.remove_cohort(name)
            self._unblocking.unblock_tree(node)
            self._untangle()

    def _untangle(self) -> None:
        """Refresh the activity of queues if cohorts may have begun or ceased to form a cycle (SCH-402)."""
        for queue in self._store.queues.values():
            self._refresh_activity(queue)

    def put_flavor(self, thing: v1beta2.ResourceFlavor) -> None:
        """Apply a flavor; a change of its taints or labels unblocks its queues (SCH-261)."""
        flavor = record_builders.flavor_of(thing, self._store.settings.gates)
        before = self._store.flavors.get(flavor.name)
        self._store.flavor_objects[flavor.name] = thing
        if before == flavor:
            return
        self._store.flavors[flavor.name] = flavor
        for queue in self.refresh_queues(flavor=flavor.name):
            if before is not None:
                self._unblocking.unblock_tree(queue.node)

    def refresh_queues(self, flavor: str = "", check: str = "") -> list[ClusterQueueInfo]:
        """Refresh the activity of queues that reference a changed flavor or check (SCH-1051)."""
        concerned = [
            self._store.queues[name]
            for name, thing in self._store.cluster_queue_objects.items()
            if _names(thing, flavor, check)
        ]
        for queue in concerned:
            was_active = queue.is_active
            self._refresh_activity(queue)
            if queue.is_active and not was_active:
                self._unblocking.unblock_tree(queue.node)
        return concerned

    def refresh_topology(self, name: str) -> None:
        """Refresh the activity of queues whose flavors reference a changed Topology (SCH-1051)."""
        for flavor in [each.name for each in self._store.flavors.values() if each.topology == name]:
            self.refresh_queues(flavor=flavor)

    def _refresh_activity(self, queue: ClusterQueueInfo) -> None:
        """SCH-1051, SCH-1054, SCH-402; an inactive queue has no victims for a preemptor (SCH-1052)."""
        thing = self._store.cluster_queue_objects[queue.name]
        was_active = queue.is_active
        queue.is_active = (
            thing.metadata.deletion_timestamp is None
            and not queue.node.is_cyclic
            and not inactivity_causes(thing, self._store.references)
        )
        if queue.is_active != was_active:
            self._store.dirty.add(queue.name)

    def put_local_queue(self, thing: v1beta2.LocalQueue, now: datetime) -> None:
        """Apply a new or changed LocalQueue."""
        key = ObjectKey(thing.metadata.namespace, thing.metadata.name)
        local_queue = self._pending.local_queue(key)
        self._history.open_record(key, thing, now)
        way = (thing.spec.cluster_queue or "", thing.spec.stop_policy != "None")
        if way == (local_queue.cluster_queue, local_queue.is_stopped):
            return
        for workload in local_queue.workloads.values():
            self._pending.dequeue(workload)
        local_queue.cluster_queue, local_queue.is_stopped = way
        self._pending.enqueue_all(local_queue, now)

    def remove_local_queue(self, key: ObjectKey) -> None:
        """Remove a LocalQueue; its workloads are kept."""
        local_queue = self._store.local_queues.get(key, LocalQueueInfo(key))
        for workload in local_queue.workloads.values():
            self._pending.dequeue(workload)
        local_queue.cluster_queue = ""
        if self._store.history is not None:
            self._store.history.forget(key)


def _admits(queue: ClusterQueueInfo, labels: Mapping[str, str] | None) -> bool:
    """Whether a queue selects a namespace with these labels; None if the namespace does not exist."""
    return labels is not None and queue.namespaces is not None and queue.namespaces.matches(labels)


def _decide_alike(before: v1beta2.ClusterQueue, after: v1beta2.ClusterQueue) -> bool:
    """Whether nothing changed that decisions depend on, as after a write of the status (SCH-261)."""
    return (before.spec, before.metadata.deletion_timestamp) == (after.spec, after.metadata.deletion_timestamp)


def _names(thing: v1beta2.ClusterQueue, flavor: str, check: str) -> bool:
    uses_flavor = any(each.name == flavor for group in thing.spec.resource_groups for each in group.flavors)
    return uses_flavor or check in _check_names(thing)


def _check_names(thing: v1beta2.ClusterQueue) -> list[str]:
    strategy = thing.spec.admission_checks_strategy
    return [check.name for check in strategy.admission_checks] if strategy else []
