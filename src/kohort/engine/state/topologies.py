"""Tracks Topologies, TAS flavors, nodes and the pods on them that the engine did not place (TAS-19 to TAS-28)."""

from collections.abc import Mapping, Set

from kohort.api.core.nodes import Node
from kohort.api.gates import Gate
from kohort.api.kueue import v1beta2
from kohort.engine.state.place_accounting import PlaceTracker
from kohort.engine.state.store import EngineStore
from kohort.engine.state.unblocking import Unblocking


class TopologyTracker:
    """Applies events of what topology domains are made of; does nothing without topology-aware scheduling."""

    def __init__(self, store: EngineStore, unblocking: Unblocking, places: PlaceTracker) -> None:
        self._store = store
        self._unblocking = unblocking
        self._places = places
        self._is_off = not store.settings.gates.enabled(Gate.TopologyAwareScheduling)

    def put_topology(self, thing: v1beta2.Topology) -> None:
        """Apply a Topology; placed pods stay counted when its levels change (TAS-4)."""
        if not self._is_off:
            levels = tuple(level.node_label for level in thing.spec.levels) if thing.spec else ()
            self._count_again(self._store.topology.put_topology(thing.metadata.name, levels))

    def remove_topology(self, name: str) -> None:
        """Remove a Topology."""
        self._count_again(self._store.topology.remove_topology(name))

    def put_flavor(self, name: str) -> None:
        """Apply a flavor, whose nodes may have changed."""
        self._count_again(self._store.topology.put_flavor(self._store.flavors[name]))

    def remove_flavor(self, name: str) -> None:
        """Remove a flavor."""
        self._count_again(self._store.topology.remove_flavor(name))

    def put_node(self, node: Node) -> None:
        """Apply a node: workloads that did not fit may fit now (TAS-24)."""
        if not self._is_off:
            self._unblocking.unblock_flavors(self._store.topology.put_node(node))

    def remove_node(self, name: str) -> None:
        """Remove a node."""
        self._unblocking.unblock_flavors(self._store.topology.remove_node(name))

    def set_node_usage(self, node: str, amounts: Mapping[str, int]) -> None:
        """Count pods that the engine did not place; workloads may fit once any amount is less (TAS-27, TAS-28)."""
        if self._is_off:
            return
        flavors = self._store.topology.set_non_tas_usage(node, amounts)
        if flavors:
            self._unblocking.unblock_flavors(flavors)
        else:
            self._unblocking.narrow_flavors(self._store.topology.flavors_of(node))

    def _count_again(self, flavors: Set[str]) -> None:
        """Start counting pods in the domains of their flavors (TAS-7)."""
        if flavors:
            self._places.recount(flavors)
            self._unblocking.unblock_flavors(flavors)
