"""A parent and its variants, one per flavor: which compete, which preempt, what the job gets (SCH-1112 to SCH-1115).

The job refers to the parent only; quota is reserved for variants only. Level-triggered like `reconciliation`: the
result depends on the present state only, and the next call can continue after any write.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from kohort.api.gates import FeatureGates
from kohort.api.kueue.keys import ALLOWED_FLAVORS_ANNOTATION
from kohort.api.kueue.v1beta2 import ClusterQueue, Workload
from kohort.api.kueue.v1beta2.workload import Admission
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.admission import Reservation, reserve
from kohort.engine.lifecycle.conditions import (
    ADMITTED,
    BLOCKED_ON_PREEMPTION_GATES,
    EVICTED,
    FINISHED,
    PODS_READY,
    QUOTA_RESERVED,
    condition,
    condition_true,
    holds,
    is_admitted,
    is_evicted,
    is_finished,
    is_on_hold,
    is_reserved,
    with_condition,
    with_condition_set,
)
from kohort.engine.lifecycle.deactivation import with_active
from kohort.engine.lifecycle.events import WorkloadChange, normal
from kohort.engine.lifecycle.eviction import EvictionCause, evict, release
from kohort.engine.lifecycle.finishing import finish
from kohort.engine.lifecycle.pending_reason import PENDING_MESSAGE
from kohort.engine.lifecycle.preemption_gates import CONCURRENT_ADMISSION_GATE, gate_opened_at, open_gate
from kohort.engine.lifecycle.requeueing import delay_return, return_moment
from kohort.engine.lifecycle.writes import WorkloadWrite, WorkloadWrites

BETWEEN_OPENINGS: Final = timedelta(minutes=5)
"""How long one variant may try to preempt before the next one may (SCH-1115)."""

_VARIANT_EVICTED = EvictionCause(reasons.VARIANT_EVICTED, "Admitted variant was evicted")
_NONE_RUNS = EvictionCause(reasons.CONCURRENT_ADMISSION, "No variant is running")


@dataclass(frozen=True, slots=True)
class MigrationRules:
    """The flavors of a ClusterQueue and its migration constraints."""

    flavors: tuple[str, ...]
    """The best first (SCH-1111)."""
    retains_first: bool = False
    """Whether a workload keeps the flavor in which it was admitted first."""
    last_acceptable: str = ""
    """The worst flavor to migrate to; empty for any."""

    def rank(self, flavors: Iterable[str]) -> int:
        """Index of the best of these flavors; after all others if the queue has none of them."""
        places = (self.flavors.index(flavor) for flavor in flavors if flavor in self.flavors)
        return min(places, default=len(self.flavors))


def migration_rules(queue: ClusterQueue) -> MigrationRules:
    """The rules by the queue's spec."""
    flavors = tuple(flavor.name for group in queue.spec.resource_groups for flavor in group.flavors)
    policy = queue.spec.concurrent_admission_policy
    if policy is None:
        return MigrationRules(flavors)
    worst = policy.migration.constraints.last_acceptable_flavor_name if policy.migration.constraints else None
    return MigrationRules(flavors, policy.migration.mode == "RetainFirstAdmission", worst or "")


@dataclass(frozen=True, slots=True)
class VariantsResult:
    """The result of reconciling a parent with its variants."""

    parent: Workload
    variants: tuple[Workload, ...]
    """The best flavor first."""
    writes: tuple[WorkloadWrite, ...] = ()
    wake_at: datetime | None = None
    """When the next gate may be opened."""


def reconcile_variants(
    parent: Workload, variants: Iterable[Workload], rules: MigrationRules, gates: FeatureGates, now: datetime
) -> VariantsResult:
    """Reconcile a parent with its variants; idempotent."""
    reconciled = _VariantsReconcile(parent, variants, rules, gates, now)
    wake_at = reconciled.run()
    parts = (reconciled.parent, *reconciled.variants)
    writes = tuple(write for each in parts for write in each.writes)
    return VariantsResult(
        reconciled.parent.workload, tuple(each.workload for each in reconciled.variants), writes, wake_at
    )


class _VariantsReconcile:
    """A parent and its variants while they are reconciled."""

    def __init__(
        self,
        parent: Workload,
        variants: Iterable[Workload],
        rules: MigrationRules,
        gates: FeatureGates,
        now: datetime,
    ) -> None:
        self.rules = rules
        self.gates = gates
        self.now = now
        self.parent = WorkloadWrites(parent)
        self.variants = [WorkloadWrites(each) for each in sorted(variants, key=self._rank)]

    def run(self) -> datetime | None:
        """All steps; returns the time of the next reconcile."""
        if is_finished(self.parent.workload):
            self._end()
            return None
        self._spread_eviction()
        if self._is_stopping():
            return None
        self._release_evicted()
        self._switch()
        self._share_admission()
        return self._open_gate()

    def _rank(self, variant: Workload) -> int:
        allowed = variant.metadata.annotations.get(ALLOWED_FLAVORS_ANNOTATION, "")
        return self.rules.rank(name.strip() for name in allowed.split(","))

    def _admitted(self) -> WorkloadWrites | None:
        return next((each for each in self.variants if is_admitted(each.workload)), None)

    def _runs_by(self) -> WorkloadWrites | None:
        """The variant whose quota the job uses."""
        parent = self.parent.workload
        return next((each for each in self.variants if _shares_admission(parent, each.workload)), None)

    def _end(self) -> None:
        """Finish all variants of a finished job."""
        end = condition(self.parent.workload, FINISHED)
        for each in self.variants:
            if end is not None:
                each.take(WorkloadChange(finish(each.workload, end.reason, end.message, self.now)))

    # Eviction

    def _spread_eviction(self) -> None:
        """Evict the parent with the variant whose quota it uses, and that variant with the parent (SCH-1114)."""
        parent, runs_by = self.parent.workload, self._runs_by()
        if runs_by is None:
            return
        if is_evicted(runs_by.workload):
            self.parent.take(evict(parent, _VARIANT_EVICTED, self.now))
        elif (evicted := condition(parent, EVICTED)) and evicted.status == "True":
            runs_by.take(evict(runs_by.workload, EvictionCause(evicted.reason, evicted.message), self.now))
        self._delay_returns()

    def _delay_returns(self) -> None:
        """Give all variants the backoff of their parent (SCH-1033)."""
        until = return_moment(self.parent.workload)
        if until is None or until <= self.now or not is_evicted(self.parent.workload):
            return
        for each in self.variants:
            each.take(WorkloadChange(delay_return(each.workload, until)))

    def _is_stopping(self) -> bool:
        """Whether the job has not stopped yet: until then its quota is in use."""
        return is_reserved(self.parent.workload) and is_evicted(self.parent.workload)

    def _release_evicted(self) -> None:
        """Release the quota of evicted variants, which have no job of their own, as soon as the parent has."""
        for each in self.variants:
            each.take(WorkloadChange(release(each.workload, self.gates, self.now)))

    # Competing

    def _switch(self) -> None:
        """Deactivate variants that can't improve the flavor, and activate those that can (SCH-1112, SCH-1114)."""
        admitted = self._admitted()
        for each in self.variants:
            off = self._why_off(each, admitted)
            change = with_active(each.workload, active=not off)
            if change is each.workload:
                continue
            word, why = ("Deactivated", off) if off else ("Activated", self._why_on(admitted))
            note = f"Variant Workload {word.lower()} due to {why}"
            each.take(WorkloadChange(change, (normal(f"{word}Variant", note),)))

    def _why_off(self, variant: WorkloadWrites, admitted: WorkloadWrites | None) -> str:
        """Why a variant should not compete; empty if it should."""
        if not self.parent.workload.spec.active:
            return f"Parent Workload {_quoted(self.parent)} not active"
        if admitted is None or variant is admitted:
            return ""
        if self.rules.retains_first:
            return f"RetainFirstAdmission: another Variant {_quoted(admitted)} is admitted"
        rank, worst = self._rank(variant.workload), self.rules.last_acceptable
        if worst and rank > self.rules.rank((worst,)):
            return f'being below lastAcceptableFlavor: "{worst}" and another Variant admitted {_quoted(admitted)}'
        if rank > self._rank(admitted.workload):
            return f"being lower priority than admitted Variant {_quoted(admitted)}"
        return ""

    def _why_on(self, admitted: WorkloadWrites | None) -> str:
        if admitted is None:
            return "no other Variant being admitted"
        better = f"higher priority than admitted Variant {_quoted(admitted)}"
        worst = self.rules.last_acceptable
        return f'being at least lastAcceptableFlavor: "{worst}" and {better}' if worst else f"being {better}"

    # Admission

    def _share_admission(self) -> None:
        """Copy the admission of a variant to the parent, or remove it without one (SCH-1112)."""
        parent = self.parent.workload
        # A running job keeps its flavor until it has stopped, even if another variant was admitted meanwhile.
        by = self._runs_by() if is_admitted(parent) else self._admitted()
        if by is None:
            if is_admitted(parent):
                self.parent.take(evict(parent, _NONE_RUNS, self.now))
            return
        if parent.spec.active and by.workload.spec.active:
            self.parent.take(self._with_admission(by.workload))
        ready = condition(parent, PODS_READY)
        if ready is not None:
            # Admissions may wait until the pods of a holder are ready (SCH-1035), and jobs report only to the parent.
            each = replace(ready, observed_generation=by.workload.metadata.generation)
            by.take(WorkloadChange(with_condition(by.workload, each)))

    def _with_admission(self, variant: Workload) -> WorkloadChange:
        parent, admission = self.parent.workload, variant.status.admission
        if admission is None or (is_admitted(parent) and parent.status.admission == admission):
            return WorkloadChange(parent)
        change = reserve(parent, Reservation(admission, frozenset()), self.gates, self.now)
        message = f"The variant {variant.metadata.name} is admitted"
        return WorkloadChange(
            with_condition_set(change.workload, ADMITTED, condition_true(reasons.ADMITTED, message), self.now),
            change.events,
        )

    # Preempting

    def _open_gate(self) -> datetime | None:
        """Open the gate of one more variant, if it needs to preempt and the last one had its time (SCH-1115)."""
        waiting = [each for each in self.variants if _is_pending(each.workload)]
        candidate = _next_to_preempt(waiting)
        if candidate is None:
            return None
        openings = [gate_opened_at(each.workload, CONCURRENT_ADMISSION_GATE) for each in waiting]
        due = max((each + BETWEEN_OPENINGS for each in openings if each is not None), default=self.now)
        if due > self.now:
            return due
        opened = open_gate(candidate.workload, CONCURRENT_ADMISSION_GATE, self.now)
        note = f"Opened preemption gate for variant workload {_quoted(candidate)}"
        candidate.take(WorkloadChange(opened, (normal("PreemptionUngatedVariant", note),)))
        return self.now + BETWEEN_OPENINGS


def _next_to_preempt(waiting: Iterable[WorkloadWrites]) -> WorkloadWrites | None:
    """The best variant that only a gate blocks; None while a better one is not evaluated yet."""
    for each in waiting:
        if gate_opened_at(each.workload, CONCURRENT_ADMISSION_GATE) is not None:
            continue
        if holds(each.workload, BLOCKED_ON_PREEMPTION_GATES):
            return each
        judged = condition(each.workload, QUOTA_RESERVED)
        if judged is None or judged.message == PENDING_MESSAGE:
            return None
    return None


def _is_pending(workload: Workload) -> bool:
    out = is_finished(workload) or is_reserved(workload) or is_on_hold(workload)
    return workload.spec.active and not out


def _shares_admission(parent: Workload, variant: Workload) -> bool:
    """Whether the parent uses the quota of this variant."""
    if not is_reserved(variant) or variant.status.admission is None or parent.status.admission is None:
        return False
    return _flavors(parent.status.admission) == _flavors(variant.status.admission)


def _flavors(admission: Admission) -> list[dict[str, str]]:
    return [dict(each.flavors) for each in admission.pod_set_assignments]


def _quoted(variant: WorkloadWrites) -> str:
    metadata = variant.workload.metadata
    return f'"{metadata.namespace}/{metadata.name}"'
