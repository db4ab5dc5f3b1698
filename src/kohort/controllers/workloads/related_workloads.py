"""Reconciles Workloads of one job with each other: variants of a parent, and replaced slices.

Both use functions of `engine.lifecycle`; a crash between two writes is repaired by the next reconcile.
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
from kohort.engine.lifecycle.variants import migration_rules, reconcile_variants
from kohort.engine.lifecycle.writes import WorkloadWrite, WriteTarget


@dataclass(frozen=True, slots=True)
class RelatedWrites:
    """Writes of related Workloads, in order, and when to reconcile again."""

    writes: tuple[WorkloadWrite, ...] = ()
    wake_at: datetime | None = None
    missing: tuple[Workload, ...] = ()
    """Variants to be created."""
    stale: tuple[Workload, ...] = ()
    """Variants to be deleted."""


NOTHING = RelatedWrites()


class RelatedWorkloads:
    """Finds and reconciles related Workloads."""

    def __init__(self, context: ControllerContext, context_builder: ReconcileContextBuilder) -> None:
        self._context = context
        self._context_builder = context_builder
        self._gates = context.settings.gates
        self._has_variants = self._gates.enabled(Gate.ConcurrentAdmission)
        self._has_slices = self._gates.enabled(Gate.ElasticJobsViaWorkloadSlices)

    def keys(self, workload: Workload) -> Iterable[ObjectKey]:
        """The keys to reconcile when this Workload changed: its parent."""
        parent = self._parent_of(workload)
        return (key_of(parent),) if parent is not None else ()

    def becomes_parent(self, workload: Workload) -> bool:
        """Whether the Workload must become a parent of variants (SCH-1110)."""
        return becomes_parent(workload, self._context_builder.cluster_queue_of(workload), self._gates)

    def reconcile_related(self, key: ObjectKey) -> RelatedWrites:
        """The writes that a Workload and its related ones need."""
        workload = self._context.workload_cache.get(key)
        if workload is None:
            return NOTHING
        if self._has_variants and record_builders.is_parent(workload):
            return self._reconcile_variants(workload)
        return self._end_replaced(workload) if self._has_slices else NOTHING

    def _parent_of(self, workload: Workload) -> Workload | None:
        if not self._has_variants or not record_builders.parent_of(workload, self._gates):
            return None
        namespace = workload.metadata.namespace
        owners = (each for each in workload.metadata.owner_references if each.kind == "Workload")
        found = (self._context.workload_cache.get((namespace, each.name)) for each in owners)
        return next((each for each in found if each is not None), None)

    def _reconcile_variants(self, parent: Workload) -> RelatedWrites:
        queue = self._context_builder.cluster_queue_of(parent)
        if queue is None:
            return NOTHING
        rules = migration_rules(queue)
        children = self._context.workload_cache.owned_by_uid(parent.metadata.uid)
        stale = stale_variants(children, rules.flavors)
        variants = [each for each in children if each not in stale]
        missing = () if is_finished(parent) else missing_variants(parent, variants, rules.flavors)
        outcome = reconcile_variants(parent, variants, rules, self._gates, self._context.now())
        return RelatedWrites(outcome.writes, outcome.wake_at, tuple(missing), tuple(stale))

    def _end_replaced(self, successor: Workload) -> RelatedWrites:
        """Finish a slice once the admission of its successor is written, also after a restart (SCH-1104)."""
        key = record_builders.replaced_slice(successor, self._gates)
        replaced = self._context.workload_cache.get(key) if key is not None else None
        if replaced is None or is_finished(replaced) or not _holds(successor) or not is_reserved(replaced):
            return NOTHING
        change = end_replaced(replaced, successor, self._context.now())
        return RelatedWrites((WorkloadWrite(WriteTarget.STATUS, change.workload, change.events),))


def _holds(workload: Workload) -> bool:
    return is_reserved(workload) and not is_evicted(workload) and not is_finished(workload)
