"""WorkloadPriorityClasses: the priority of Workloads follows the value of their class (API-136)."""

import asyncio
from typing import Final

from msgspec.structs import replace

from kohort.api.kueue.v1beta2 import Workload, WorkloadPriorityClass
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues.reconciler import QueueReconciler, key
from kohort.controllers.queues.references import PRIORITY_CLASS, priority_classes_of
from kohort.controllers.queues.status_writer import MANAGER
from kohort.kube.controller import RequeueAfter
from kohort.kube.errors import StatusError

AT_ONCE: Final = 20
"""Writes on their way at the same time; a class may have very many Workloads."""


class PriorityClassController(QueueReconciler[WorkloadPriorityClass]):
    """Hands a new value on to the Workloads that refer to the class; a deletion changes nothing."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, context.priority_classes)

    def subscribe(self) -> None:
        """Classes that are new or have another value."""
        self.context.workloads.index(PRIORITY_CLASS, priority_classes_of)
        self.informer.subscribe(self._changed)

    def _changed(self, old: WorkloadPriorityClass | None, new: WorkloadPriorityClass | None) -> None:
        if new is not None and (old is None or old.value != new.value):
            self.wake([key(new.metadata.name)])

    async def keep(self, found: WorkloadPriorityClass, wanted: WorkloadPriorityClass) -> RequeueAfter | None:
        """Write the value where it differs; whatever fails is tried again by the next look at the class."""
        concerned = self.context.workloads.cache.find(PRIORITY_CLASS, found.metadata.name)
        failures: list[BaseException] = []
        for start in range(0, len(concerned), AT_ONCE):
            following = (self._follow(each, wanted.value) for each in concerned[start : start + AT_ONCE])
            outcomes = await asyncio.gather(*following, return_exceptions=True)
            failures += [outcome for outcome in outcomes if outcome is not None]
        if failures:
            raise failures[0]
        return None

    async def _follow(self, shown: Workload, value: int) -> None:
        known = self.context.known.get((shown.metadata.namespace, shown.metadata.name))
        if known is None or known.spec.priority == value:
            return
        after = replace(known, spec=replace(known.spec, priority=value))
        try:
            await self.context.known.write_object(known, after, MANAGER.format("workloadpriorityclass"))
        except StatusError as error:
            if not error.is_not_found:
                raise
