"""Lists of domains that are joined or shortened (TAS-67, TAS-107(5))."""

from collections import Counter

from msgspec import structs

from kohort.api.kueue.slices import Domain
from kohort.engine.topology.flavor_domains import FlavorDomains
from kohort.engine.topology.result import TopologyDomains


def merged(flavor: FlavorDomains, left: TopologyDomains, right: TopologyDomains) -> TopologyDomains:
    """The domains of both in path order; a domain of both has the pods of both."""
    pods: Counter[tuple[str, ...]] = Counter()
    for domain in (*left.domains, *right.domains):
        pods[domain.values] += domain.pods
    lowest = flavor.levels[-1]
    ordered = sorted(pods, key=lambda values: flavor.path_of(values, lowest))
    return structs.replace(left, domains=tuple([Domain(values, pods[values]) for values in ordered]))


def truncated(domains: TopologyDomains, pods: int) -> TopologyDomains:
    """The first pods, in the order of the domains: the last ones are removed (TAS-67)."""
    kept: list[Domain] = []
    for domain in domains.domains:
        if pods <= 0:
            break
        kept.append(Domain(domain.values, min(domain.pods, pods)))
        pods -= domain.pods
    return structs.replace(domains, domains=tuple(kept))
