"""Which domains of a tree a node selection leaves, and how much each is preferred (TAS-45, TAS-65).

Only hosts are checked. Results depend on no usage: a tree keeps them per selection.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kohort.engine.topology.matcher import OUTSIDE_DOMAIN, Exclusion, NodeMatcher
from kohort.engine.topology.tree import DomainTree


@dataclass(frozen=True, slots=True)
class NodeMatches:
    """The result of a node selection."""

    exclusions: Sequence[Exclusion | None]
    """Per domain of the lowest level, why it can't have pods."""
    totals: Mapping[Exclusion, int]
    scores: Sequence[Sequence[int]]
    """Per level and domain (TAS-65)."""


def node_matches(tree: DomainTree, matcher: NodeMatcher) -> NodeMatches:
    """Check the nodes of a host topology; the first node of a host counts, and other domains all match (TAS-45)."""
    if not tree.is_host:
        return NodeMatches([None] * tree.leaf_count, {}, _zeros(tree))
    exclusions = [matcher.exclusion(nodes[0]) for nodes in tree.nodes]
    scores = _scores(tree, matcher, exclusions) if matcher.preferred else _zeros(tree)
    return NodeMatches(exclusions, _totals(exclusions), scores)


def within_domains(matches: NodeMatches, domains: range) -> NodeMatches:
    """The same for a part of the tree: a replacement stays in its mandatory domain (TAS-46(1))."""
    exclusions = [
        exclusion if exclusion is not None or leaf in domains else OUTSIDE_DOMAIN
        for leaf, exclusion in enumerate(matches.exclusions)
    ]
    return NodeMatches(exclusions, _totals(exclusions), matches.scores)


def _totals(exclusions: Sequence[Exclusion | None]) -> dict[Exclusion, int]:
    return dict(Counter([each for each in exclusions if each is not None]))


def _zeros(tree: DomainTree) -> tuple[Sequence[int], ...]:
    return tuple([0] * len(level.paths) for level in tree.levels)


def _scores(
    tree: DomainTree, matcher: NodeMatcher, exclusions: Sequence[Exclusion | None]
) -> tuple[Sequence[int], ...]:
    scores = [
        0 if exclusion else matcher.score(nodes[0]) for nodes, exclusion in zip(tree.nodes, exclusions, strict=True)
    ]
    result = [scores]
    for level in reversed(tree.levels[:-1]):
        first = level.first_child
        scores = [sum(scores[first[domain] : first[domain + 1]]) for domain in range(len(level.paths))]
        result.append(scores)
    return tuple(reversed(result))
