"""What is placed: the pods of one placement group, and how they must lie together (TAS-41 to TAS-43)."""

from collections.abc import Mapping
from enum import Enum

import msgspec

from kohort.engine.topology.matcher import MATCHES_ALL, NodeMatcher


class CapacityMode(Enum):
    """Whether usage of workloads counts."""

    CURRENT = "current"
    EMPTY = "empty"
    """As if no workload used anything; pods outside TAS and assumed usage still count (TAS-76)."""


class SliceLayer(msgspec.Struct, frozen=True):
    """Each `size` pods must be in one domain of a level (TAS-57)."""

    topology: str
    size: int


class PlacementRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of a placement group; selection and topology are those of the workers (TAS-42)."""

    pod_set: str
    count: int
    per_pod: Mapping[str, int]
    """Request of one pod in internal units, with one of `pods` (TAS-29)."""
    leader: str = ""
    """Name of the leader's pod set, which has one pod; empty without a leader."""
    leader_per_pod: Mapping[str, int] = {}
    required: str = ""
    preferred: str = ""
    unconstrained: bool = False
    is_implicit: bool = False
    """Without a topology request, in a queue of TAS flavors only (TAS-35)."""
    layers: tuple[SliceLayer, ...] = ()
    """Slices, coarse to fine."""
    matcher: NodeMatcher = MATCHES_ALL
