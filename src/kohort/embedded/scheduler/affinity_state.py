"""What other pods have to say about where a pod goes: affinity, anti-affinity and spreading, for one pod at one moment.

Made once per pod from counts by node; then each node is a few lookups.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log

from kohort.api.taints import untolerated
from kohort.embedded.scheduler.cache import NodeInfo, PodInfo, SchedulerCache
from kohort.embedded.scheduler.diagnosis import ENEMIES, NO_DOMAIN, NO_FRIENDS, UNEVEN, UNWELCOME, FilterFailure
from kohort.embedded.scheduler.requirements import PodRequirements
from kohort.embedded.scheduler.terms import AffinityTerm, PodSelection, TopologySpread

Domains = dict[str, int]
"""Pods by value of a node label."""


@dataclass(frozen=True, slots=True)
class SpreadCounts:
    """A spread constraint, counted."""

    key: str
    domains: Domains
    least: int
    """Pods in the emptiest domain."""
    itself: int
    max_skew: int


@dataclass(frozen=True, slots=True)
class AffinityState:
    """Everything about other pods that matters to one pod now."""

    friends: tuple[tuple[str, Domains], ...]
    may_come_first: bool
    """Whether the pod is of its own kind and the first of it, so that it need not be near to another."""
    enemies: tuple[tuple[str, Domains], ...]
    unwelcome: tuple[tuple[str, Domains], ...]
    spreads: tuple[SpreadCounts, ...]
    soft_spreads: tuple[SpreadCounts, ...]
    pulls: tuple[tuple[str, Domains], ...]
    """Weights by value of a label, to be added up."""

    def refused(self, node: NodeInfo) -> FilterFailure | None:
        """What other pods have against the node."""
        labels = node.labels
        for each in self.spreads:
            value = labels.get(each.key)
            if value is None:
                return NO_DOMAIN
            if each.domains.get(value, 0) + each.itself - each.least > each.max_skew:
                return UNEVEN
        if not self._is_near(node):
            return NO_FRIENDS
        if _is_in(self.enemies, node):
            return ENEMIES
        return UNWELCOME if _is_in(self.unwelcome, node) else None

    def _is_near(self, node: NodeInfo) -> bool:
        labels = node.labels
        if any(key not in labels for key, _ in self.friends):
            return False
        return self.may_come_first or all(domains.get(labels[key]) for key, domains in self.friends)

    def pull(self, node: NodeInfo) -> float:
        """How much other pods draw the pod to the node."""
        labels = node.labels
        return sum(domains.get(labels[key], 0) for key, domains in self.pulls if key in labels)

    def crowding(self, node: NodeInfo) -> float:
        """How full the node's domains are already; rare domains count more, so that hosts do not drown zones."""
        labels = node.labels
        total = 0.0
        for each in self.soft_spreads:
            if each.key in labels:
                total += each.domains.get(labels[each.key], 0) * log(len(each.domains) + 2) + each.max_skew - 1
        return total


def _is_in(places: tuple[tuple[str, Domains], ...], node: NodeInfo) -> bool:
    labels = node.labels
    return any(key in labels and labels[key] in domains for key, domains in places)


def is_spoken_of(cluster: SchedulerCache, pod: PodInfo) -> bool:
    """Whether pods on nodes say anything about this one."""
    tallies = cluster.tallies
    return any(_speaks_of(cluster, term, pod) for term in tallies.repelling) or any(
        _speaks_of(cluster, pull.term, pod) for pull in tallies.pulling
    )


def surroundings(cluster: SchedulerCache, pod: PodInfo) -> AffinityState:
    """What the cluster's pods have to say about a pod."""
    said, tallies = pod.demand.relations, cluster.tallies
    friends = tallies.count(said.attracted) if said.affinity else {}
    near = tuple((term.topology_key, _domains(cluster, term.topology_key, friends)) for term in said.affinity)
    return AffinityState(
        friends=near,
        may_come_first=not any(domains for _, domains in near)
        and all(_speaks_of(cluster, term, pod) for term in said.affinity),
        enemies=tuple(_places(cluster, term) for term in said.anti_affinity),
        unwelcome=tuple(
            (term.topology_key, _domains(cluster, term.topology_key, counts))
            for term, counts in tallies.repelling.items()
            if _speaks_of(cluster, term, pod)
        ),
        spreads=tuple(_evenness(cluster, pod.demand, each, said.spreads) for each in said.spreads),
        soft_spreads=tuple(_evenness(cluster, pod.demand, each, said.soft_spreads) for each in said.soft_spreads),
        pulls=tuple(_pulls(cluster, pod)),
    )


def _speaks_of(cluster: SchedulerCache, term: AffinityTerm, pod: PodInfo) -> bool:
    return term.peers.match(pod.key.namespace, pod.labels, cluster.tallies.namespaces)


def _places(cluster: SchedulerCache, term: AffinityTerm) -> tuple[str, Domains]:
    """Where the pods of a term are."""
    counts = cluster.tallies.count(PodSelection((term.peers,), with_leaving=True))
    return term.topology_key, _domains(cluster, term.topology_key, counts)


def _domains(cluster: SchedulerCache, key: str, counts: Mapping[str, int]) -> Domains:
    """Counts by node as counts by the value of a label."""
    nodes = cluster.nodes
    domains: Domains = {}
    for name, count in counts.items():
        node = nodes.get(name)
        value = node.labels.get(key) if node is not None else None
        if value is not None:
            domains[value] = domains.get(value, 0) + count
    return domains


def _pulls(cluster: SchedulerCache, pod: PodInfo) -> Iterator[tuple[str, Domains]]:
    for pull in pod.demand.relations.pulls:
        key, domains = _places(cluster, pull.term)
        yield key, {value: count * pull.weight for value, count in domains.items()}
    for pull, counts in cluster.tallies.pulling.items():
        if _speaks_of(cluster, pull.term, pod):
            domains = _domains(cluster, pull.term.topology_key, counts)
            yield pull.term.topology_key, {value: count * pull.weight for value, count in domains.items()}


def _evenness(
    cluster: SchedulerCache, demand: PodRequirements, spread: TopologySpread, group: tuple[TopologySpread, ...]
) -> SpreadCounts:
    """Pods by domain; only nodes that have the labels of all constraints, and that the pod could use, make domains."""
    counts = cluster.tallies.count(spread.crowd)
    domains: Domains = {}
    for node in _included(cluster, demand, spread, [each.topology_key for each in group]):
        value = node.labels[spread.topology_key]
        domains[value] = domains.get(value, 0) + counts.get(node.name, 0)
    least = min(domains.values(), default=0) if len(domains) >= spread.min_domains else 0
    return SpreadCounts(spread.topology_key, domains, least, int(spread.counts_itself), spread.max_skew)


def _included(
    cluster: SchedulerCache, demand: PodRequirements, spread: TopologySpread, keys: list[str]
) -> Iterator[NodeInfo]:
    picky = spread.honors_affinity and demand.picks_nodes
    for node in cluster.nodes.values():
        labels = node.labels
        if not all(key in labels for key in keys):
            continue
        if picky and not demand.nodes.matches(node.name, labels):
            continue
        if not (spread.honors_taints and untolerated(node.taints, demand.tolerations)):
            yield node
