"""All steps of a Workload's life in the order of the specification (API-120 to API-133), until none is left to do.

Level-triggered: the outcome depends on what is, not on what happened. Every prefix of the writes is a state from which
the next call finds its way, so a crash between any two of them loses nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.intake import is_parent
from kohort.engine.lifecycle.admission import admit
from kohort.engine.lifecycle.checks import act_on_checks, postpone_by_checks, required_checks, sync_checks
from kohort.engine.lifecycle.deactivation import deactivate, evict_inactive, execution_deadline, limit_execution
from kohort.engine.lifecycle.events import Change, Event, normal
from kohort.engine.lifecycle.facts import Facts
from kohort.engine.lifecycle.finishing import expiry, finish_orphan, is_orphan, without_finalizer
from kohort.engine.lifecycle.pending_reason import explain_waiting
from kohort.engine.lifecycle.pods_ready import readiness_deadline, time_out
from kohort.engine.lifecycle.preemption_gates import mirror_gates
from kohort.engine.lifecycle.requeueing import end_backoff, keep_out, let_return, return_moment
from kohort.engine.lifecycle.states import is_finished
from kohort.engine.lifecycle.stopping import obey_stop_policies
from kohort.engine.lifecycle.writes import Journal, Part, Write

MAX_PASSES = 8
"""Three suffice for the longest way there is; the rest is a bound."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What reconciling came to: writes in the order in which they must be made, and when to look again."""

    workload: Workload
    """The Workload after all writes; the same object where there are none."""
    writes: tuple[Write, ...] = ()
    wake_at: datetime | None = None
    """When something falls due that nothing else will announce."""

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of all writes."""
        return tuple(event for write in self.writes for event in write.events)

    @property
    def delete(self) -> bool:
        """Whether the Workload is to be deleted."""
        return any(write.part is Part.DELETION for write in self.writes)


Step = Callable[[Workload, Facts, datetime], Change]


def _follow_checks(workload: Workload, facts: Facts, now: datetime) -> Change:
    """API-129; the checks of a queue that is not there can't be known, and stay. Variants are checked, not parents."""
    queue = facts.cluster_queue
    if queue is None or is_parent(workload):
        return Change(workload)
    required = required_checks(queue.checks, queue.flavors, workload.status.admission)
    return Change(sync_checks(workload, required, now))


STEPS: tuple[Step, ...] = (
    lambda workload, _, now: Change(postpone_by_checks(workload, now)),  # API-123
    lambda workload, facts, now: Change(keep_out(workload, facts, now)),  # API-124
    lambda workload, _, _now: Change(deactivate(workload)),  # API-125
    lambda workload, _, now: Change(end_backoff(workload, now)),
    lambda workload, _, now: evict_inactive(workload, now),  # API-126
    lambda workload, facts, now: Change(let_return(workload, facts, now)),  # API-125, API-127
    _follow_checks,  # API-129
    explain_waiting,  # API-128, API-130
    lambda workload, facts, now: admit(workload, facts.gates, now),
    lambda workload, _, now: act_on_checks(workload, now),  # API-131
    obey_stop_policies,
    lambda workload, facts, now: time_out(workload, facts.policies.readiness, facts.jitter, now),  # API-132
    lambda workload, _, now: limit_execution(workload, now),  # API-133
)
"""What is done for a Workload that has not finished, in order."""


def reconcile(workload: Workload, facts: Facts, now: datetime) -> Outcome:
    """Bring a Workload in line with the facts; doing it again with the same facts changes nothing."""
    journal = Journal(workload)
    journal.take(Change(finish_orphan(workload, facts.gates, now)))
    if is_orphan(workload, facts.gates):
        journal.take(Change(without_finalizer(journal.workload)))
        if journal.workload.metadata.deletion_timestamp is not None:
            return Outcome(journal.workload, tuple(journal.writes))
    journal.take(Change(mirror_gates(journal.workload, facts.gates, now)))
    if is_finished(journal.workload):
        return _keep_or_delete(journal, facts, now)
    _settle(journal, facts, now)
    return Outcome(journal.workload, tuple(journal.writes), _wake_at(journal.workload, facts, now))


def _settle(journal: Journal, facts: Facts, now: datetime) -> None:
    for _ in range(MAX_PASSES):
        before = journal.workload
        for step in STEPS:
            journal.take(step(journal.workload, facts, now))
        if journal.workload is before:
            return


def _wake_at(workload: Workload, facts: Facts, now: datetime) -> datetime | None:
    readiness = readiness_deadline(workload, facts.policies.readiness)
    moments = (return_moment(workload), readiness and readiness.moment, execution_deadline(workload))
    return min((moment for moment in moments if moment is not None and moment > now), default=None)


def _keep_or_delete(journal: Journal, facts: Facts, now: datetime) -> Outcome:
    """API-122."""
    moment = expiry(journal.workload, facts.policies.keep_finished)
    if moment is None or now < moment:
        return Outcome(journal.workload, tuple(journal.writes), moment)
    journal.take(Change(without_finalizer(journal.workload)))
    if journal.workload.metadata.deletion_timestamp is not None:
        return Outcome(journal.workload, tuple(journal.writes))
    event = normal("Deleted", "Deleted finished workload due to elapsed retention")
    deletion = Write(Part.DELETION, journal.workload, (event,))
    return Outcome(journal.workload, (*journal.writes, deletion))
