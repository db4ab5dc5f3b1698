"""The verdict on an entry of a cycle (SCH-330 to SCH-339), pure: cycles act on it, explain reads it."""

from enum import Enum
from typing import Protocol

import msgspec

from kohort.engine.assignment import FitMode
from kohort.engine.cycle.model import CycleEntry, CycleRules
from kohort.engine.decisions import RequeueReason
from kohort.engine.preemption_policy import PreemptionTarget
from kohort.engine.records import WorkloadInfo
from kohort.engine.variants import BETTER_IS_ADMITTED, WORSE_THAN_ACCEPTABLE, held_rank, rank

PENDING_EVALUATION = "PendingEvaluation"
WAITING_FOR_QUOTA = "WaitingForQuota"
WAITING_FOR_PREEMPTED = "WaitingForPreemptedWorkloads"
NO_LONGER_FITS = "Workload no longer fits after processing another workload"
OVERLAPPING = "Workload has overlapping preemption targets with another workload"
GATED = "Workload requires preemption, but it's gated"
WAITING_FOR_PODS = "waiting for all admitted workloads to be in PodsReady condition"
WILL_FIT = f"{OVERLAPPING}, but will fit after these preemptions complete"


class EntryAction(Enum):
    """What a cycle does with an entry."""

    ADMIT = "admit"
    PREEMPT = "preempt"
    """Evict its targets; it stays pending meanwhile."""
    MIGRATE = "migrate"
    """Evict the admitted variant that it replaces; it stays pending meanwhile."""
    WAIT = "wait"


class Hold(Enum):
    """What is reserved for an entry that stays pending, until its cycle ends."""

    NOTHING = "nothing"
    USAGE = "usage"
    """All that it requests."""
    RESERVABLE = "reservable"
    """What a blocked workload may reserve (SCH-340)."""


class EntryVerdict(msgspec.Struct, frozen=True):
    """The verdict on an entry; reason, message and requeue are those of an entry that stays pending."""

    action: EntryAction
    reason: str = ""
    message: str = ""
    requeue: RequeueReason = RequeueReason.FAILED_AFTER_NOMINATION
    hold: Hold = Hold.NOTHING
    keeps_progress: bool = False
    """Whether the flavor scan resumes where it stopped (SCH-550, SCH-555)."""
    sibling: WorkloadInfo | None = None
    """The variant to migrate from."""


ADMIT = EntryVerdict(EntryAction.ADMIT)
WAIT_FOR_PODS = EntryVerdict(EntryAction.WAIT, "WaitingForPodsReady", WAITING_FOR_PODS, keeps_progress=True)
BLOCKED_BY_GATE = EntryVerdict(EntryAction.WAIT, "AdmissionGated", GATED, RequeueReason.PREEMPTION_GATED)
FITS_AFTER_PREEMPTIONS = EntryVerdict(
    EntryAction.WAIT, WAITING_FOR_PREEMPTED, WILL_FIT, RequeueReason.PENDING_PREEMPTION, Hold.USAGE
)
BETTER_SIBLING = EntryVerdict(EntryAction.WAIT, PENDING_EVALUATION, BETTER_IS_ADMITTED, keeps_progress=True)
BELOW_ACCEPTABLE = EntryVerdict(EntryAction.WAIT, WAITING_FOR_QUOTA, WORSE_THAN_ACCEPTABLE, RequeueReason.GENERIC)


class EntryView(Protocol):
    """What a verdict depends on besides the entry."""

    @property
    def rules(self) -> CycleRules:
        """The configuration of the cycle."""

    def overlaps(self, targets: list[PreemptionTarget], /) -> bool:
        """Whether another entry of the cycle preempts one of these."""

    def fits(self, entry: CycleEntry, /) -> bool:
        """Whether the entry fits without all victims of the cycle and its own."""

    def waits_for_pods(self) -> bool:
        """Whether admissions wait until the pods of admitted workloads are ready (SCH-1035)."""


def is_better(sibling: WorkloadInfo, entry: CycleEntry) -> bool:
    """Whether an admitted variant of the same parent holds quota in a better flavor (SCH-330)."""
    return held_rank(entry.queue, sibling) < _rank(entry)


def judge(entry: CycleEntry, sibling: WorkloadInfo | None, view: EntryView) -> EntryVerdict:
    """The first rule that applies (SCH-331 to SCH-339); `sibling` is an admitted variant of the same parent."""
    assignment = entry.assignment
    mode, message = assignment.mode, ""
    if mode is not FitMode.FIT:
        message = assignment.message
        if mode is FitMode.NO_FIT:
            return EntryVerdict(
                EntryAction.WAIT, assignment.severity.name, message, RequeueReason.NO_FIT, keeps_progress=True
            )
        if mode.needs_preemption and (blocked := _blocked(entry, view, message)) is not None:
            return blocked
        if mode is FitMode.DEFERRED_FIT:
            return FITS_AFTER_PREEMPTIONS
    if view.overlaps(assignment.targets):
        return _skip(OVERLAPPING, view)
    if not view.fits(entry):
        return _skip(NO_LONGER_FITS, view)
    if mode is FitMode.FIT:
        return _judge_fit(entry, sibling, view)
    message = f"{message}. Pending the preemption of {len(assignment.targets)} workload(s)"
    return EntryVerdict(
        EntryAction.PREEMPT, WAITING_FOR_PREEMPTED, message, RequeueReason.PENDING_PREEMPTION, Hold.USAGE
    )


def _blocked(entry: CycleEntry, view: EntryView, message: str) -> EntryVerdict | None:
    """Why an entry that needs preemption can't preempt (SCH-334, SCH-335)."""
    if not entry.assignment.targets:
        requeue = RequeueReason.PREEMPTION_NO_CANDIDATES
        return EntryVerdict(EntryAction.WAIT, WAITING_FOR_QUOTA, message, requeue, Hold.RESERVABLE, keeps_progress=True)
    return BLOCKED_BY_GATE if view.rules.honours_gates and entry.workload.has_closed_gate else None


def _skip(message: str, view: EntryView) -> EntryVerdict:
    """SCH-337, SCH-338; the search resumes only with its gate (SCH-555)."""
    return EntryVerdict(EntryAction.WAIT, WAITING_FOR_QUOTA, message, keeps_progress=view.rules.keeps_progress)


def _judge_fit(entry: CycleEntry, sibling: WorkloadInfo | None, view: EntryView) -> EntryVerdict:
    if view.waits_for_pods():
        return WAIT_FOR_PODS
    if sibling is None:
        return ADMIT
    worst = entry.queue.last_acceptable_flavor
    if worst and _rank(entry) > rank(entry.queue, (worst,)):
        return BELOW_ACCEPTABLE
    message = f"{entry.assignment.message}. Pending the migration of 1 workload(s)"
    requeue = RequeueReason.PENDING_MIGRATION
    return EntryVerdict(EntryAction.MIGRATE, WAITING_FOR_PREEMPTED, message, requeue, Hold.USAGE, sibling=sibling)


def _rank(entry: CycleEntry) -> int:
    """The rank of the flavor that a variant is bound to."""
    return rank(entry.queue, entry.workload.allowed_flavors or {fr.flavor for fr in entry.assignment.usage})
