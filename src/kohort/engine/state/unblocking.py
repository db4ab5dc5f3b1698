"""What events unblock, and the reactivation of inadmissible workloads that follows (SCH-260 to SCH-262)."""

from datetime import datetime
from functools import partial

from kohort.engine.hierarchy import HierarchyNode
from kohort.engine.obstacles import is_selected
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.state.store import EngineStore
from kohort.engine.state.unblock_keys import flavor_key, queues_of, tree_key


class Unblocking:
    """Records keys that events unblock until the next cycle reactivates workloads by them."""

    def __init__(self, store: EngineStore) -> None:
        self._store = store

    def unblock_tree(self, node: HierarchyNode) -> None:
        """Capacity of the tree has changed."""
        if not node.is_cyclic:
            self._store.unblocked.add(tree_key(node))

    def unblock_usage(self, workload: WorkloadInfo, queue: ClusterQueueInfo) -> None:
        """What the workload holds in the queue is released."""
        self.unblock_tree(queue.node)
        if self._store.capacity is not None:
            self._store.unblocked.update(flavor_key(fr.flavor) for fr in workload.usage)

    def reactivate(self, now: datetime) -> None:
        """Make inadmissible workloads active again in all queues that a key concerns."""
        store = self._store
        if not store.unblocked:
            return
        keys, store.unblocked = store.unblocked, set()
        names = {name for key in keys for name in queues_of(key, store.hierarchy, store.queues.values())}
        for name in sorted(names):
            queue = store.queues.get(name)
            if queue is not None and not queue.node.is_cyclic:
                store.pending[name].retry(now, partial(is_selected, store, queue))
                store.dirty.add(name)
