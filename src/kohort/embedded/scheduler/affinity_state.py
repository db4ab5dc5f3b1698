"""Pod affinity, anti-affinity and topology spread of one pod, evaluated against the assigned pods.

The state is computed once per pod from counts by node; filtering a node then takes a few lookups.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log

from kohort.api.taints import untolerated
from kohort.embedded.scheduler.cache import NodeInfo, PodInfo, SchedulerCache
from kohort.embedded.scheduler.diagnosis import (
    AFFINITY,
    ANTI_AFFINITY,
    EXISTING_ANTI_AFFINITY,
    NO_SPREAD_LABEL,
    SPREAD,
    FilterFailure,
)
from kohort.embedded.scheduler.requirements import PodRequirements
from kohort.embedded.scheduler.terms import AffinityTerm, PodSelection, TopologySpread

Domains = dict[str, int]
"""Number of pods by value of a node label."""


@dataclass(frozen=True, slots=True)
class SpreadCounts:
    """A topology spread constraint with the pod counts of its domains."""

    key: str
    domains: Domains
    least: int
    """Number of pods in the domain with the fewest."""
    self_count: int
    max_skew: int


@dataclass(frozen=True, slots=True)
class AffinityState:
    """Everything about assigned pods that affects the placement of one pod."""

    affinity_domains: tuple[tuple[str, Domains], ...]
    allows_first_pod: bool
    """Whether the pod matches its own affinity terms and no assigned pod does, which waives the required affinity."""
    anti_affinity_domains: tuple[tuple[str, Domains], ...]
    existing_domains: tuple[tuple[str, Domains], ...]
    spreads: tuple[SpreadCounts, ...]
    soft_spreads: tuple[SpreadCounts, ...]
    weighted_terms: tuple[tuple[str, Domains], ...]
    """Weights by value of a topology label, summed for the score."""

    def filter_failure(self, node: NodeInfo) -> FilterFailure | None:
        """The affinity or spread rule that the node violates, if any."""
        labels = node.labels
        for each in self.spreads:
            value = labels.get(each.key)
            if value is None:
                return NO_SPREAD_LABEL
            if each.domains.get(value, 0) + each.self_count - each.least > each.max_skew:
                return SPREAD
        if not self._is_near(node):
            return AFFINITY
        if _is_in(self.anti_affinity_domains, node):
            return ANTI_AFFINITY
        return EXISTING_ANTI_AFFINITY if _is_in(self.existing_domains, node) else None

    def _is_near(self, node: NodeInfo) -> bool:
        labels = node.labels
        if any(key not in labels for key, _ in self.affinity_domains):
            return False
        return self.allows_first_pod or all(domains.get(labels[key]) for key, domains in self.affinity_domains)

    def weighted_score(self, node: NodeInfo) -> float:
        """Sum of the weights of the preferred terms that the node satisfies."""
        labels = node.labels
        return sum(domains.get(labels[key], 0) for key, domains in self.weighted_terms if key in labels)

    def spread_penalty(self, node: NodeInfo) -> float:
        """How many matching pods the node's domains already have; smaller topologies weigh more, as in Kubernetes."""
        labels = node.labels
        total = 0.0
        for each in self.soft_spreads:
            if each.key in labels:
                total += each.domains.get(labels[each.key], 0) * log(len(each.domains) + 2) + each.max_skew - 1
        return total


def _is_in(terms: tuple[tuple[str, Domains], ...], node: NodeInfo) -> bool:
    labels = node.labels
    return any(key in labels and labels[key] in domains for key, domains in terms)


def is_selected(cache: SchedulerCache, pod: PodInfo) -> bool:
    """Whether terms of assigned pods select this pod."""
    pod_counts = cache.pod_counts
    return any(_selects(cache, term, pod) for term in pod_counts.anti_affinity) or any(
        _selects(cache, weighted.term, pod) for weighted in pod_counts.weighted
    )


def affinity_state(cache: SchedulerCache, pod: PodInfo) -> AffinityState:
    """Computes the affinity state of a pod."""
    relations, pod_counts = pod.requirements.relations, cache.pod_counts
    affinity_domains = pod_counts.count(relations.affinity_selection) if relations.affinity else {}
    affinity = tuple(
        (term.topology_key, _domains(cache, term.topology_key, affinity_domains)) for term in relations.affinity
    )
    return AffinityState(
        affinity_domains=affinity,
        allows_first_pod=not any(domains for _, domains in affinity)
        and all(_selects(cache, term, pod) for term in relations.affinity),
        anti_affinity_domains=tuple(_peer_domains(cache, term) for term in relations.anti_affinity),
        existing_domains=tuple(
            (term.topology_key, _domains(cache, term.topology_key, counts))
            for term, counts in pod_counts.anti_affinity.items()
            if _selects(cache, term, pod)
        ),
        spreads=tuple(_spread_counts(cache, pod.requirements, each, relations.spreads) for each in relations.spreads),
        soft_spreads=tuple(
            _spread_counts(cache, pod.requirements, each, relations.soft_spreads) for each in relations.soft_spreads
        ),
        weighted_terms=tuple(_weighted_terms(cache, pod)),
    )


def _selects(cache: SchedulerCache, term: AffinityTerm, pod: PodInfo) -> bool:
    return term.peers.match(pod.key.namespace, pod.labels, cache.pod_counts.namespaces)


def _peer_domains(cache: SchedulerCache, term: AffinityTerm) -> tuple[str, Domains]:
    """The domains that contain pods selected by a term."""
    counts = cache.pod_counts.count(PodSelection((term.peers,), include_terminating=True))
    return term.topology_key, _domains(cache, term.topology_key, counts)


def _domains(cache: SchedulerCache, key: str, counts: Mapping[str, int]) -> Domains:
    """Converts counts by node to counts by the value of a label."""
    nodes = cache.nodes
    domains: Domains = {}
    for name, count in counts.items():
        node = nodes.get(name)
        value = node.labels.get(key) if node is not None else None
        if value is not None:
            domains[value] = domains.get(value, 0) + count
    return domains


def _weighted_terms(cache: SchedulerCache, pod: PodInfo) -> Iterator[tuple[str, Domains]]:
    for weighted in pod.requirements.relations.weighted_terms:
        key, domains = _peer_domains(cache, weighted.term)
        yield key, {value: count * weighted.weight for value, count in domains.items()}
    for weighted, counts in cache.pod_counts.weighted.items():
        if _selects(cache, weighted.term, pod):
            domains = _domains(cache, weighted.term.topology_key, counts)
            yield weighted.term.topology_key, {value: count * weighted.weight for value, count in domains.items()}


def _spread_counts(
    cache: SchedulerCache, requirements: PodRequirements, spread: TopologySpread, group: tuple[TopologySpread, ...]
) -> SpreadCounts:
    """Counts pods by domain; only nodes with the labels of all constraints that are eligible for the pod count."""
    counts = cache.pod_counts.count(spread.selection)
    domains: Domains = {}
    for node in _included(cache, requirements, spread, [each.topology_key for each in group]):
        value = node.labels[spread.topology_key]
        domains[value] = domains.get(value, 0) + counts.get(node.name, 0)
    least = min(domains.values(), default=0) if len(domains) >= spread.min_domains else 0
    return SpreadCounts(spread.topology_key, domains, least, int(spread.counts_itself), spread.max_skew)


def _included(
    cache: SchedulerCache, requirements: PodRequirements, spread: TopologySpread, keys: list[str]
) -> Iterator[NodeInfo]:
    filters_nodes = spread.honors_affinity and requirements.picks_nodes
    for node in cache.nodes.values():
        labels = node.labels
        if not all(key in labels for key in keys):
            continue
        if filters_nodes and not requirements.nodes.matches(node.name, labels):
            continue
        if not (spread.honors_taints and untolerated(node.taints, requirements.tolerations)):
            yield node
