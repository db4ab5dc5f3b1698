"""Which domains of a tree a node selection leaves, and how much each is preferred (TAS-45, TAS-65).

Only hosts are checked. Results depend on no usage: they are kept, and a host is checked again when it changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kohort.engine.topology.matcher import OUTSIDE_DOMAIN, Exclusion, NodeMatcher
from kohort.engine.topology.nodes import TopologyNode
from kohort.engine.topology.tree import DomainTree


@dataclass(frozen=True, slots=True)
class NodeMatches:
    """The result of a node selection."""

    matcher: NodeMatcher
    exclusions: list[Exclusion | None]
    """Per domain of the lowest level, why it can't have pods."""
    scores: Sequence[Sequence[int]]
    """Per level and domain (TAS-65)."""

    def update(self, leaf: int, nodes: Sequence[TopologyNode]) -> None:
        """Check a host again that has other nodes, or nodes with other labels or taints; scores stay."""
        self.exclusions[leaf] = _exclusion(self.matcher, nodes)


def node_matches(tree: DomainTree, matcher: NodeMatcher) -> NodeMatches:
    """Check the nodes of a host topology; the first node of a host counts, and other domains all match (TAS-45)."""
    if not tree.is_host:
        return NodeMatches(matcher, [None] * tree.leaf_count, _zeros(tree))
    exclusions = [_exclusion(matcher, nodes) for nodes in tree.nodes]
    return NodeMatches(matcher, exclusions, _scores(tree, matcher, exclusions) if matcher.preferred else _zeros(tree))


def _exclusion(matcher: NodeMatcher, nodes: Sequence[TopologyNode]) -> Exclusion | None:
    return matcher.exclusion(nodes[0]) if nodes else None


def within_domains(tree: DomainTree, matches: NodeMatches, domains: range) -> NodeMatches:
    """The same for a part of the tree: a replacement stays in its mandatory domain (TAS-46(1))."""
    exclusions = [
        exclusion if exclusion is not None or leaf in domains or not tree.nodes[leaf] else OUTSIDE_DOMAIN
        for leaf, exclusion in enumerate(matches.exclusions)
    ]
    return NodeMatches(matches.matcher, exclusions, matches.scores)


def _zeros(tree: DomainTree) -> tuple[Sequence[int], ...]:
    return tuple([0] * len(level.paths) for level in tree.levels)


def _scores(
    tree: DomainTree, matcher: NodeMatcher, exclusions: Sequence[Exclusion | None]
) -> tuple[Sequence[int], ...]:
    scores = [
        matcher.score(nodes[0]) if nodes and not exclusion else 0
        for nodes, exclusion in zip(tree.nodes, exclusions, strict=True)
    ]
    result = [scores]
    for level in reversed(tree.levels[:-1]):
        first = level.first_child
        scores = [sum(scores[first[domain] : first[domain + 1]]) for domain in range(len(level.paths))]
        result.append(scores)
    return tuple(reversed(result))
