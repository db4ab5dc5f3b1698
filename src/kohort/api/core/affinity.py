"""Affinity of pods to nodes and to other pods.

`kohort.api.selectors` gives the node part its meaning; affinity to pods is read by the pod scheduler alone.
"""

from kohort.api.markers import Int32
from kohort.api.meta import LabelSelector
from kohort.api.struct import View


class NodeSelectorRequirement(View):
    """One requirement on a label or field of a node."""

    key: str = ""
    """Label key, or field name."""
    operator: str = ""
    """In, NotIn, Exists, DoesNotExist, Gt or Lt."""
    values: tuple[str, ...] = ()
    """Values for In and NotIn; one number for Gt and Lt."""


class NodeSelectorTerm(View):
    """Requirements that a node must match together; an empty term matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    """Requirements on labels."""
    match_fields: tuple[NodeSelectorRequirement, ...] = ()
    """Requirements on fields; only metadata.name is supported."""


class NodeSelector(View):
    """Terms, of which a node must match one."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()
    """The terms; none match no node."""


class PreferredSchedulingTerm(View):
    """A preferred node selector term with its weight."""

    weight: Int32 = 0
    """The weight, 1 to 100."""
    preference: NodeSelectorTerm = NodeSelectorTerm()
    """The preferred nodes."""


class NodeAffinity(View):
    """Required and preferred nodes of a pod."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    """Required terms when the pod is scheduled."""
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()
    """Preferred terms for scoring."""


class PodAffinityTerm(View):
    """A pod affinity term."""

    topology_key: str = ""
    """Node label that defines the topology domain."""
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
    """A preferred pod affinity term with its weight."""

    weight: Int32 = 0
    """The weight, 1 to 100."""
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()
    """The other pods."""


class PodAffinity(View):
    """Pod affinity or anti-affinity."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    """Required terms when the pod is scheduled."""
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()
    """Preferred terms for scoring."""


class Affinity(View):
    """Affinity of a pod."""

    node_affinity: NodeAffinity | None = None
    """Node affinity."""
    pod_affinity: PodAffinity | None = None
    """Pod affinity."""
    pod_anti_affinity: PodAffinity | None = None
    """Pod anti-affinity."""
