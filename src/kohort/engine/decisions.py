"""Decisions of a scheduling run as data; the scheduler's status writer writes them to the API."""

from enum import Enum

import msgspec

from kohort.api.kueue.v1beta2.workload import Admission
from kohort.api.meta import ObjectKey
from kohort.engine.assignment import Assignment


class RequeueReason(Enum):
    """How a workload that was evaluated and not admitted is requeued (SCH-236)."""

    # Members are singletons; Enum would hash the name at every lookup in the table of requeue rules.
    __hash__ = object.__hash__

    FAILED_AFTER_NOMINATION = "FailedAfterNomination"
    PENDING_PREEMPTION = "PendingPreemption"
    PENDING_MIGRATION = "PendingMigration"
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    NO_FIT = "NoFit"
    PREEMPTION_NO_CANDIDATES = "PreemptionNoCandidates"
    PREEMPTION_GATED = "PreemptionGated"
    GENERIC = ""


class Reserve(msgspec.Struct, frozen=True):
    """Quota is reserved for the workload, or its pods were placed: write its admission (SCH-351, SCH-341)."""

    workload: ObjectKey
    admission: Admission
    considered: str
    """Flavors that were tried and not used as they are (SCH-354)."""
    borrow: int
    replaces: ObjectKey | None = None
    """The slice whose quota is taken over, to be finished once the admission is written (SCH-1104)."""


class Evict(msgspec.Struct, frozen=True):
    """The workload is preempted (SCH-651)."""

    workload: ObjectKey
    reason: str
    """Why it could be chosen: InClusterQueue, InCohortReclamation …"""
    preemptor: ObjectKey
    preemptor_path: str
    victim_path: str


class Migrate(msgspec.Struct, frozen=True):
    """The workload is evicted so that a variant of it can use a better flavor (SCH-1113)."""

    workload: ObjectKey
    successor: ObjectKey


class KeepPending(msgspec.Struct, frozen=True):
    """The workload was evaluated and stays pending (SCH-360)."""

    workload: ObjectKey
    reason: str
    """Reason of QuotaReserved=False."""
    message: str
    requeue: RequeueReason
    assignment: Assignment | None = None
    """What was tried; None if no flavor was evaluated."""


class EvictForFailedNodes(msgspec.Struct, frozen=True):
    """The workload is evicted, because no node can replace its failed nodes (SCH-332)."""

    workload: ObjectKey
    nodes: tuple[str, ...]


class KeepUnplaced(msgspec.Struct, frozen=True):
    """The workload keeps its quota and its pods could not be placed: record an event, write nothing (SCH-272)."""

    workload: ObjectKey
    message: str


Decision = Reserve | Evict | Migrate | EvictForFailedNodes | KeepUnplaced | KeepPending
