"""Additional controllers of frameworks, for kinds without one Workload per job (JOB-92).

A planner returns a plan for each object of one kind, as a pass over a job does; work queue, search of ancestors and
execution are the reconciler's.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2 import Workload
from kohort.controllers.context import ControllerContext
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.contract import JobKey, ReconciledKind
from kohort.jobs.errors import JobError
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.reconcile_pass import PassPlan, PassReader
from kohort.jobs.reconciler import KindReconciler
from kohort.jobs.registry import FrameworkRegistry, group_kind


class Planner(ReconciledKind, ABC):
    """An additional controller: `key` selects its objects, `watches` further triggers."""

    follows_workloads: ClassVar[bool] = False
    """Whether an object is reconciled when a Workload changes that it owns, alone or with others."""

    def objects_of(self, workload: Workload) -> Iterable[JobKey]:
        """The objects to reconcile when a Workload changes, for planners that follow Workloads."""
        kind = self.resource.group, self.resource.kind
        for owner in workload.metadata.owner_references:
            if group_kind(owner.api_version, owner.kind) == kind:
                yield JobKey(workload.metadata.namespace, owner.name)

    @abstractmethod
    def plan(self, obj: JsonObject, ancestor: JsonObject | None, reads: PassReader) -> PassPlan:
        """The plan for an object; `ancestor` is its managed ancestor, which is queued instead."""


class PlannerReconciler(KindReconciler):
    """Executes the plans of a planner."""

    def __init__(
        self,
        context: ControllerContext,
        registry: FrameworkRegistry,
        planner: Planner,
        reads: CacheReader,
        expectations: UidExpectations,
    ) -> None:
        super().__init__(context, registry, planner, reads, expectations)
        self._planner = planner
        if planner.follows_workloads:
            context.workload_cache.subscribe(self._workload_changed)

    def _workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        shown = new or old
        for key in self._planner.objects_of(shown) if shown is not None else ():
            self._queue.add(key)

    async def _plan(self, key: JobKey) -> PassPlan:
        obj = self._planner.load(key, self._reads)
        if obj is None or self._planner.key(obj) is None:
            return PassPlan()
        try:
            return self._planner.plan(obj, await self._ancestor(obj), self._reads)
        except JobError as error:
            return PassPlan(error.effects, error)
