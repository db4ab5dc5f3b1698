"""The engine as seen by cycles: reservations, evictions, and searches for victims."""

from datetime import datetime

from kohort.api.kueue.v1beta2.workload import Admission
from kohort.engine.assignment import Assignment
from kohort.engine.fair_preemption import find_fair_targets
from kohort.engine.hierarchy import HierarchyNode
from kohort.engine.lifecycle.checks import required_checks
from kohort.engine.lifecycle.reconcile_context import cluster_queue_facts
from kohort.engine.placement.placer import TopologyPlacer
from kohort.engine.preemption import find_targets
from kohort.engine.preemption_policy import PreemptionPolicy, PreemptionTarget
from kohort.engine.records import NO_PLACES, ClusterQueueInfo, WorkloadInfo
from kohort.engine.requests.usage import PodSetUsage
from kohort.engine.state.place_accounting import PlaceTracker
from kohort.engine.state.quota_accounting import QuotaTracker
from kohort.engine.state.store import EngineStore
from kohort.engine.usage_request import UsageRequest


class EngineCycleContext:
    """Implements `CycleContext` and `PreemptionContext` on the store."""

    def __init__(self, store: EngineStore, quota: QuotaTracker, places: PlaceTracker) -> None:
        self.store = store
        self._quota = quota
        self._places = places
        self.flavors = store.flavors
        self.eligibility = store.eligibility
        self.rules = store.settings.cycle
        self.variants = store.variants
        self.placer = TopologyPlacer(store)

    # Reading

    @property
    def preemption_policy(self) -> PreemptionPolicy:
        """Candidates, order and limits of preemption."""
        return self.store.preemption_policy

    def pod_set_usage(self, workload: WorkloadInfo) -> tuple[PodSetUsage, ...]:
        """The usage of each pod set of a workload."""
        return self._quota.pod_set_usage(workload)

    def waits_for_pods(self) -> bool:
        """Whether the pods of some workload with quota are not ready, and that blocks all admissions (SCH-1035)."""
        return self.store.settings.waits_for_pods and any(
            not holder.pods_ready for queue in self.store.queues.values() for holder in queue.holders.values()
        )

    def is_leaving(self, workload: WorkloadInfo) -> bool:
        """Whether an eviction of the workload was issued, observed or not (SCH-650)."""
        return workload.evicted or workload.uid in self.store.evicting

    def queue_at(self, node: HierarchyNode) -> ClusterQueueInfo | None:
        """The queue of a leaf, unless it is inactive (SCH-1052)."""
        queue = self.store.queues.get(node.name)
        return queue if queue is not None and queue.is_active else None

    def usage_of(self, workload: WorkloadInfo) -> float | None:
        """Past usage of the workload's LocalQueue, where admission fair sharing applies."""
        history = self.store.history
        if history is None or workload.queue is None or not workload.queue.orders_by_usage:
            return None
        return history.usage_of(workload.local_queue)

    def find_targets(
        self, preemptor: WorkloadInfo, queue: ClusterQueueInfo, request: UsageRequest
    ) -> list[PreemptionTarget]:
        """Search for victims by the configured algorithm."""
        fair = self.store.settings.fair
        if fair is None:
            return find_targets(preemptor, queue, request, self)
        return find_fair_targets(preemptor, queue, request, self, fair)

    # Acting

    def reserve(self, workload: WorkloadInfo, assignment: Assignment, admission: Admission, now: datetime) -> None:
        """Count an admission before it is written (SCH-350); as observing it would, it outdates scans (SCH-554)."""
        store = self.store
        queue = store.queues[admission.cluster_queue]
        replaced = workload.takes_over_from
        store.pending[queue.name].assume(workload)
        store.assumed[workload.key] = None
        if store.history is not None and queue.orders_by_usage:
            store.history.charge(workload.local_queue, workload.key, _total_requests(workload, queue), now)
        # Only a slice's successor holds more than the cycle counted for it.
        workload.usage = assignment.usage if workload.replaces is None else assignment.full_usage
        workload.admission = admission
        workload.placed = assignment.found.counters if assignment.found else NO_PLACES
        workload.reserved_at, workload.progress = now, None
        workload.evicted = False
        workload.pods_ready = False
        if workload.allowed_flavors is not None:
            store.variants.expect(workload, admitted=self._is_admitted_by(workload, admission))
        if replaced is not None:
            self._quota.release(replaced)
            store.replaced_slices[replaced.key] = workload.key
        queue.add_holder(workload)
        queue.node.generation += 1

    def _is_admitted_by(self, workload: WorkloadInfo, admission: Admission) -> bool:
        """Whether a reservation is all that the workload lacks (SCH-902, SCH-906)."""
        facts = cluster_queue_facts(self.store.cluster_queue_objects[admission.cluster_queue])
        checks = workload.object.status.admission_checks if workload.object else ()
        required = required_checks(facts.checks, facts.flavors, admission)
        return required <= {check.name for check in checks} and all(check.state == "Ready" for check in checks)

    def place(self, workload: WorkloadInfo, admission: Admission) -> None:
        """Take over topology assignments before they are written; the quota stays the same (SCH-341, TAS-84)."""
        workload.second_pass = None
        self.store.second_passes.forget(workload.key)
        self._places.decide(workload, admission)

    def try_again(self, workload: WorkloadInfo, now: datetime) -> None:
        """Schedule another second pass for a workload that could not be placed (SCH-272)."""
        self.store.second_passes.retry(workload.key, now)

    def issue(self, target: PreemptionTarget) -> bool:
        """Whether an eviction is new (SCH-650); as observing it would, it outdates scans (SCH-554)."""
        workload = target.workload
        if self.is_leaving(workload):
            return False
        self.store.evicting.add(workload.uid)
        if workload.queue is not None:
            workload.queue.node.generation += 1
        return True


def _total_requests(workload: WorkloadInfo, queue: ClusterQueueInfo) -> dict[str, int]:
    """The requests at full size of resources that the queue covers; `pods` is counted, not requested (SCH-805)."""
    totals: dict[str, int] = {}
    for pod_set in workload.pod_sets:
        for resource, amount in pod_set.total.items():
            if resource in queue.group_of:
                totals[resource] = totals.get(resource, 0) + amount
    return totals
