"""Workloads of one job among each other: variants of a parent, and a slice whose successor has taken over.

Both are settled by the functions of `engine.lifecycle`; a crash between two writes is found here at the next look.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from kohort.api.gates import Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.workloads.assume_cache import key_of
from kohort.controllers.workloads.context_builder import ReconcileContextBuilder
from kohort.controllers.workloads.variants import becomes_parent, missing_variants, stale_variants
from kohort.engine import record_builders
from kohort.engine.lifecycle.conditions import is_evicted, is_finished, is_reserved
from kohort.engine.lifecycle.slices import end_replaced
from kohort.engine.lifecycle.variants import migration_rules, settle_family
from kohort.engine.lifecycle.writes import WorkloadWrite, WriteTarget


@dataclass(frozen=True, slots=True)
class RelatedWrites:
    """What relatives need, in the order in which it must be written, and when to look again."""

    writes: tuple[WorkloadWrite, ...] = ()
    wake_at: datetime | None = None
    missing: tuple[Workload, ...] = ()
    """Variants to be made."""
    stale: tuple[Workload, ...] = ()
    """Variants to be deleted."""


NOTHING = RelatedWrites()


class RelatedWorkloads:
    """Knows which Workloads belong together."""

    def __init__(self, context: ControllerContext, surroundings: ReconcileContextBuilder) -> None:
        self._context = context
        self._surroundings = surroundings
        self._gates = context.settings.gates
        self._has_variants = self._gates.enabled(Gate.ConcurrentAdmission)
        self._has_slices = self._gates.enabled(Gate.ElasticJobsViaWorkloadSlices)

    def keys(self, workload: Workload) -> Iterable[ObjectKey]:
        """Those to look at when this one changed: its parent, which stands for the family."""
        parent = self._parent_of(workload)
        return (key_of(parent),) if parent is not None else ()

    def becomes_parent(self, workload: Workload) -> bool:
        """Whether variants are to stand for the Workload, and it does not say so yet (SCH-1110)."""
        return becomes_parent(workload, self._surroundings.cluster_queue_of(workload), self._gates)

    def settle(self, key: ObjectKey) -> RelatedWrites:
        """Bring a Workload and its relatives in line."""
        workload = self._context.known.get(key)
        if workload is None:
            return NOTHING
        if self._has_variants and record_builders.is_parent(workload):
            return self._settle_family(workload)
        return self._end_replaced(workload) if self._has_slices else NOTHING

    def _parent_of(self, workload: Workload) -> Workload | None:
        if not self._has_variants or not record_builders.parent_of(workload, self._gates):
            return None
        namespace = workload.metadata.namespace
        owners = (each for each in workload.metadata.owner_references if each.kind == "Workload")
        found = (self._context.known.get((namespace, each.name)) for each in owners)
        return next((each for each in found if each is not None), None)

    def _settle_family(self, parent: Workload) -> RelatedWrites:
        queue = self._surroundings.cluster_queue_of(parent)
        if queue is None:
            return NOTHING
        rules = migration_rules(queue)
        family = self._context.known.owned_by_uid(parent.metadata.uid)
        stale = stale_variants(family, rules.flavors)
        variants = [each for each in family if each not in stale]
        missing = () if is_finished(parent) else missing_variants(parent, variants, rules.flavors)
        outcome = settle_family(parent, variants, rules, self._gates, self._context.now())
        return RelatedWrites(outcome.writes, outcome.wake_at, tuple(missing), tuple(stale))

    def _end_replaced(self, successor: Workload) -> RelatedWrites:
        """SCH-1104: a slice ends once the admission of its successor is written, whoever was there to see it."""
        key = record_builders.replaced_slice(successor, self._gates)
        replaced = self._context.known.get(key) if key is not None else None
        if replaced is None or is_finished(replaced) or not _holds(successor) or not is_reserved(replaced):
            return NOTHING
        change = end_replaced(replaced, successor, self._context.now())
        return RelatedWrites((WorkloadWrite(WriteTarget.STATUS, change.workload, change.events),))


def _holds(workload: Workload) -> bool:
    return is_reserved(workload) and not is_evicted(workload) and not is_finished(workload)
