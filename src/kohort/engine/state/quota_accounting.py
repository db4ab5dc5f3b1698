"""Tracks the quota that workloads hold."""

from datetime import datetime

from kohort.api.kueue import v1beta2
from kohort.api.meta import ObjectKey
from kohort.engine import record_builders
from kohort.engine.quota import FlavorResource
from kohort.engine.record_builders import WorkloadConditions
from kohort.engine.records import WorkloadInfo
from kohort.engine.requests.usage import PodSetUsage, admitted_usage, is_scaled_down
from kohort.engine.second_pass import need_of
from kohort.engine.state.pending_tracking import PendingTracker
from kohort.engine.state.place_accounting import PlaceTracker
from kohort.engine.state.store import EngineStore
from kohort.engine.state.unblocking import Unblocking


class QuotaTracker:
    """Counts the quota that workloads hold, and releases it."""

    def __init__(
        self, store: EngineStore, unblocking: Unblocking, pending: PendingTracker, places: PlaceTracker
    ) -> None:
        self._store = store
        self._places = places
        self._unblocking = unblocking
        self._pending = pending

    def hold(
        self, workload: WorkloadInfo, thing: v1beta2.Workload, conditions: WorkloadConditions, now: datetime
    ) -> None:
        """Count the usage of the object's admission."""
        self._pending.dequeue(workload)
        admission = thing.status.admission
        queue = self._store.queues.get(admission.cluster_queue) if admission else None
        reserved = conditions.by_type.get("QuotaReserved")
        since = reserved.last_transition_time if reserved else now
        # Mostly the object confirms an admission that was counted when it was decided.
        whole = not (thing.status.reclaimable_pods or is_scaled_down(thing))
        is_known = admission == workload.admission
        usage = workload.usage if whole and is_known else self._usage_by(thing)
        places = self._places.observe(workload, admission, is_known=is_known)
        if not (workload.has_quota and workload.queue is queue and workload.usage == usage):
            self.release(workload)
            if queue is None:
                self._store.orphans[workload.key] = workload
                return
            workload.usage, workload.placed = usage, places
            queue.add_holder(workload)
        elif queue is not None:
            queue.node.generation += 1
            self._places.move(workload, queue, places)
        workload.reserved_at, workload.admission = since, admission if whole else None
        self.note_second_pass(workload, conditions, now)

    def note_second_pass(self, workload: WorkloadInfo, conditions: WorkloadConditions, now: datetime) -> None:
        """SCH-270."""
        thing, need = workload.object, None
        may_need = thing is not None and (thing.status.unhealthy_nodes or thing.status.admission_checks)
        if thing is not None and may_need and workload.has_quota and workload.key not in self._store.placed_ahead:
            need = need_of(thing, conditions, self._store.settings.gates, self._store.topology.hostname)
        if need is not None:
            self._store.second_passes.want(workload.key, now)
        elif workload.second_pass is not None:
            self._store.second_passes.forget(workload.key)
        workload.second_pass = need

    def _usage_by(self, thing: v1beta2.Workload) -> dict[FlavorResource, int]:
        """The usage of an object's admission by flavor-resource."""
        usage: dict[FlavorResource, int] = {}
        for pod_set in admitted_usage(thing, self._store.settings.gates):
            for resource, amount in pod_set.amounts.items():
                if resource in pod_set.flavors:
                    fr = FlavorResource(pod_set.flavors[resource], resource)
                    usage[fr] = usage.get(fr, 0) + amount
        return usage

    def pod_set_usage(self, workload: WorkloadInfo) -> tuple[PodSetUsage, ...]:
        """The usage of each pod set by the workload's admission; empty until that is observed."""
        thing = workload.object
        return admitted_usage(thing, self._store.settings.gates) if workload.has_quota and thing is not None else ()

    def release(self, workload: WorkloadInfo) -> None:
        """Release its quota, which its object confirms (SCH-653), and unblock others (SCH-1004)."""
        if not workload.has_quota:
            return
        if workload.queue is not None:
            queue, workload.queue = workload.queue, None
            queue.drop_holder(workload)
            if self._store.settings.waits_for_pods:
                # Workloads of all trees may have waited until its pods are ready (SCH-1035).
                self._store.dirty.update(self._store.queues)
            self._unblocking.unblock_usage(workload, queue)
        workload.usage, workload.reserved_at, workload.admission = {}, None, None
        self._places.forget(workload)
        if workload.second_pass is not None:
            workload.second_pass = None
            self._store.second_passes.forget(workload.key)
        if self._store.replaced_slices:
            self._restore_replaced(workload.key)

    def _restore_replaced(self, successor: ObjectKey) -> None:
        """Restore the quota of a replaced slice whose successor lost it before the slice ended (SCH-1105)."""
        for key in [old for old, new in self._store.replaced_slices.items() if new == successor]:
            del self._store.replaced_slices[key]
            replaced = self._store.workloads[key]
            thing = replaced.object
            if thing is not None and thing.status.admission is not None:
                conditions = record_builders.conditions_of(thing)
                self.hold(replaced, thing, conditions, conditions.by_type["QuotaReserved"].last_transition_time)

    def adopt_orphans(self, name: str, now: datetime) -> None:
        """Count workloads that were observed before their queue (SCH-420)."""
        for workload in list(self._store.orphans.values()):
            thing = workload.object
            if thing is not None and thing.status.admission and thing.status.admission.cluster_queue == name:
                del self._store.orphans[workload.key]
                self.hold(workload, thing, record_builders.conditions_of(thing), now)
