"""The WorkloadPriorityClass controller: Workloads get the value of their class (API-136)."""

import asyncio
from typing import Final

from msgspec.structs import replace

from kohort.api.kueue.v1beta2 import Workload, WorkloadPriorityClass
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues.reconciler import QueueReconciler, object_key
from kohort.controllers.queues.references import PRIORITY_CLASS, priority_classes_of
from kohort.controllers.queues.status_writer import MANAGER
from kohort.kube.controller import RequeueAfter
from kohort.kube.errors import StatusError

MAX_CONCURRENT_WRITES: Final = 20
"""Concurrent writes; a class may have very many Workloads."""


class PriorityClassController(QueueReconciler[WorkloadPriorityClass]):
    """Writes a changed value into the Workloads of a class; a deletion changes nothing."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, context.priority_classes)

    def subscribe(self) -> None:
        """Subscribe to new classes and changed values."""
        self.context.workloads.index(PRIORITY_CLASS, priority_classes_of)
        self.informer.subscribe(self._changed)

    def _changed(self, old: WorkloadPriorityClass | None, new: WorkloadPriorityClass | None) -> None:
        if new is not None and (old is None or old.value != new.value):
            self.enqueue([object_key(new.metadata.name)])

    async def write(self, found: WorkloadPriorityClass, wanted: WorkloadPriorityClass) -> RequeueAfter | None:
        """Write the value where it differs; failed writes are retried with the next reconcile."""
        concerned = self.context.workloads.cache.find(PRIORITY_CLASS, found.metadata.name)
        failures: list[BaseException] = []
        for start in range(0, len(concerned), MAX_CONCURRENT_WRITES):
            following = (
                self._write_priority(each, wanted.value) for each in concerned[start : start + MAX_CONCURRENT_WRITES]
            )
            outcomes = await asyncio.gather(*following, return_exceptions=True)
            failures += [outcome for outcome in outcomes if outcome is not None]
        if failures:
            raise failures[0]
        return None

    async def _write_priority(self, shown: Workload, value: int) -> None:
        known = self.context.workload_cache.get((shown.metadata.namespace, shown.metadata.name))
        if known is None or known.spec.priority == value:
            return
        after = replace(known, spec=replace(known.spec, priority=value))
        try:
            await self.context.workload_cache.write_object(known, after, MANAGER.format("workloadpriorityclass"))
        except StatusError as error:
            if not error.is_not_found:
                raise
