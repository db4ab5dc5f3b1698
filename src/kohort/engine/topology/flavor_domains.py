"""The domains of one TAS flavor, with live capacity and usage: where the pods of a request go."""

from collections.abc import Mapping, Sequence

from kohort.api.core.nodes import HOSTNAME
from kohort.api.kueue.slices import Domain
from kohort.engine.records import Flavor
from kohort.engine.topology.balanced import BalancedSearch
from kohort.engine.topology.counted_tree import CountedTree
from kohort.engine.topology.counts import DomainCounts
from kohort.engine.topology.descent import Descent, DomainShare
from kohort.engine.topology.failure import no_domains, shortfall, undivided
from kohort.engine.topology.nodes import NodeInventory, TopologyNode
from kohort.engine.topology.parameters import PlacementParameters, PlacementProblem
from kohort.engine.topology.prepared import PreparedRequest, prepare
from kohort.engine.topology.request import CapacityMode, PlacementRequest
from kohort.engine.topology.result import GroupPlacement, PlacementFailure, TopologyDomains
from kohort.engine.topology.selection import LevelSearch, LevelShortfall
from kohort.engine.topology.settings import PlacementSettings
from kohort.engine.topology.tree import DomainPath, DomainTree, leaves_of
from kohort.engine.topology.usage import (
    NOTHING_ASSUMED,
    AssumedUsage,
    DomainCounter,
    TopologyUsage,
    UsageKey,
    pod_amounts_of,
)


class FlavorDomains:
    """The tree of one flavor; built when it is needed after nodes came, went or moved."""

    def __init__(
        self,
        flavor: Flavor,
        levels: tuple[str, ...],
        inventory: NodeInventory,
        usage: TopologyUsage,
        settings: PlacementSettings,
    ) -> None:
        self.name = flavor.name
        self.topology = flavor.topology
        self.levels = levels
        self.is_host = levels[-1] == HOSTNAME
        self._labels = flavor.labels
        self._inventory = inventory
        self._usage = usage
        self._settings = settings
        self._counted: CountedTree | None = None

    @property
    def levels_text(self) -> str:
        """The levels in messages about requests that do not suit them."""
        return f"levels of Topology {self.topology}: {', '.join(self.levels)}"

    @property
    def tree(self) -> DomainTree:
        """The current tree."""
        return self._counted_tree().tree

    def _counted_tree(self) -> CountedTree:
        if self._counted is None:
            self._counted = CountedTree(self._build())
        return self._counted

    # Nodes

    def node_path(self, node: TopologyNode | None) -> DomainPath | None:
        """The values of a node for all levels, if it has the labels of the flavor and one for every level (TAS-21)."""
        if node is None:
            return None
        labels = node.labels
        if any(labels.get(key) != value for key, value in self._labels.items()):
            return None
        path = [labels[level] for level in self.levels if level in labels]
        return tuple(path) if len(path) == len(self.levels) else None

    def has_member(self, node: TopologyNode | None) -> bool:
        """Whether a node belongs to the flavor."""
        return self.node_path(node) is not None

    @property
    def shares_hosts(self) -> bool:
        """Whether usage of its hosts counts for other flavors too (TAS-31)."""
        return self.is_host and self._settings.shares_hosts

    def overlaps(self, other: "FlavorDomains") -> bool:
        """Whether both have a host."""
        mine, theirs = self.tree.leaf_of, other.tree.leaf_of
        return not mine.keys().isdisjoint(theirs)

    def replace_node(self, name: str, before: TopologyNode | None, node: TopologyNode | None) -> bool:
        """Whether a member came, went, moved or changed; the tree is built anew only where it needs another domain."""
        old, new = self.node_path(before), self.node_path(node)
        if old is None and new is None:
            return False
        if old == new:
            self.recount(name)
        else:
            leaves = old is None or self._set_members(old, name, [])
            enters = new is None or self._set_members(new, name, [] if node is None else [node])
            if not (leaves and enters):
                self.rebuild()
        return True

    def recount(self, node: str) -> None:
        """A node has other capacity for TAS pods, or labels and taints that do not move it to another domain."""
        counted = self._counted
        if counted is not None and node in counted.tree.leaf_of_node:
            leaf = counted.tree.leaf_of_node[node]
            self._set_nodes(counted, leaf, [self._inventory.nodes[each.name] for each in counted.tree.nodes[leaf]])

    def _set_members(self, path: DomainPath, name: str, added: Sequence[TopologyNode]) -> bool:
        """Whether a node could leave or enter a domain: it exists, and a host has no other node (TAS-22)."""
        counted = self._counted
        leaf = None if counted is None else counted.tree.find(path)
        if counted is None or leaf is None:
            return False
        others = [each for each in counted.tree.nodes[leaf] if each.name != name]
        if self.is_host and others:
            return False
        self._set_nodes(counted, leaf, [*others, *added])
        return True

    def _set_nodes(self, counted: CountedTree, leaf: int, nodes: Sequence[TopologyNode]) -> None:
        counted.set_nodes(leaf, nodes, self._inventory.free(nodes))

    def rebuild(self) -> None:
        """Domains came, or everything may be different."""
        if self._counted is None:
            return
        for usage in self._counted.tree.usage:
            usage.trees.pop(self.name, None)
        self._counted = None

    def _build(self) -> DomainTree:
        inventory = self._inventory
        nodes = ((self.node_path(node), node) for _, node in sorted(inventory.nodes.items()))
        members = ((path, node) for path, node in nodes if path is not None)
        tree = DomainTree(self.levels, leaves_of(members, is_host=self.is_host))
        tree.free = [inventory.free(members) for members in tree.nodes]
        self._usage.prune()
        tree.usage = [self._usage.domain(self.usage_key(tree.values(leaf))) for leaf in range(tree.leaf_count)]
        for leaf, usage in enumerate(tree.usage):
            usage.trees[self.name] = (tree.changes, leaf)
        return tree

    # Usage

    def usage_key(self, values: tuple[str, ...]) -> UsageKey:
        """Where pods on a domain are counted: hosts for all flavors together (TAS-31)."""
        return ("" if self.is_host and self._settings.shares_hosts else self.name, values)

    def has_domain(self, values: tuple[str, ...]) -> bool:
        """Whether the tree has a domain, by the values of an assignment."""
        return values in self.tree.leaf_of

    def path_of(self, values: tuple[str, ...], level: str) -> DomainPath:
        """The path of the domain of a level that has a domain of the lowest level; the tree must have it."""
        tree, index = self.tree, self.levels.index(level)
        return tree.levels[-1].paths[tree.leaf_of[values]][: index + 1]

    def counter(self, values: tuple[str, ...], per_pod: Mapping[str, int]) -> DomainCounter:
        """Counts pods of one shape on one domain, whether the tree has it or not (TAS-30)."""
        return DomainCounter(self.name, self.usage_key(values), pod_amounts_of(per_pod), self._usage)

    def assume(self, assumed: AssumedUsage, domains: TopologyDomains, per_pod: Mapping[str, int]) -> None:
        """Add placed pods to assumed usage (TAS-41)."""
        amounts = pod_amounts_of(per_pod)
        for domain in domains.domains:
            assumed.add(self.usage_key(domain.values), amounts, domain.pods)

    def available(self, counter: DomainCounter) -> int:
        """How many more pods of a shape fit on a domain; none on one that the tree does not have (TAS-80)."""
        tree = self.tree
        leaf = tree.leaf_of.get(counter.key[1])
        if leaf is None:
            return 0
        free, used = tree.free[leaf], tree.usage[leaf].amounts
        return max(0, min([(free.get(name, 0) - used.get(name, 0)) // amount for name, amount in counter.per_pod]))

    # Placement

    def place(
        self,
        request: PlacementRequest,
        assumed: AssumedUsage = NOTHING_ASSUMED,
        *,
        mode: CapacityMode = CapacityMode.CURRENT,
        within: DomainPath | None = None,
    ) -> GroupPlacement | PlacementFailure:
        """Where the pods go, all or none; `within` is the path of the only domain allowed (TAS-108)."""
        return self.place_prepared(self.prepared(request), assumed, mode=mode, within=within)

    def prepared(self, request: PlacementRequest) -> PreparedRequest | PlacementFailure:
        """A request in terms of the levels, or why it does not suit them."""
        try:
            return prepare(request, self.levels, self._settings)
        except PlacementProblem as problem:
            described = f"{problem} (flavor {self.name}; {self.levels_text})"
            return PlacementFailure(topology=self.topology, problem=described)

    def place_prepared(
        self,
        request: PreparedRequest | PlacementFailure,
        assumed: AssumedUsage,
        *,
        mode: CapacityMode = CapacityMode.CURRENT,
        within: DomainPath | None = None,
    ) -> GroupPlacement | PlacementFailure:
        """The same for a prepared request; equal placements of one tree are one object while counts stay the same."""
        if isinstance(request, PlacementFailure):
            return request
        parameters, counted = request.parameters, self._counted_tree()
        if not counted.tree.leaf_of:
            return no_domains(self.topology, self.levels[parameters.level])
        if not assumed.amounts:
            return self._place_in(counted.counts(request.shapes[mode], within), parameters)
        with self._usage.assuming(assumed):
            return self._place_in(counted.counts(request.shapes[mode], within), parameters)

    def _place_in(self, counts: DomainCounts, parameters: PlacementParameters) -> GroupPlacement | PlacementFailure:
        counts.refresh()
        return counts.remembered(parameters, lambda: self._place(parameters, counts))

    def _place(self, parameters: PlacementParameters, counts: DomainCounts) -> GroupPlacement | PlacementFailure:
        shares = BalancedSearch(counts, parameters).place() if self._balances(parameters) else None
        if shares is None:
            selection = LevelSearch(counts, parameters).select()
            if isinstance(selection, LevelShortfall):
                return shortfall(self.topology, counts, parameters, selection)
            shares = Descent(counts.tree, counts.levels, parameters).place(selection.level, selection.domains)
        if shares is None or not _is_complete(shares, parameters):
            return undivided(self.topology, parameters)
        shares.sort()
        return GroupPlacement(
            self._domains([(share, share.pods) for share in shares]),
            self._domains([(share, share.leaders) for share in shares]) if parameters.leaders else None,
        )

    def _balances(self, parameters: PlacementParameters) -> bool:
        """Whether balanced placement is tried first (TAS-60)."""
        is_free = not parameters.is_required and not parameters.is_unconstrained
        return self._settings.balances and is_free and parameters.slices > 0

    def _domains(self, shares: Sequence[tuple[DomainShare, int]]) -> TopologyDomains:
        """Domains with pods, in path order (TAS-55)."""
        tree = self.tree
        return TopologyDomains(
            self.levels[-1:] if self.is_host else self.levels,
            tuple([Domain(tree.values(share.domain), pods) for share, pods in shares if pods]),
        )


def _is_complete(shares: Sequence[DomainShare], parameters: PlacementParameters) -> bool:
    """Whether every pod has a domain (Q-11)."""
    pods, leaders = sum([share.pods for share in shares]), sum([share.leaders for share in shares])
    return (pods, leaders) == (parameters.count, parameters.leaders)
