"""Compiled pod affinity and topology spread terms.

A term is a value, equal to any term with the same content, so that all replicas of a workload share one count.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kohort.api.core.affinity import Affinity, PodAffinity, PodAffinityTerm
from kohort.api.selectors import NOTHING, Operator, Requirement, Selector, compile_or_nothing, exactly
from kohort.embedded.scheduler.views import SpreadConstraint

PodLabels = Mapping[str, str]
LabelsByNamespace = Mapping[str, PodLabels]
"""Labels of all namespaces by name."""

HONOR: Final = "Honor"
_NO_LABELS: Final[PodLabels] = {}


@dataclass(frozen=True, slots=True)
class Peers:
    """Pods selected by namespace and labels."""

    namespaces: frozenset[str]
    selector: Selector
    namespace_selector: Selector = NOTHING

    def match(self, namespace: str, labels: PodLabels, all_labels: LabelsByNamespace) -> bool:
        """Whether a pod with these labels in this namespace is selected."""
        if namespace not in self.namespaces:
            of_namespace = self.namespace_selector is not NOTHING
            if not of_namespace or not self.namespace_selector.matches(all_labels.get(namespace, _NO_LABELS)):
                return False
        return self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class PodSelection:
    """Pods that match all of the selectors; topology spread excludes terminating pods."""

    peers: tuple[Peers, ...]
    include_terminating: bool

    def match(self, namespace: str, labels: PodLabels, all_labels: LabelsByNamespace) -> bool:
        """Whether a pod with these labels in this namespace is selected."""
        return all(each.match(namespace, labels, all_labels) for each in self.peers)


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """An inter-pod affinity term: selected pods and the topology key."""

    peers: Peers
    topology_key: str


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A preferred term; a negative weight stands for anti-affinity."""

    term: AffinityTerm
    weight: int


@dataclass(frozen=True, slots=True)
class TopologySpread:
    """A compiled topology spread constraint."""

    selection: PodSelection
    topology_key: str
    max_skew: int
    min_domains: int
    counts_itself: bool
    """Whether the constraint selects the pod itself."""
    honors_affinity: bool
    honors_taints: bool


@dataclass(frozen=True, slots=True)
class Relations:
    """All terms of a pod that refer to other pods."""

    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    weighted_terms: tuple[WeightedTerm, ...] = ()
    spreads: tuple[TopologySpread, ...] = ()
    """DoNotSchedule constraints."""
    soft_spreads: tuple[TopologySpread, ...] = ()

    @property
    def affinity_selection(self) -> PodSelection:
        """The pods that match all required affinity terms."""
        return PodSelection(tuple(term.peers for term in self.affinity), include_terminating=True)


NO_RELATIONS: Final = Relations()


def relations(
    namespace: str, labels: PodLabels, affinity: Affinity | None, spread: tuple[SpreadConstraint, ...]
) -> Relations:
    """Compiles the affinity and spread terms of a pod."""
    pod_affinity = affinity.pod_affinity if affinity else None
    pod_anti_affinity = affinity.pod_anti_affinity if affinity else None
    hard, soft = (
        tuple(_spread(namespace, labels, each) for each in spread if each.when_unsatisfiable == action)
        for action in ("DoNotSchedule", "ScheduleAnyway")
    )
    return Relations(
        _required(namespace, labels, pod_affinity),
        _required(namespace, labels, pod_anti_affinity),
        (
            *_weighted_terms(namespace, labels, pod_affinity, 1),
            *_weighted_terms(namespace, labels, pod_anti_affinity, -1),
        ),
        hard,
        soft,
    )


def _required(namespace: str, labels: PodLabels, affinity: PodAffinity | None) -> tuple[AffinityTerm, ...]:
    if affinity is None:
        return ()
    terms = affinity.required_during_scheduling_ignored_during_execution
    return tuple(_term(namespace, labels, each) for each in terms)


def _weighted_terms(
    namespace: str, labels: PodLabels, affinity: PodAffinity | None, sign: int
) -> tuple[WeightedTerm, ...]:
    if affinity is None:
        return ()
    terms = affinity.preferred_during_scheduling_ignored_during_execution
    return tuple(WeightedTerm(_term(namespace, labels, each.pod_affinity_term), sign * each.weight) for each in terms)


def _term(namespace: str, labels: PodLabels, term: PodAffinityTerm) -> AffinityTerm:
    selector = compile_or_nothing(term.label_selector)
    matching = exactly({key: labels[key] for key in term.match_label_keys if key in labels})
    mismatching = (
        Requirement(key, Operator.NOT_IN, frozenset((labels[key],)))
        for key in term.mismatch_label_keys
        if key in labels
    )
    own = () if term.namespaces or term.namespace_selector is not None else (namespace,)
    peers = Peers(
        frozenset((*term.namespaces, *own)),
        _with_requirements(selector, (*matching, *mismatching)),
        compile_or_nothing(term.namespace_selector),
    )
    return AffinityTerm(peers, term.topology_key)


def _spread(namespace: str, labels: PodLabels, constraint: SpreadConstraint) -> TopologySpread:
    matching = exactly({key: labels[key] for key in constraint.match_label_keys if key in labels})
    selector = _with_requirements(compile_or_nothing(constraint.label_selector), tuple(matching))
    # As in Kubernetes, an empty selector counts no pods here although it matches all.
    counted = selector if selector.requirements else NOTHING
    return TopologySpread(
        PodSelection((Peers(frozenset((namespace,)), counted),), include_terminating=False),
        constraint.topology_key,
        constraint.max_skew,
        constraint.min_domains or 1,
        selector.matches(labels),
        constraint.node_affinity_policy in ("", HONOR),
        constraint.node_taints_policy == HONOR,
    )


def _with_requirements(selector: Selector, requirements: tuple[Requirement, ...]) -> Selector:
    """Adds requirements that the API server has not already merged into the selector."""
    added = tuple(each for each in requirements if each not in selector.requirements)
    return Selector((*selector.requirements, *added)) if added else selector
