"""Which nodes may run the pods of a request, and why the others may not (TAS-45)."""

from collections.abc import Iterable
from enum import Enum

import msgspec

from kohort.api.core.affinity import PreferredSchedulingTerm
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.meta import Taint, Toleration
from kohort.api.selectors import EVERYTHING, NodeTerm, RequiredNodes, node_term, required_nodes
from kohort.api.taints import untolerated
from kohort.engine.topology.nodes import TopologyNode


class ExclusionCause(Enum):
    """Why a domain can't have any pod of a request; the value is the word in messages (TAS-115)."""

    NODE_SELECTOR = "nodeSelector"
    AFFINITY = "affinity"
    TOPOLOGY_DOMAIN = "topologyDomain"
    TAINT = "taint"
    RESOURCE = "resource"


class Exclusion(msgspec.Struct, frozen=True):
    """A cause, with the taint or the resource that it is about."""

    cause: ExclusionCause
    detail: str = ""

    @property
    def text(self) -> str:
        """The cause in a message (TAS-115)."""
        return f'{self.cause.value} "{self.detail}"' if self.detail else self.cause.value


NOT_SELECTED = Exclusion(ExclusionCause.NODE_SELECTOR)
OUTSIDE_AFFINITY = Exclusion(ExclusionCause.AFFINITY)
OUTSIDE_DOMAIN = Exclusion(ExclusionCause.TOPOLOGY_DOMAIN)


class WeightedNodes(msgspec.Struct, frozen=True):
    """Preferred nodes and their weight."""

    weight: int
    term: NodeTerm


class NodeMatcher(msgspec.Struct, frozen=True):
    """Node selection of pods: selector, required and preferred affinity, tolerations with those of the flavor."""

    nodes: RequiredNodes = RequiredNodes(EVERYTHING, None)
    tolerations: tuple[Toleration, ...] = ()
    preferred: tuple[WeightedNodes, ...] = ()

    def exclusion(self, node: TopologyNode) -> Exclusion | None:
        """The first check that the node fails (TAS-45)."""
        if node.taints:
            for taint in untolerated(node.taints, self.tolerations):
                return Exclusion(ExclusionCause.TAINT, taint_text(taint))
        if not self.nodes.selector.matches(node.labels):
            return NOT_SELECTED
        return None if self.nodes.matches_affinity(node.name, node.labels) else OUTSIDE_AFFINITY

    def score(self, node: TopologyNode) -> int:
        """Sum of the weights of preferred terms that the node matches (TAS-65)."""
        return sum([each.weight for each in self.preferred if each.term.matches(node.name, node.labels)])


MATCHES_ALL = NodeMatcher()


def node_matcher(spec: QuotaPodSpec, tolerations: Iterable[Toleration] = ()) -> NodeMatcher:
    """The node selection of a pod, which also has the tolerations of its flavor."""
    affinity = spec.affinity.node_affinity if spec.affinity else None
    preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
    return NodeMatcher(
        required_nodes(spec), (*spec.tolerations, *tolerations), tuple(_weighted(each) for each in preferred)
    )


def _weighted(term: PreferredSchedulingTerm) -> WeightedNodes:
    return WeightedNodes(term.weight, node_term(term.preference))


def taint_text(taint: Taint) -> str:
    """A taint as messages have it: `key=value:Effect`, without an empty value (TAS-115)."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
