"""What events unblock, and the reactivation of inadmissible workloads that follows (SCH-260 to SCH-262)."""

from collections.abc import Iterable, Set
from datetime import datetime
from functools import partial

from kohort.engine.hierarchy import HierarchyNode
from kohort.engine.namespace_selector import is_selected
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.state.store import EngineStore
from kohort.engine.state.unblock_keys import (
    FLAVOR,
    PLACES,
    UnblockKey,
    flavor_key,
    places_key,
    queues_of,
    tree_key,
)


class Unblocking:
    """Records keys that events unblock until the next cycle reactivates workloads by them."""

    def __init__(self, store: EngineStore) -> None:
        self._store = store

    def unblock_tree(self, node: HierarchyNode) -> None:
        """Record that capacity of the tree has changed."""
        if not node.is_cyclic:
            self._store.unblocked.add(tree_key(node))

    def unblock_usage(self, workload: WorkloadInfo, queue: ClusterQueueInfo) -> None:
        """Record that the workload's usage in the queue is released."""
        self.unblock_tree(queue.node)
        self.unblock_places(workload)

    def unblock_places(self, workload: WorkloadInfo) -> None:
        """Record that pods of the workload leave their nodes, which workloads of any tree may use."""
        if workload.placed:
            self._store.unblocked.update({places_key(counter.flavor) for counter in workload.placed})

    def unblock_flavors(self, names: Iterable[str]) -> None:
        """Record that nodes of TAS flavors have changed."""
        self._store.unblocked.update([flavor_key(name) for name in names])

    def narrow_flavors(self, names: Iterable[str]) -> None:
        """Record that nodes of TAS flavors have less capacity, which unblocks no inadmissible workload (TAS-28)."""
        self._store.narrowed.update(flavor_key(name) for name in names)

    def reactivate(self, now: datetime) -> None:
        """Make inadmissible workloads active again in all queues that an unblocked key concerns."""
        store = self._store
        if store.narrowed:
            keys, store.narrowed = store.narrowed, set()
            store.dirty.update(self._concerned(keys))
        if not store.unblocked:
            return
        keys, store.unblocked = store.unblocked, set()
        places = {key for key in keys if key.kind == PLACES}
        waiting = {name for name in self._concerned(places) if store.pending[name].waits_for_places}
        for name in sorted(self._concerned(keys - places) | waiting):
            queue = store.queues.get(name)
            if queue is not None and not queue.node.is_cyclic:
                store.pending[name].retry(now, partial(is_selected, store, queue))
                store.dirty.add(name)

    def _concerned(self, keys: Set[UnblockKey]) -> set[str]:
        """Queues that the keys concern, also by flavors of the same hosts."""
        store = self._store
        shared = {
            key._replace(name=flavor)
            for key in keys
            if key.kind in (FLAVOR, PLACES)
            for flavor in store.topology.overlapping(key.name)
        }
        return {name for key in keys | shared for name in queues_of(key, store.hierarchy, store.queues.values())}
