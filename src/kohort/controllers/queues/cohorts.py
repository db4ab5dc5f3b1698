"""The Cohort controller: the weighted share in the status with fair sharing (API-118, API-119)."""

from msgspec.structs import replace

from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues.cohort_trees import cohorts_above
from kohort.controllers.queues.gauges.queue_gauges import CohortGauges
from kohort.controllers.queues.reconciler import QueueReconciler, object_key
from kohort.controllers.queues.status_writer import write_status
from kohort.kube.controller import RequeueAfter


class CohortController(QueueReconciler[Cohort]):
    """Reconciles the status of Cohorts; in a cycle nothing is written."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, context.cohorts)
        self._gauges = CohortGauges(context)
        self._deleted: set[ObjectKey] = set()
        """Deleted Cohorts whose series must be dropped."""

    def subscribe(self) -> None:
        """API-118."""
        self.informer.subscribe(self._note_deletion)
        self.informer.subscribe(self.enqueue_changed)
        self.informer.subscribe(self._cohort_changed)
        self.context.cluster_queues.subscribe(self._queue_changed)

    def _note_deletion(self, old: Cohort | None, new: Cohort | None) -> None:
        if new is not None:
            self._deleted.discard(object_key(new.metadata.name))
        elif old is not None:
            self._deleted.add(object_key(old.metadata.name))

    def _cohort_changed(self, old: Cohort | None, new: Cohort | None) -> None:
        """A change of quota or parent affects the whole tree; it is rare, so all Cohorts are enqueued."""
        if old is None or new is None or old.spec != new.spec:
            named = {each.spec.parent_name for each in (old, new) if each is not None and each.spec.parent_name}
            self.enqueue_throttled({*self.informer.cache.all_keys(), *map(object_key, named)})

    def _queue_changed(self, old: ClusterQueue | None, new: ClusterQueue | None) -> None:
        """A change of a queue affects the sums of all its ancestors."""
        for name in {each.spec.cohort_name for each in (old, new) if each is not None and each.spec.cohort_name}:
            self.enqueue_throttled(map(object_key, {name, *cohorts_above(self.context.engine, name)}))

    async def write(self, found: Cohort, wanted: Cohort) -> RequeueAfter | None:
        """Write the status if it differs."""
        await write_status(self.informer.objects, found, wanted)
        return None

    def desired(self, found: Cohort) -> Cohort:
        """The Cohort with its share; unchanged in a cycle (API-119)."""
        engine = self.context.engine
        node = engine.read.cohorts[found.metadata.name]
        if node.is_cyclic:
            return found
        reported = replace(found, status=engine.read.cohort_status(found.metadata.name))
        self._gauges.update(reported, node)
        return reported

    def forget(self, gone: ObjectKey) -> None:
        """Drop all series of a deleted Cohort; if it is still referenced, the next change of a queue restores them.

        The same holds for an implicit Cohort that is no longer referenced (API-118, API-144).
        """
        node = self.context.engine.read.cohorts.get(gone.name)
        if gone in self._deleted or node is None or node.is_cyclic:
            self._deleted.discard(gone)
            self._gauges.forget(gone.name)
        else:
            self._gauges.update_tree(node)
