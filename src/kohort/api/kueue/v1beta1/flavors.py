"""ResourceFlavor, Topology and WorkloadPriorityClass, version v1beta1."""

from typing import Annotated, ClassVar

from kohort.api.kinds import CustomObject, KindInfo
from kohort.api.kueue.v1beta1.info import like
from kohort.api.kueue.v1beta2 import flavors as v2
from kohort.api.markers import ATOMIC, Bounds, Int32, NoSchemaDefault
from kohort.api.rules import Rule
from kohort.api.struct import Struct


class ResourceFlavor(CustomObject):
    """A type of node, such as a GPU model, a spot pool or an architecture."""

    info: ClassVar[KindInfo] = like(v2.ResourceFlavor)

    spec: Annotated[v2.ResourceFlavorSpec, NoSchemaDefault()] = v2.ResourceFlavorSpec()
    """The nodes of the flavor."""


LEVELS_ARE_FIXED = Rule(
    "API-45",
    "self == oldSelf",
    "levels can't be changed through v1beta1: use v1beta2, or create another Topology",
    lambda levels, old: bool(levels == old),
)


class TopologySpec(Struct):
    """The levels of a topology."""

    levels: Annotated[
        tuple[v2.TopologyLevel, ...],
        ATOMIC,
        Bounds(min_items=1, max_items=16),
        v2.LEVELS_ARE_UNIQUE,
        v2.HOSTNAME_IS_LOWEST,
        LEVELS_ARE_FIXED,
    ]
    """Levels from the widest to the narrowest."""


class Topology(CustomObject):
    """The topology of nodes: blocks, racks, hosts."""

    info: ClassVar[KindInfo] = like(v2.Topology)

    spec: TopologySpec | None = None
    """The levels."""


class WorkloadPriorityClass(CustomObject, kw_only=True):
    """A priority class of workloads, independent of the priority of their pods."""

    info: ClassVar[KindInfo] = like(v2.WorkloadPriorityClass)

    value: Int32
    """The priority; higher values first. A change is propagated to the workloads of the class."""
    description: str = ""
    """When to use this class."""
