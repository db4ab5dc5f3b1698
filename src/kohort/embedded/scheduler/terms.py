"""Which other pods a pod speaks of: terms of affinity and spreading, compiled once and matched often.

A term is data, equal to another that says the same, so that pods of a thousand replicas share one count.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kohort.api.core.affinity import Affinity, PodAffinity, PodAffinityTerm
from kohort.api.meta import LabelSelector
from kohort.api.selectors import NOTHING, Operator, Requirement, Selector, SelectorError, compile_selector, exactly
from kohort.embedded.scheduler.views import SpreadConstraint

Labels = Mapping[str, str]
NamespaceLabels = Mapping[str, Labels]
"""Labels of all namespaces by name."""

HONOR: Final = "Honor"
_NO_LABELS: Final[Labels] = {}


@dataclass(frozen=True, slots=True)
class Peers:
    """Pods by namespace and label."""

    namespaces: frozenset[str]
    selector: Selector
    namespace_selector: Selector = NOTHING

    def match(self, namespace: str, labels: Labels, all_labels: NamespaceLabels) -> bool:
        """Whether a pod with these labels in this namespace is one of them."""
        if namespace not in self.namespaces:
            of_namespace = self.namespace_selector is not NOTHING
            if not of_namespace or not self.namespace_selector.matches(all_labels.get(namespace, _NO_LABELS)):
                return False
        return self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class PodSelection:
    """Pods that are all of these at once; spreading does not count those on their way out."""

    peers: tuple[Peers, ...]
    with_leaving: bool

    def match(self, namespace: str, labels: Labels, all_labels: NamespaceLabels) -> bool:
        """Whether a pod is of the crowd, as far as its labels tell."""
        return all(each.match(namespace, labels, all_labels) for each in self.peers)


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """Pods, and the node label by whose value they are near."""

    peers: Peers
    topology_key: str


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A term that makes nodes better by its weight, or worse by a negative one."""

    term: AffinityTerm
    weight: int


@dataclass(frozen=True, slots=True)
class TopologySpread:
    """How evenly a crowd is to lie over the values of a node label."""

    crowd: PodSelection
    topology_key: str
    max_skew: int
    min_domains: int
    counts_itself: bool
    """Whether the pod that asks is of the crowd."""
    honors_affinity: bool
    honors_taints: bool


@dataclass(frozen=True, slots=True)
class Relations:
    """All that a pod says about other pods."""

    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    pulls: tuple[WeightedTerm, ...] = ()
    spreads: tuple[TopologySpread, ...] = ()
    """What must hold."""
    soft_spreads: tuple[TopologySpread, ...] = ()

    @property
    def attracted(self) -> PodSelection:
        """The pods that the required affinity looks for: each must meet all terms."""
        return PodSelection(tuple(term.peers for term in self.affinity), with_leaving=True)


NO_RELATIONS: Final = Relations()


def relations(
    namespace: str, labels: Labels, affinity: Affinity | None, spread: tuple[SpreadConstraint, ...]
) -> Relations:
    """What a pod with these labels says about others."""
    near = affinity.pod_affinity if affinity else None
    far = affinity.pod_anti_affinity if affinity else None
    hard, soft = (
        tuple(_spread(namespace, labels, each) for each in spread if each.when_unsatisfiable == word)
        for word in ("DoNotSchedule", "ScheduleAnyway")
    )
    return Relations(
        _required(namespace, labels, near),
        _required(namespace, labels, far),
        (*_pulls(namespace, labels, near, 1), *_pulls(namespace, labels, far, -1)),
        hard,
        soft,
    )


def _required(namespace: str, labels: Labels, affinity: PodAffinity | None) -> tuple[AffinityTerm, ...]:
    if affinity is None:
        return ()
    wanted = affinity.required_during_scheduling_ignored_during_execution
    return tuple(_term(namespace, labels, each) for each in wanted)


def _pulls(namespace: str, labels: Labels, affinity: PodAffinity | None, sign: int) -> tuple[WeightedTerm, ...]:
    if affinity is None:
        return ()
    wanted = affinity.preferred_during_scheduling_ignored_during_execution
    return tuple(WeightedTerm(_term(namespace, labels, each.pod_affinity_term), sign * each.weight) for each in wanted)


def _term(namespace: str, labels: Labels, term: PodAffinityTerm) -> AffinityTerm:
    selector = _compiled(term.label_selector)
    alike = exactly({key: labels[key] for key in term.match_label_keys if key in labels})
    unlike = (
        Requirement(key, Operator.NOT_IN, frozenset((labels[key],)))
        for key in term.mismatch_label_keys
        if key in labels
    )
    own = () if term.namespaces or term.namespace_selector is not None else (namespace,)
    peers = Peers(
        frozenset((*term.namespaces, *own)),
        _narrowed(selector, (*alike, *unlike)),
        _compiled(term.namespace_selector),
    )
    return AffinityTerm(peers, term.topology_key)


def _spread(namespace: str, labels: Labels, constraint: SpreadConstraint) -> TopologySpread:
    alike = exactly({key: labels[key] for key in constraint.match_label_keys if key in labels})
    selector = _narrowed(_compiled(constraint.label_selector), tuple(alike))
    # A selector that asks for nothing counts nobody here, as Kubernetes has it, though it selects all.
    counted = selector if selector.requirements else NOTHING
    return TopologySpread(
        PodSelection((Peers(frozenset((namespace,)), counted),), with_leaving=False),
        constraint.topology_key,
        constraint.max_skew,
        constraint.min_domains or 1,
        selector.matches(labels),
        constraint.node_affinity_policy in ("", HONOR),
        constraint.node_taints_policy == HONOR,
    )


def _narrowed(selector: Selector, requirements: tuple[Requirement, ...]) -> Selector:
    """The selector with more requirements; one that an API server has merged in already counts once."""
    added = tuple(each for each in requirements if each not in selector.requirements)
    return Selector((*selector.requirements, *added)) if added else selector


def _compiled(selector: LabelSelector | None) -> Selector:
    """A selector that can't be understood matches nothing, as one that is not there."""
    try:
        return compile_selector(selector)
    except SelectorError:
        return NOTHING
