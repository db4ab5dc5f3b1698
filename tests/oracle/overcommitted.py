"""Whether the real Kueue overcommitted a domain within a cycle (Q-3, Q-14).

Before it admits an entry, it checks again whether the places are still free: each pod set on its own, and without the
number of pods. Two pod sets on one domain may then both pass, and so may pods that exceed the limit of a node.
"""

from collections import Counter
from typing import Any
from unittest.mock import patch

from kohort.engine.placement.search import FoundPlaces
from kohort.engine.topology.flavor_domains import FlavorDomains
from kohort.engine.topology.usage import PODS, DomainCounter
from oracle.lost_places import agrees, is_parked, is_recomputed

Json = Any


def _largest_fits(places: FoundPlaces) -> bool:
    """The check of Kueue, where the largest pod set on a domain decides for all of one shape."""
    most: dict[tuple[str, ...], int] = {}
    for placed in places.domains.values():
        for domain in placed.domains:
            most[domain.values] = max(most.get(domain.values, 0), domain.pods)
    return all(
        available_without_pods(places.topologies[counter.flavor], counter) >= min(pods, most.get(counter.key[1], pods))
        for counter, pods in places.added.items()
    )


def _equal_parts_fit(places: FoundPlaces) -> bool:
    """The check of Kueue, where pod sets of one shape add equally many pods to a domain."""
    count = Counter(domain.values for placed in places.domains.values() for domain in placed.domains)
    return all(
        available_without_pods(places.topologies[counter.flavor], counter) >= -(-pods // max(1, count[counter.key[1]]))
        for counter, pods in places.added.items()
    )


def available_without_pods(topology: FlavorDomains, counter: DomainCounter) -> int:
    """How many more pods fit as far as resources other than `pods` go; negative where there are too many."""
    tree = topology.tree
    leaf = tree.leaf_of.get(counter.key[1])
    if leaf is None:
        return 0
    free, used = tree.free[leaf], tree.usage[leaf].amounts
    return min([(free.get(name, 0) - used.get(name, 0)) // amount for name, amount in counter.per_pod if name != PODS])


def is_overcommitted(scenario: Json, answer: list[Json]) -> bool:
    """Whether ours has this result too once it checks places as Kueue does."""
    for check in (_largest_fits, _equal_parts_fit):
        with patch.object(FoundPlaces, "added_fit", check):
            if any(explains(scenario, answer) for explains in (agrees, is_parked, is_recomputed)):
                return True
    return False
