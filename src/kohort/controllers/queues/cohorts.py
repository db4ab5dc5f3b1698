"""Cohorts: their share in the status, where fair sharing is on (API-118, API-119)."""

from msgspec.structs import replace

from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues.cohort_trees import cohorts_above
from kohort.controllers.queues.gauges import CohortGauges
from kohort.controllers.queues.reconciler import QueueReconciler, key
from kohort.controllers.queues.status_writer import write_status
from kohort.kube.controller import RequeueAfter


class CohortController(QueueReconciler[Cohort]):
    """Tells of every Cohort how much it has borrowed; in a circle there is nothing to tell, and nothing is written."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, context.cohorts)
        self._gauges = CohortGauges(context)
        self._deleted: set[ObjectKey] = set()
        """Cohorts whose series are still to be dropped because the object was deleted."""

    def subscribe(self) -> None:
        """API-118."""
        self.informer.subscribe(self._note_deletion)
        self.informer.subscribe(self.wake_itself)
        self.informer.subscribe(self._cohort_changed)
        self.context.cluster_queues.subscribe(self._queue_changed)

    def _note_deletion(self, old: Cohort | None, new: Cohort | None) -> None:
        if new is not None:
            self._deleted.discard(key(new.metadata.name))
        elif old is not None:
            self._deleted.add(key(old.metadata.name))

    def _cohort_changed(self, old: Cohort | None, new: Cohort | None) -> None:
        """Its quota and its place matter to all in the tree, before and after: rare, so all are looked at."""
        if old is None or new is None or old.spec != new.spec:
            named = {each.spec.parent_name for each in (old, new) if each is not None and each.spec.parent_name}
            self.wake_soon({*self.informer.cache.all_keys(), *map(key, named)})

    def _queue_changed(self, old: ClusterQueue | None, new: ClusterQueue | None) -> None:
        """Whatever a queue reports is reported of those above it as well."""
        for name in {each.spec.cohort_name for each in (old, new) if each is not None and each.spec.cohort_name}:
            self.wake_soon(map(key, {name, *cohorts_above(self.context.engine, name)}))

    async def keep(self, found: Cohort, wanted: Cohort) -> RequeueAfter | None:
        """Write the share if it is another one."""
        await write_status(self.informer.objects, found, wanted)
        return None

    def judge(self, found: Cohort) -> Cohort:
        """The Cohort with its share; as it was where its parents run in a circle (API-119)."""
        engine = self.context.engine
        node = engine.forest.cohorts[found.metadata.name]
        if node.is_cyclic:
            return found
        engine.forest.refresh()
        reported = replace(found, status=engine.cohort_status(found.metadata.name))
        self._gauges.show(reported, node)
        return reported

    def forget(self, gone: ObjectKey) -> None:
        """Drop all series of a deleted Cohort; one that others name has sums again when a queue below it changes.

        The same holds for one that never was an object and that nobody names any more (API-118, API-144).
        """
        node = self.context.engine.forest.cohorts.get(gone.name)
        if gone in self._deleted or node is None or node.is_cyclic:
            self._deleted.discard(gone)
            self._gauges.forget(gone.name)
        else:
            self.context.engine.forest.refresh()
            self._gauges.show_tree(node)
