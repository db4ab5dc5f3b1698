"""Which ClusterQueues compete: those of a cohort tree for quota, and those of several trees for shared nodes.

Queues of different trees share no quota. If their TAS flavors are the same, or have hosts in common, they are
scheduled together, so that the order of a cycle determines which of them gets the nodes (TAS-33, TAS-80).
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kohort.engine.records import ClusterQueueInfo
from kohort.engine.state.unblock_keys import queues_in_tree

if TYPE_CHECKING:
    from kohort.engine.state.store import EngineStore


def competing_queues(store: "EngineStore", queue: ClusterQueueInfo) -> Sequence[str]:
    """The ClusterQueues that compete with a queue, including itself, by name; none if its cohorts form a cycle."""
    if not store.topology:
        return sorted(queues_in_tree(queue.node))
    return store.competition.queues(store, queue)


class Competition:
    """Which queues compete, found once while no cohort tree and no TAS flavor changes."""

    __slots__ = ("_basis", "_queues")

    def __init__(self) -> None:
        self._basis: tuple[int, int] | None = None
        self._queues: dict[str, Sequence[str]] = {}

    def queues(self, store: "EngineStore", queue: ClusterQueueInfo) -> Sequence[str]:
        """The queues that compete with one."""
        basis = (store.hierarchy.generation, store.topology.generation)
        if basis != self._basis:
            self._basis = basis
            self._queues.clear()
        found = self._queues.get(queue.name)
        if found is None:
            found = sorted(_find_competing(store, queue))
            self._queues.update(dict.fromkeys(found, found))
        return found


def _find_competing(store: "EngineStore", queue: ClusterQueueInfo) -> list[str]:
    names = queues_in_tree(queue.node)
    found = dict.fromkeys(names)
    flavors: set[str] = set()
    while names:
        new = _shared_flavors(store, names) - flavors
        flavors |= new
        names = [name for name in _queues_with(store, new, found) if name not in found]
        found.update(dict.fromkeys(names))
    return list(found)


def _shared_flavors(store: "EngineStore", names: Iterable[str]) -> set[str]:
    """TAS flavors of some queues, and those with which they share hosts (TAS-31)."""
    used = {flavor for name in names for group in store.queues[name].groups for flavor in group.flavors}
    return {
        other
        for flavor in used
        if flavor in store.flavors and store.flavors[flavor].topology
        for other in store.topology.overlapping(flavor)
    }


def _queues_with(store: "EngineStore", flavors: set[str], known: Iterable[str]) -> list[str]:
    """The queues of all trees in which some other queue has one of the flavors."""
    others = [queue for name, queue in store.queues.items() if name not in known] if flavors else []
    users = [each for each in others if any(not flavors.isdisjoint(group.flavors) for group in each.groups)]
    return [name for user in users for name in queues_in_tree(user.node)]
