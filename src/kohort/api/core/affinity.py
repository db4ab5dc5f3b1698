"""Where a pod wants to run, or not: affinity to nodes and to other pods.

`kohort.api.selectors` gives the node part its meaning; affinity to pods is read by the pod scheduler alone.
"""

from kohort.api.markers import Int32
from kohort.api.meta import LabelSelector
from kohort.api.struct import View


class NodeSelectorRequirement(View):
    """One demand on a node's label or field."""

    key: str = ""
    """Label key, or field name."""
    operator: str = ""
    """In, NotIn, Exists, DoesNotExist, Gt or Lt."""
    values: tuple[str, ...] = ()
    """Values for In and NotIn; one number for Gt and Lt."""


class NodeSelectorTerm(View):
    """Demands that a node must meet together; a term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    """Demands on labels."""
    match_fields: tuple[NodeSelectorRequirement, ...] = ()
    """Demands on fields; only metadata.name is known."""


class NodeSelector(View):
    """Alternatives, of which a node must meet one."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()
    """The alternatives; none at all means no node."""


class PreferredSchedulingTerm(View):
    """A wish for nodes, with its weight."""

    weight: Int32 = 0
    """How much the wish counts, 1 to 100."""
    preference: NodeSelectorTerm = NodeSelectorTerm()
    """The nodes wished for."""


class NodeAffinity(View):
    """Which nodes a pod needs and which it would like."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    """What a node must meet when the pod is placed."""
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()
    """What makes one node better than another."""


class PodAffinityTerm(View):
    """Other pods that a pod wants near, or far."""

    topology_key: str = ""
    """Node label whose equal value means near."""
    label_selector: LabelSelector | None = None
    """The other pods, by label; absent means none."""
    namespaces: tuple[str, ...] = ()
    """Namespaces of the other pods; with no namespaceSelector either, the pod's own."""
    namespace_selector: LabelSelector | None = None
    """Namespaces of the other pods, by label."""
    match_label_keys: tuple[str, ...] = ()
    """Labels in which the other pods must equal this one."""
    mismatch_label_keys: tuple[str, ...] = ()
    """Labels in which the other pods must differ from this one."""


class WeightedPodAffinityTerm(View):
    """A wish about other pods, with its weight."""

    weight: Int32 = 0
    """How much the wish counts, 1 to 100."""
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()
    """The other pods."""


class PodAffinity(View):
    """Pods to be near to, or (as anti-affinity) away from."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    """What must hold when the pod is placed."""
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()
    """What makes one node better than another."""


class Affinity(View):
    """Where a pod needs or would like to run."""

    node_affinity: NodeAffinity | None = None
    """By the nodes themselves."""
    pod_affinity: PodAffinity | None = None
    """Near other pods."""
    pod_anti_affinity: PodAffinity | None = None
    """Away from other pods."""
