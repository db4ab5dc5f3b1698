"""Events that are applied to the engine: objects that were created, changed or deleted, and failed writes."""

from collections.abc import Mapping
from dataclasses import dataclass

from kohort.api.core.namespaces import LimitRange, Namespace
from kohort.api.core.nodes import Node, RuntimeClass
from kohort.api.kueue.v1beta2 import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Topology,
    Workload,
)
from kohort.api.meta import ObjectKey
from kohort.engine.records import PodSetDevices

EngineObject = (
    AdmissionCheck
    | ClusterQueue
    | Cohort
    | LimitRange
    | LocalQueue
    | Namespace
    | Node
    | ResourceFlavor
    | RuntimeClass
    | Topology
    | Workload
)


@dataclass(frozen=True, slots=True)
class ObjectUpserted:
    """An object was created or changed."""

    object: EngineObject


@dataclass(frozen=True, slots=True)
class ObjectDeleted:
    """An object was deleted."""

    kind: str
    key: ObjectKey
    """With an empty namespace for cluster-scoped kinds."""


@dataclass(frozen=True, slots=True)
class ReservationFailed:
    """An admission could not be written: undo it (SCH-352)."""

    workload: ObjectKey


@dataclass(frozen=True, slots=True)
class EvictionFailed:
    """An eviction could not be written: it may be issued again (SCH-654)."""

    workload: ObjectKey


@dataclass(frozen=True, slots=True)
class DeviceClaimsCounted:
    """Device claims of a workload were counted (SCH-132); valid until the next count or the workload's deletion."""

    workload: ObjectKey
    devices: tuple[PodSetDevices, ...]


@dataclass(frozen=True, slots=True)
class NodeUsageChanged:
    """Usage of a node by pods that are not TAS pods (TAS-27)."""

    node: str
    amounts: Mapping[str, int]
    """The sum of their requests in internal units, with the number of pods; empty without pods."""


EngineEvent = (
    ObjectUpserted | ObjectDeleted | DeviceClaimsCounted | NodeUsageChanged | ReservationFailed | EvictionFailed
)
