"""ResourceFlavor, Topology and WorkloadPriorityClass, version v1beta1."""

from typing import Annotated, ClassVar

from kohort.api.kinds import CustomObject, KindInfo
from kohort.api.kueue.v1beta1.info import like
from kohort.api.kueue.v1beta2 import flavors as v2
from kohort.api.markers import ATOMIC, Bounds, Int32, NoSchemaDefault
from kohort.api.rules import Rule
from kohort.api.struct import Struct


class ResourceFlavor(CustomObject):
    """A kind of node: a GPU model, a spot pool, an architecture."""

    info: ClassVar[KindInfo] = like(v2.ResourceFlavor)

    spec: Annotated[v2.ResourceFlavorSpec, NoSchemaDefault()] = v2.ResourceFlavorSpec()
    """The nodes that the flavor stands for."""


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
    """How nodes stand together: blocks, racks, hosts."""

    info: ClassVar[KindInfo] = like(v2.Topology)

    spec: TopologySpec | None = None
    """The levels."""


class WorkloadPriorityClass(CustomObject, kw_only=True):
    """A named priority of workloads, apart from the priority of their pods."""

    info: ClassVar[KindInfo] = like(v2.WorkloadPriorityClass)

    value: Int32
    """The priority; higher goes first. A change reaches the workloads that use the class."""
    description: str = ""
    """When to use this class."""
