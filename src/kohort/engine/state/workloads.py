"""Tracks Workload objects.

Most events are caused by our own writes to the status: what depends on the rest of an object is read again only if
that changed.
"""

from datetime import datetime

from kohort.api.kueue import v1beta2
from kohort.api.kueue.keys import JOB_UID_LABEL
from kohort.api.meta import ObjectKey
from kohort.engine import record_builders
from kohort.engine.record_builders import WorkloadConditions
from kohort.engine.records import PodSetDevices, WorkloadInfo
from kohort.engine.state.pending_tracking import PendingTracker
from kohort.engine.state.place_accounting import PlaceTracker
from kohort.engine.state.quota_accounting import QuotaTracker
from kohort.engine.state.store import EngineStore
from kohort.engine.state.unblocking import Unblocking
from kohort.engine.state.usage_accounting import UsageHistoryTracker


class WorkloadTracker:
    """Applies events of Workloads."""

    def __init__(
        self,
        store: EngineStore,
        unblocking: Unblocking,
        history: UsageHistoryTracker,
        pending: PendingTracker,
        quota: QuotaTracker,
        places: PlaceTracker,
    ) -> None:
        self._store = store
        self._unblocking = unblocking
        self._history = history
        self._pending = pending
        self._quota = quota
        self._places = places

    def put(self, thing: v1beta2.Workload, now: datetime) -> None:
        """Apply a new or changed Workload."""
        workload, conditions = self._record_of(thing), record_builders.conditions_of(thing)
        key = workload.key
        holds = record_builders.holds_quota(thing, conditions)
        if key in self._store.assumed:
            if not (holds or record_builders.is_over(thing, conditions)):
                self._store.assumed[key] = thing
                return
            self._confirm(workload)
        self._store.orphans.pop(key, None)
        if holds:
            self._put_holder(workload, thing, conditions, now)
        else:
            self._put_other(workload, thing, conditions, now)

    def _record_of(self, thing: v1beta2.Workload) -> WorkloadInfo:
        """The record of the object; a new one if the UID differs."""
        metadata = thing.metadata
        key = ObjectKey(metadata.namespace, metadata.name)
        workload = self._store.workloads.get(key)
        if workload is not None and workload.uid != metadata.uid:
            self.remove(key)
            workload = None
        if workload is None:
            workload = self._store.workloads[key] = WorkloadInfo(key, metadata.uid)
            workload.creation_order = (metadata.labels.get(JOB_UID_LABEL) or metadata.uid, metadata.uid)
        return workload

    def _put_holder(
        self, workload: WorkloadInfo, thing: v1beta2.Workload, conditions: WorkloadConditions, now: datetime
    ) -> None:
        """Apply an object with a reservation."""
        before, was_admitted = workload.object, workload.is_admitted
        self._read(workload, thing, conditions)
        if workload.key in self._store.replaced_slices:
            return
        self._quota.hold(workload, thing, conditions, now)
        if workload.is_admitted and not was_admitted:
            self._history.settle_penalty(workload, now)
        elif before is not None and workload.is_admitted:
            self._note_reclaims(workload, before, thing)

    def _put_other(
        self, workload: WorkloadInfo, thing: v1beta2.Workload, conditions: WorkloadConditions, now: datetime
    ) -> None:
        """Apply an object without a reservation: pending, or finished."""
        is_new = workload.object is None
        matters = self._read(workload, thing, conditions)
        ends = record_builders.is_over(thing, conditions)
        self._store.replaced_slices.pop(workload.key, None)
        if ends:
            self._history.drop_penalty(workload)
        if workload.has_quota:
            self._pending.unblock_home(workload)
            self._quota.release(workload)
        elif ends and not is_new:
            self._pending.unblock_home(workload)
        self._store.evicting.discard(workload.uid)
        if ends or not record_builders.is_admissible(thing, conditions, self._store.settings.gates):
            self._pending.dequeue(workload)
        elif matters or workload.queue is None:
            self._pending.push(workload, now)
        else:
            self._store.pending[workload.queue.name].update(workload, now, changed=False)
            self._pending.note_backoff(workload, workload.queue)

    def _note_reclaims(self, workload: WorkloadInfo, before: v1beta2.Workload, thing: v1beta2.Workload) -> None:
        """Unblock others when pods finish, whether or not that releases quota (SCH-261, SCH-1060)."""
        if before.status.reclaimable_pods != thing.status.reclaimable_pods and workload.queue is not None:
            self._unblocking.unblock_tree(workload.queue.node)
            self._pending.unblock_home(workload)

    def _confirm(self, workload: WorkloadInfo) -> None:
        """Confirm or drop an assumed admission."""
        del self._store.assumed[workload.key]
        self._store.variants.expect(workload, admitted=False)
        if workload.queue is not None:
            # From now on it can't return to its queue as the preemptor (SCH-240).
            self._store.pending[workload.queue.name].remove(workload)

    def _read(self, workload: WorkloadInfo, thing: v1beta2.Workload, conditions: WorkloadConditions) -> bool:
        """Update the record from the object; whether a change reactivates an inadmissible workload (SCH-221)."""
        before = workload.object
        self._note_readiness(workload, conditions)
        if before is None or record_builders.is_rewritten(before, thing):
            self._note_writing(workload, thing)
            self.describe(workload, thing, conditions)
            matters = before is None or record_builders.reactivates_inadmissible(before, thing, conditions)
        else:
            matters = record_builders.status_matters(before, thing, conditions)
            self._describe_status(workload, thing, conditions)
            if not self._counted_alike(workload, before, thing):
                self._count_demand(workload, thing)
        if workload.evicted:
            self._store.evicting.discard(workload.uid)
        return matters

    def _note_writing(self, workload: WorkloadInfo, thing: v1beta2.Workload) -> None:
        """Update indexes by everything but the status, such as the priority of a holder (SCH-1064)."""
        if workload.object is None or workload.local_queue.name != (thing.spec.queue_name or ""):
            self._pending.join_local_queue(workload, ObjectKey(workload.key.namespace, thing.spec.queue_name or ""))
        priority = record_builders.effective_priority(thing, self._store.settings.gates)
        if priority != workload.priority and workload.has_quota and workload.queue is not None:
            workload.queue.recount(workload, priority)
            self._unblocking.unblock_tree(workload.queue.node)
            self._pending.unblock_home(workload)
        self._store.variants.note(workload, record_builders.parent_of(thing, self._store.settings.gates))

    def describe(self, workload: WorkloadInfo, thing: v1beta2.Workload, conditions: WorkloadConditions) -> None:
        """Set the fields of a record from an object, submitted or not; nothing else of the engine changes."""
        gates = self._store.settings.gates
        workload.generation = thing.metadata.generation
        workload.priority = record_builders.effective_priority(thing, gates)
        workload.created = thing.metadata.creation_timestamp
        workload.allowed_flavors = record_builders.allowed_flavors(thing, gates)
        self._describe_status(workload, thing, conditions)
        self._count_demand(workload, thing)

    def _describe_status(self, workload: WorkloadInfo, thing: v1beta2.Workload, conditions: WorkloadConditions) -> None:
        workload.object = thing
        workload.queued_at = record_builders.queue_timestamp(thing, conditions, self._store.settings)
        workload.backoff_until = record_builders.backoff_until(thing, conditions)
        workload.is_admitted = "Admitted" in conditions.true
        workload.has_closed_gate = record_builders.has_closed_gate(thing)
        workload.evicted = "Evicted" in conditions.true

    def _counted_alike(self, workload: WorkloadInfo, before: v1beta2.Workload, thing: v1beta2.Workload) -> bool:
        """Whether nothing on which a workload's requests depend differs (SCH-133)."""
        return (
            before.status.reclaimable_pods == thing.status.reclaimable_pods
            and workload.replaces is self._replaced_by(thing)
            and workload.environment is self._store.environments.of(workload.key.namespace)
        )

    def _replaced_by(self, thing: v1beta2.Workload) -> WorkloadInfo | None:
        if not thing.metadata.annotations:
            return None
        replaced = record_builders.replaced_slice(thing, self._store.settings.gates)
        return self._store.workloads.get(replaced) if replaced else None

    def _count_demand(self, workload: WorkloadInfo, thing: v1beta2.Workload) -> None:
        """Set requests and equivalence: the expensive part of reading, done only if they may differ."""
        environment = workload.environment = self._store.environments.of(workload.key.namespace)
        workload.replaces = self._replaced_by(thing)
        asked = self._store.request_cache.read(workload, thing, environment)
        workload.pod_sets, workload.problem, workload.equivalence = asked.pod_sets, asked.problem, asked.equivalence
        workload.requests_topology = asked.requests_topology

    def count_devices(self, key: ObjectKey, devices: tuple[PodSetDevices, ...], now: datetime) -> None:
        """Apply the counted device claims of a workload; a pending one requests them (SCH-132, SCH-221)."""
        workload = self._store.workloads.get(key)
        if workload is None or workload.object is None or workload.devices == devices:
            return
        workload.devices = devices
        self._count_demand(workload, workload.object)
        self._pending.enqueue(workload, now)

    def reread(self, namespace: str, now: datetime) -> None:
        """Add pending workloads again whose requests may have changed, in a namespace or everywhere (SCH-123)."""
        for workload in list(self._store.workloads.values()):
            if workload.object is not None and not workload.has_quota and namespace in ("", workload.key.namespace):
                self._read(workload, workload.object, record_builders.conditions_of(workload.object))
                self._pending.enqueue(workload, now)

    def _note_readiness(self, workload: WorkloadInfo, conditions: WorkloadConditions) -> None:
        """Mark all queues dirty when pods become ready for which admissions wait (SCH-1035)."""
        ready = "PodsReady" in conditions.true
        if ready and not workload.pods_ready and self._store.settings.waits_for_pods:
            self._store.dirty.update(self._store.queues)
        workload.pods_ready = ready

    def remove(self, key: ObjectKey) -> None:
        """Remove a deleted workload."""
        workload = self._store.workloads.pop(key, None)
        if workload is None:
            return
        self._store.assumed.pop(key, None)
        self._store.orphans.pop(key, None)
        self._store.replaced_slices.pop(key, None)
        self._store.evicting.discard(workload.uid)
        self._store.variants.forget(workload)
        self._history.drop_penalty(workload)
        self._pending.unblock_home(workload)
        self._quota.release(workload)
        self._pending.dequeue(workload)
        local_queue = self._store.local_queues.get(workload.local_queue)
        if local_queue is not None:
            local_queue.workloads.pop(key, None)

    def revoke_reservation(self, key: ObjectKey, now: datetime) -> None:
        """Continue with the latest object after a failed write, which it may have caused (SCH-352, SCH-235)."""
        workload = self._store.workloads.get(key)
        if workload is None:
            return
        if key not in self._store.assumed:
            self._miss_places(workload, now)
            return
        latest = self._store.assumed.pop(key) or workload.object
        self._history.drop_penalty(workload)
        self._quota.release(workload)
        if latest is not None:
            self.put(latest, now)

    def _miss_places(self, workload: WorkloadInfo, now: datetime) -> None:
        """Schedule another second pass after a failed write of one, which took no quota (SCH-271)."""
        if workload.object is not None and workload.has_quota:
            self._places.revoke(workload)
            self._quota.note_second_pass(workload, record_builders.conditions_of(workload.object), now)

    def forget_eviction(self, key: ObjectKey, now: datetime) -> None:
        """Let preemptors issue the eviction again (SCH-654)."""
        workload = self._store.workloads.get(key)
        if workload is not None:
            self._store.evicting.discard(workload.uid)
            self._store.dirty.update([workload.queue.name] if workload.queue else [])
            if workload.second_pass is not None:
                self._store.second_passes.want(key, now)
