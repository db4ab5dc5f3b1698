"""ResourceFlavor, Topology and WorkloadPriorityClass, version v1beta2 (API-36 to API-46)."""

from typing import Annotated, Any, ClassVar

from kohort.api.kinds import CustomObject, KindInfo, PrinterColumn
from kohort.api.kueue.group import cluster_scoped
from kohort.api.markers import (
    ATOMIC,
    QUALIFIED_NAME_REGEX,
    Bounds,
    Int32,
    NoSchemaDefault,
    Pattern,
    Subdomain,
)
from kohort.api.meta import TAINT_RULES, TOLERATION_RULES, Taint, Toleration
from kohort.api.rules import Rule
from kohort.api.struct import Struct

HOSTNAME_LABEL = "kubernetes.io/hostname"

Tolerations = Annotated[tuple[Toleration, ...], ATOMIC, Bounds(max_items=8), *TOLERATION_RULES]


class ResourceFlavorSpec(Struct):
    """The nodes of a flavor."""

    node_labels: Annotated[dict[str, str], ATOMIC, Bounds(max_properties=8)] = {}
    """Labels of the flavor's nodes; added to the node selector of admitted pods."""
    node_taints: Annotated[tuple[Taint, ...], ATOMIC, Bounds(max_items=8), *TAINT_RULES] = ()
    """Taints of the flavor's nodes; a workload must tolerate them to use the flavor."""
    tolerations: Tolerations = ()
    """Tolerations that are added to admitted pods."""
    topology_name: Subdomain | None = None
    """Topology of these nodes; enables topology-aware scheduling for this flavor."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-36",
            "!has(self.topologyName) || (has(self.nodeLabels) && size(self.nodeLabels) > 0)",
            "topologyName needs at least one node label in nodeLabels",
            lambda spec, _old: "topologyName" not in spec or bool(spec.get("nodeLabels")),
        ),
        Rule(
            "API-36",
            "!has(oldSelf.topologyName) || (has(self.topologyName) && self.topologyName == oldSelf.topologyName)",
            "topologyName can't be changed or removed: create another flavor",
            lambda spec, old: "topologyName" not in old or spec.get("topologyName") == old["topologyName"],
        ),
    )


class ResourceFlavor(CustomObject):
    """A type of node, such as a GPU model, a spot pool or an architecture."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "ResourceFlavor", "resourceflavors"),
        short_names=("flavor", "flavors", "rf"),
        is_storage=True,
    )

    spec: Annotated[ResourceFlavorSpec, NoSchemaDefault()] = ResourceFlavorSpec()
    """The nodes of the flavor."""


class TopologyLevel(Struct):
    """One level of the topology."""

    node_label: Annotated[str, Bounds(min_length=1, max_length=316), Pattern(QUALIFIED_NAME_REGEX)]
    """Node label whose value is the domain, such as a block, a rack or a host."""


LEVELS_ARE_UNIQUE = Rule(
    "API-44",
    "self.all(a, self.filter(b, a.nodeLabel == b.nodeLabel).size() == 1)",
    "each level of a topology has its own node label",
    lambda levels, _old: len({level.get("nodeLabel") for level in levels}) == len(levels),
)
HOSTNAME_IS_LOWEST = Rule(
    "API-44",
    f"size(self.filter(l, l.nodeLabel == '{HOSTNAME_LABEL}')) == 0"
    f" || self[size(self) - 1].nodeLabel == '{HOSTNAME_LABEL}'",
    f"{HOSTNAME_LABEL} may be used only as the last level",
    lambda levels, _old: _ends_with_hostname(levels) or all(not _is_host(level) for level in levels),
)


def _levels_may_change(levels: Any, old: Any) -> bool:
    return bool(levels == old) or (_ends_with_hostname(levels) and _ends_with_hostname(old))


def _ends_with_hostname(levels: Any) -> bool:
    return bool(levels) and _is_host(levels[-1])


def _is_host(level: Any) -> bool:
    return bool(level.get("nodeLabel") == HOSTNAME_LABEL)


LEVELS_CHANGE_ABOVE_HOSTS = Rule(
    "API-45",
    "self == oldSelf || (size(self) > 0 && size(oldSelf) > 0"
    f" && self[size(self) - 1].nodeLabel == '{HOSTNAME_LABEL}'"
    f" && oldSelf[size(oldSelf) - 1].nodeLabel == '{HOSTNAME_LABEL}')",
    f"levels may change only where {HOSTNAME_LABEL} is the last level before and after",
    _levels_may_change,
)


class TopologySpec(Struct):
    """The levels of a topology."""

    levels: Annotated[
        tuple[TopologyLevel, ...],
        ATOMIC,
        Bounds(min_items=1, max_items=16),
        LEVELS_ARE_UNIQUE,
        HOSTNAME_IS_LOWEST,
        LEVELS_CHANGE_ABOVE_HOSTS,
    ]
    """Levels from the widest to the narrowest."""


class Topology(CustomObject):
    """The topology of nodes: blocks, racks, hosts."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "Topology", "topologies"), short_names=("topo",), is_storage=True
    )

    spec: TopologySpec | None = None
    """The levels."""


class WorkloadPriorityClass(CustomObject, kw_only=True):
    """A priority class of workloads, independent of the priority of their pods (API-41)."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "WorkloadPriorityClass", "workloadpriorityclasses"),
        short_names=("wpc",),
        is_storage=True,
        columns=(PrinterColumn("Value", ".value", "integer"),),
    )

    value: Int32
    """The priority; higher values first. A change is propagated to the workloads of the class."""
    description: Annotated[str, Bounds(max_length=2048)] = ""
    """When to use this class."""
