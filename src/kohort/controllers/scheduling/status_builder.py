"""Builds the status for each scheduling decision, with the functions of `engine.lifecycle`.

The admission, its checks and, if none is pending, Admitted are one write.
"""

from typing import cast

from kohort.api.conditions import truncate_message
from kohort.api.gates import Gate
from kohort.api.kueue.keys import JOB_UID_LABEL
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.validation.workload import priority_boost
from kohort.controllers.context import ControllerContext
from kohort.controllers.scheduling.pending_writes import EndSlice, ToWrite
from kohort.engine.decisions import Evict, EvictForFailedNodes, KeepPending, Migrate, RequeueReason, Reserve
from kohort.engine.lifecycle.admission import NotAdmitted, Reservation, admit, refuse, reserve
from kohort.engine.lifecycle.checks import required_checks, sync_checks
from kohort.engine.lifecycle.conditions import QUOTA_RESERVED, condition
from kohort.engine.lifecycle.events import WorkloadChange
from kohort.engine.lifecycle.eviction import evict, for_better_flavor, without_replacement
from kohort.engine.lifecycle.preemption import PreemptionParty, PreemptionReason, PreemptionRecord, preempt
from kohort.engine.lifecycle.preemption_gates import block_on_gates
from kohort.engine.lifecycle.reconcile_context import cluster_queue_facts
from kohort.engine.lifecycle.slices import end_replaced, take_over
from kohort.engine.requests import resource_requests


class StatusBuilder:
    """Builds the status that results from a decision."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._gates = context.settings.gates

    def change(self, decision: ToWrite, workload: Workload) -> WorkloadChange:
        """The Workload to be written, and the events to record afterwards."""
        now = self._context.now()
        match decision:
            case Reserve():
                return self._reserve(decision, workload)
            case Evict():
                return preempt(workload, self.preemption(decision, workload), now)
            case Migrate():
                successor = self._context.workload_cache.get(decision.successor)
                return evict(workload, for_better_flavor(successor.metadata.uid if successor else ""), now)
            case EvictForFailedNodes():
                return evict(workload, without_replacement(decision.nodes), now)
            case KeepPending():
                return self._refuse(decision, workload)
            case EndSlice():
                successor = self._context.workload_cache.get(decision.successor)
                return end_replaced(workload, successor, now) if successor else WorkloadChange(workload)

    def is_recorded(self, decision: KeepPending, workload: Workload) -> bool:
        """Whether the Workload's condition already has this reason; compares the message first, which is cheap."""
        written = condition(workload, QUOTA_RESERVED)
        if written is None or written.message != truncate_message(decision.message):
            return False
        return self._refuse(decision, workload).workload is workload

    def preemption(self, decision: Evict, victim: Workload) -> PreemptionRecord:
        """Preemptor and victim of a preemption."""
        preemptor = self._context.workload_cache.get(decision.preemptor)
        return PreemptionRecord(
            cast("PreemptionReason", decision.reason),
            self._party(preemptor, decision.preemptor_path)
            if preemptor
            else PreemptionParty(path=decision.preemptor_path),
            self._party(victim, decision.victim_path),
        )

    def _party(self, workload: Workload, path: str) -> PreemptionParty:
        boost = priority_boost(workload.metadata.annotations) if self._gates.enabled(Gate.PriorityBoost) else None
        job_uid = workload.metadata.labels.get(JOB_UID_LABEL, "")
        return PreemptionParty(workload.metadata.uid, job_uid, path, workload.spec.priority or 0, boost or 0)

    def _reserve(self, decision: Reserve, workload: Workload) -> WorkloadChange:
        now, admission = self._context.now(), decision.admission
        queue = self._context.cluster_queues.cache.get(("", admission.cluster_queue))
        facts = cluster_queue_facts(queue) if queue else None
        required = required_checks(facts.checks, facts.flavors, admission) if facts else frozenset[str]()
        change = reserve(workload, Reservation(admission, required, decision.considered), self._gates, now)
        replaced = self._context.workload_cache.get(decision.replaces) if decision.replaces else None
        reserved = take_over(change.workload, replaced) if replaced else change.workload
        if facts is None:
            return WorkloadChange(reserved, change.events)
        admitted = admit(sync_checks(reserved, required, now), self._gates, now)
        return WorkloadChange(admitted.workload, (*change.events, *admitted.events))

    def _refuse(self, decision: KeepPending, workload: Workload) -> WorkloadChange:
        record = self._context.engine.read.workloads.get(decision.workload)
        requests = resource_requests(record.pod_sets) if record else ()
        rejection = NotAdmitted(decision.reason, decision.message, requests)
        change = refuse(workload, rejection, self._gates, self._context.now())
        if decision.requeue is not RequeueReason.PREEMPTION_GATED:
            return change
        return WorkloadChange(block_on_gates(change.workload, self._context.now()), change.events)
