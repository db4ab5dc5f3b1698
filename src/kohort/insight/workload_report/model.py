"""The report of a Workload as frozen data."""

from dataclasses import dataclass
from datetime import datetime

from kohort.api.meta import ObjectKey
from kohort.engine.explain import Explanation
from kohort.engine.quota import FlavorResource
from kohort.engine.shortage import QuotaNodeRef


@dataclass(frozen=True, slots=True)
class Holder:
    """A Workload that holds missing quota."""

    workload: ObjectKey
    job: str
    """`job/etl`; empty without owner."""
    queue: str
    amount: int
    """In internal units."""
    priority: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class ResourceHolders:
    """Workloads that use one flavor-resource below one tree node, largest usage first."""

    place: QuotaNodeRef
    fr: FlavorResource
    holders: tuple[Holder, ...]
    others: int
    """Number of further holders."""
    amount_of_others: int


@dataclass(frozen=True, slots=True)
class PotentialPreemptor:
    """A ClusterQueue or Workload that could preempt the Workload."""

    queue: str
    why: str
    waiting: ObjectKey | None = None
    """The pending Workload that would preempt in the next cycle; None if only policies allow it."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A past or scheduled event of a Workload."""

    time: datetime
    text: str


@dataclass(frozen=True, slots=True)
class WorkloadReport:
    """The report of a Workload."""

    subject: str
    """The subject of the report: `job/etl`."""
    explanation: Explanation
    submitted: datetime | None = None
    holders: tuple[ResourceHolders, ...] = ()
    preemptors: tuple[PotentialPreemptor, ...] = ()
    history: tuple[HistoryEntry, ...] = ()
    notes: tuple[str, ...] = ()
    """Further information, such as missing permissions."""
    hints: tuple[str, ...] = ()
    """Commands for states without a remedy of the engine."""
