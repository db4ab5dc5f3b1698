"""Nodes, topologies and TAS flavors, and the domains that they make (docs/spec/topology.md sections 4 and 5)."""

from collections.abc import Iterator, Mapping

from kohort.api.core.nodes import HOSTNAME, Node
from kohort.engine.records import Flavor
from kohort.engine.topology.flavor_domains import FlavorDomains
from kohort.engine.topology.nodes import NodeInventory, TopologyNode, topology_node
from kohort.engine.topology.settings import PlacementSettings
from kohort.engine.topology.usage import TopologyUsage

NO_FLAVORS: frozenset[str] = frozenset()


class TopologyStore:
    """What placements depend on. Changes return the flavors whose capacity may have changed."""

    def __init__(self, settings: PlacementSettings) -> None:
        self.settings = settings
        self.usage = TopologyUsage()
        self._inventory = NodeInventory()
        self._hostnames: dict[str, str] = {}
        """Of nodes whose hostname is not their name."""
        self._topologies: dict[str, tuple[str, ...]] = {}
        self._flavors: dict[str, Flavor] = {}
        self._domains: dict[str, FlavorDomains] = {}
        self._overlapping: dict[str, frozenset[str]] = {}
        """Flavors that share hosts with one; found when needed after nodes or flavors came, went or moved."""
        self.generation = 0
        """Incremented when flavors may share hosts with others than before."""

    def __bool__(self) -> bool:
        """Whether there is any TAS flavor."""
        return bool(self._flavors)

    def overlapping(self, flavor: str) -> frozenset[str]:
        """The flavor and those with which it shares hosts, and so their usage (TAS-31)."""
        known = self._overlapping.get(flavor)
        if known is None:
            known = self._overlapping[flavor] = frozenset([flavor, *self._find_overlapping(flavor)])
        return known

    def _find_overlapping(self, flavor: str) -> Iterator[str]:
        found = self._domains.get(flavor)
        if found is not None and found.shares_hosts:
            for each in self._domains.values():
                if each.shares_hosts and each.overlaps(found):
                    yield each.name

    def _forget_overlapping(self) -> None:
        self._overlapping.clear()
        self.generation += 1

    def flavor(self, name: str) -> FlavorDomains | None:
        """The domains of a flavor; None if it is no TAS flavor, or if its Topology is absent."""
        return self._domains.get(name)

    @property
    def flavors(self) -> Mapping[str, FlavorDomains]:
        """The domains of all TAS flavors whose Topology exists."""
        return self._domains

    def hostname(self, node: str) -> str:
        """The value of a node in assignments: its hostname label, also after the node was deleted (TAS-25, Q-10)."""
        return self._hostnames.get(node, node)

    # Nodes

    def put_node(self, node: Node) -> frozenset[str]:
        """A node as it is now; one that is not usable is absent (TAS-19, TAS-20)."""
        name = node.metadata.name
        hostname = node.metadata.labels.get(HOSTNAME, name)
        if hostname != name:
            self._hostnames[name] = hostname
        else:
            self._hostnames.pop(name, None)
        return self._set_node(name, topology_node(node))

    def remove_node(self, name: str) -> frozenset[str]:
        """The node is deleted; its hostname is kept while pods are assigned to it."""
        if name in self._hostnames and not self.usage.has_pods((self._hostnames[name],), self._flavors):
            del self._hostnames[name]
        return self._set_node(name, None)

    def flavors_of(self, node: str) -> frozenset[str]:
        """The flavors that have a usable node."""
        found = self._inventory.nodes.get(node)
        return frozenset([each.name for each in self._domains.values() if each.has_member(found)])

    def set_non_tas_usage(self, node: str, amounts: Mapping[str, int]) -> frozenset[str]:
        """What pods outside TAS use of a node, with `pods`; a node that is not known yet may come (TAS-27).

        Only usage that shrinks can let pods fit (TAS-28).
        """
        before = self._inventory.non_tas.get(node, {})
        if amounts == before:
            return NO_FLAVORS
        if amounts:
            self._inventory.non_tas[node] = dict(amounts)
        else:
            del self._inventory.non_tas[node]
        changed = self._recount(self._inventory.nodes.get(node))
        return changed if any(amounts.get(name, 0) < amount for name, amount in before.items()) else NO_FLAVORS

    def _set_node(self, name: str, node: TopologyNode | None) -> frozenset[str]:
        nodes = self._inventory.nodes
        before = nodes.get(name)
        if node == before:
            return NO_FLAVORS
        if node is None:
            del nodes[name]
        else:
            nodes[name] = node
        if before is None or node is None or before.labels != node.labels:
            self._forget_overlapping()
        return frozenset([each.name for each in self._domains.values() if each.replace_node(name, before, node)])

    def _recount(self, node: TopologyNode | None) -> frozenset[str]:
        if node is None:
            return NO_FLAVORS
        changed = [each for each in self._domains.values() if each.has_member(node)]
        for each in changed:
            each.recount(node.name)
        return frozenset([each.name for each in changed])

    # Topologies and flavors

    def put_topology(self, name: str, levels: tuple[str, ...]) -> frozenset[str]:
        """A Topology as it is now; usage of hosts remains when its levels change (TAS-4)."""
        if self._topologies.get(name) == levels:
            return NO_FLAVORS
        self._topologies[name] = levels
        return self._renew([each for each in self._flavors.values() if each.topology == name])

    def remove_topology(self, name: str) -> frozenset[str]:
        """The Topology is deleted."""
        if self._topologies.pop(name, None) is None:
            return NO_FLAVORS
        return self._renew([each for each in self._flavors.values() if each.topology == name])

    def put_flavor(self, flavor: Flavor) -> frozenset[str]:
        """A flavor as it is now; without a topology it has no domains (TAS-5)."""
        before = self._flavors.get(flavor.name)
        if before == flavor or (before is None and not flavor.topology):
            return NO_FLAVORS
        if not flavor.topology:
            return self.remove_flavor(flavor.name)
        self._flavors[flavor.name] = flavor
        return self._renew([flavor])

    def remove_flavor(self, name: str) -> frozenset[str]:
        """The flavor is deleted."""
        flavor = self._flavors.pop(name, None)
        return NO_FLAVORS if flavor is None else self._renew([flavor])

    def _renew(self, flavors: list[Flavor]) -> frozenset[str]:
        self._forget_overlapping()
        for flavor in flavors:
            domains = self._domains.pop(flavor.name, None)
            if domains is not None:
                domains.rebuild()
            levels = self._topologies.get(flavor.topology)
            if levels and flavor.name in self._flavors:
                self._domains[flavor.name] = FlavorDomains(flavor, levels, self._inventory, self.usage, self.settings)
        return frozenset([flavor.name for flavor in flavors])
