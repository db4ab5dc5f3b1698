"""The subset of domains that covers a request with the smallest surplus (TAS-64)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import NamedTuple

from kohort.engine.topology.levels import LevelCounts
from kohort.engine.topology.tree import DomainTree


class _Need(NamedTuple):
    """What is still to be covered."""

    leaders: int
    pods: int


@dataclass(frozen=True, slots=True)
class _Chain:
    """Domains chosen so far, the last one first."""

    domain: int
    before: "_Chain | None"


_States = dict[_Need, _Chain | None]


def optimal_subset(counts: LevelCounts, ordered: Sequence[int], size: int, leaders: int, pods: int) -> list[int] | None:
    """The first subset of a given size, in the order of the domains, whose pods exceed what is needed the least.

    One domain may have the leader, and has fewer workers then.
    """
    states: list[_States] = [{} for _ in range(size + 1)]
    states[0][_Need(leaders, pods)] = None
    reach = _reach(counts, ordered, size)
    for domain in ordered:
        for used in range(size, 0, -1):
            for need in sorted(states[used - 1]):
                if need.leaders <= 0 and need.pods <= 0:
                    continue
                chain = _Chain(domain, states[used - 1][need])
                for after in _with_domain(counts, domain, need):
                    if after.pods <= reach[size - used]:
                        states[used].setdefault(after, chain)
    covered = [need for need in states[size] if need.leaders == 0 and need.pods <= 0]
    return _domains(states[size][max(covered)]) if covered else None


def _with_domain(counts: LevelCounts, domain: int, need: _Need) -> list[_Need]:
    """What is left after a domain with the leader, and after one without."""
    result: list[_Need] = []
    if need.leaders > 0 and counts.leaders[domain] > 0:
        result.append(_Need(need.leaders - 1, need.pods - counts.pods_with_leader[domain]))
    if counts.slices[domain] > 0:
        result.append(_Need(need.leaders, need.pods - counts.pods[domain]))
    return result


def _reach(counts: LevelCounts, domains: Sequence[int], size: int) -> list[int]:
    """The most pods that so many domains can have: states that need more lead to no subset."""
    largest = sorted([counts.pods[domain] for domain in domains], reverse=True)
    return [sum(largest[:number]) for number in range(size + 1)]


def _domains(chain: _Chain | None) -> list[int]:
    result: list[int] = []
    while chain is not None:
        result.append(chain.domain)
        chain = chain.before
    return result[::-1]


def by_entropy(tree: DomainTree, levels: Sequence[LevelCounts], level: int, domains: Sequence[int]) -> list[int]:
    """Domains in entropy order: leader, slices with the leader, and even distribution over their children (TAS-64)."""
    counts, below = levels[level], levels[level + 1]

    def key(domain: int) -> tuple[float, ...]:
        children = tree.children(level, domain)
        entropy = _entropy(below.pods[children.start : children.stop])
        return (-counts.leaders[domain], -counts.slices_with_leader[domain], -entropy, domain)

    return sorted(domains, key=key)


def _entropy(pods: Sequence[int]) -> float:
    """Shannon entropy in bits of the distribution of pods."""
    total = sum(pods)
    return -sum([count / total * log2(count / total) for count in pods if count])
