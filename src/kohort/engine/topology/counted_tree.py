"""A tree with its counts and node selections: those used last are kept, and follow changes of nodes."""

from collections.abc import Mapping, Sequence
from itertools import chain

from kohort.api.meta import Taint
from kohort.engine.topology.counts import CountedShape, DomainCounts
from kohort.engine.topology.matcher import NodeMatcher
from kohort.engine.topology.matches import NodeMatches, node_matches, within_domains
from kohort.engine.topology.nodes import TopologyNode
from kohort.engine.topology.tree import DomainPath, DomainTree

MAX_SHAPES = 32
"""Shapes of requests, and node selections, that are kept."""


class CountedTree:
    """One tree, and the counts of shapes in it."""

    def __init__(self, tree: DomainTree) -> None:
        self.tree = tree
        self._counts: dict[CountedShape, DomainCounts] = {}
        self._matches: dict[NodeMatcher, NodeMatches] = {}

    def counts(self, shape: CountedShape, within: DomainPath | None) -> DomainCounts:
        """Counts of a shape; `within` is the path of the only domain allowed (TAS-108)."""
        tree = self.tree
        if within is not None:
            matches = within_domains(tree, self._matches_of(shape.matcher), tree.leaves_below(within))
            return DomainCounts(tree, shape, matches)
        counts = self._counts.pop(shape, None) or DomainCounts(tree, shape, self._matches_of(shape.matcher))
        self._counts[shape] = counts
        if len(self._counts) > MAX_SHAPES:
            del self._counts[next(iter(self._counts))]
        return counts

    def set_nodes(self, leaf: int, nodes: Sequence[TopologyNode], free: Mapping[str, int]) -> None:
        """Change the nodes of a domain, or what they are and have."""
        tree = self.tree
        before = _selectable(tree.nodes[leaf])
        tree.set_nodes(leaf, nodes)
        tree.free[leaf] = free
        tree.changes.add_capacity(leaf)
        if tree.is_host and before != _selectable(nodes):
            self._match_again(leaf)

    def _match_again(self, leaf: int) -> None:
        """Check a host again; scores are sums, and are computed anew when needed."""
        self._matches = {matcher: each for matcher, each in self._matches.items() if not matcher.preferred}
        self._counts = {shape: each for shape, each in self._counts.items() if not shape.matcher.preferred}
        for matches in chain(self._matches.values(), [counts.matches for counts in self._counts.values()]):
            matches.update(leaf, self.tree.nodes[leaf])

    def _matches_of(self, matcher: NodeMatcher) -> NodeMatches:
        matches = self._matches.pop(matcher, None) or node_matches(self.tree, matcher)
        self._matches[matcher] = matches
        if len(self._matches) > MAX_SHAPES:
            del self._matches[next(iter(self._matches))]
        return matches


def _selectable(nodes: Sequence[TopologyNode]) -> list[tuple[Mapping[str, str], Sequence[Taint]]]:
    """What node selections depend on."""
    return [(node.labels, node.taints) for node in nodes[:1]]
