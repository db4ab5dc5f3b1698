"""All steps of a Workload's lifecycle in the order of the specification (API-120 to API-133), repeated until stable.

Level-triggered: the result depends on the state, not on events. The next call continues after any prefix of the
writes, so a crash between two of them loses nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle.admission import admit
from kohort.engine.lifecycle.checks import act_on_checks, postpone_by_checks, required_checks, sync_checks
from kohort.engine.lifecycle.conditions import is_finished
from kohort.engine.lifecycle.deactivation import deactivate, evict_inactive
from kohort.engine.lifecycle.events import WorkloadChange, normal
from kohort.engine.lifecycle.execution_time import execution_deadline, limit_execution
from kohort.engine.lifecycle.finishing import expiry, finish_orphan, is_orphan, without_finalizer
from kohort.engine.lifecycle.pending_reason import update_pending_reason
from kohort.engine.lifecycle.pods_ready import evict_on_timeout, readiness_deadline
from kohort.engine.lifecycle.preemption_gates import mirror_gates
from kohort.engine.lifecycle.reconcile_context import ReconcileContext
from kohort.engine.lifecycle.requeueing import (
    block_uncountable_claims,
    end_backoff,
    requeue_when_allowed,
    return_moment,
)
from kohort.engine.lifecycle.stopping import apply_stop_policies
from kohort.engine.lifecycle.writes import WorkloadWrite, WorkloadWrites, WriteTarget
from kohort.engine.record_builders import is_parent

MAX_PASSES = 8
"""Three passes suffice for the longest sequence; the rest is a bound."""


@dataclass(frozen=True, slots=True)
class ReconcileResult:
    """The result of a reconcile: writes in their order, and the time of the next reconcile."""

    workload: Workload
    """The Workload after all writes; the same object without any."""
    writes: tuple[WorkloadWrite, ...] = ()
    wake_at: datetime | None = None
    """Time of the next reconcile without an event."""


_Step = Callable[[Workload, ReconcileContext, datetime], WorkloadChange]


def _follow_checks(workload: Workload, facts: ReconcileContext, now: datetime) -> WorkloadChange:
    """API-129; without the queue, checks are unchanged. Variants have checks, parents have none."""
    queue = facts.cluster_queue
    if queue is None or is_parent(workload):
        return WorkloadChange(workload)
    required = required_checks(queue.checks, queue.flavors, workload.status.admission)
    return WorkloadChange(sync_checks(workload, required, now))


STEPS: tuple[_Step, ...] = (
    lambda workload, _, now: WorkloadChange(postpone_by_checks(workload, now)),  # API-123
    lambda workload, facts, now: WorkloadChange(block_uncountable_claims(workload, facts, now)),  # API-124
    lambda workload, _, _now: WorkloadChange(deactivate(workload)),  # API-125
    lambda workload, _, now: WorkloadChange(end_backoff(workload, now)),
    lambda workload, _, now: evict_inactive(workload, now),  # API-126
    lambda workload, facts, now: WorkloadChange(requeue_when_allowed(workload, facts, now)),  # API-125, API-127
    _follow_checks,  # API-129
    update_pending_reason,  # API-128, API-130
    lambda workload, facts, now: admit(workload, facts.gates, now),
    lambda workload, _, now: act_on_checks(workload, now),  # API-131
    apply_stop_policies,
    lambda workload, facts, now: evict_on_timeout(workload, facts.policies.readiness, facts.jitter, now),  # API-132
    lambda workload, _, now: limit_execution(workload, now),  # API-133
)
"""The steps for a Workload that is not finished, in order."""


def reconcile(workload: Workload, facts: ReconcileContext, now: datetime) -> ReconcileResult:
    """Reconcile a Workload with its context; idempotent."""
    collected = WorkloadWrites(workload)
    collected.take(WorkloadChange(finish_orphan(workload, facts.gates, now)))
    if is_orphan(workload, facts.gates):
        collected.take(WorkloadChange(without_finalizer(collected.workload)))
        if collected.workload.metadata.deletion_timestamp is not None:
            return ReconcileResult(collected.workload, tuple(collected.writes))
    collected.take(WorkloadChange(mirror_gates(collected.workload, facts.gates, now)))
    if is_finished(collected.workload):
        return _keep_or_delete(collected, facts, now)
    _settle(collected, facts, now)
    return ReconcileResult(collected.workload, tuple(collected.writes), _wake_at(collected.workload, facts, now))


def _settle(collected: WorkloadWrites, facts: ReconcileContext, now: datetime) -> None:
    for _ in range(MAX_PASSES):
        before = collected.workload
        for step in STEPS:
            collected.take(step(collected.workload, facts, now))
        if collected.workload is before:
            return


def _wake_at(workload: Workload, facts: ReconcileContext, now: datetime) -> datetime | None:
    readiness = readiness_deadline(workload, facts.policies.readiness)
    moments = (return_moment(workload), readiness and readiness.moment, execution_deadline(workload))
    return min((moment for moment in moments if moment is not None and moment > now), default=None)


def _keep_or_delete(collected: WorkloadWrites, facts: ReconcileContext, now: datetime) -> ReconcileResult:
    """API-122."""
    moment = expiry(collected.workload, facts.policies.keep_finished)
    if moment is None or now < moment:
        return ReconcileResult(collected.workload, tuple(collected.writes), moment)
    collected.take(WorkloadChange(without_finalizer(collected.workload)))
    if collected.workload.metadata.deletion_timestamp is not None:
        return ReconcileResult(collected.workload, tuple(collected.writes))
    event = normal("Deleted", "Deleted finished workload due to elapsed retention")
    deletion = WorkloadWrite(WriteTarget.DELETION, collected.workload, (event,))
    return ReconcileResult(collected.workload, (*collected.writes, deletion))
