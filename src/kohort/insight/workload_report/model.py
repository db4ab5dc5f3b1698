"""What can be told of a Workload beyond the engine's explanation, as frozen data."""

from dataclasses import dataclass
from datetime import datetime

from kohort.api.meta import ObjectKey
from kohort.engine.explain import Explanation
from kohort.engine.quota import FlavorResource
from kohort.engine.shortage import QuotaNodeRef


@dataclass(frozen=True, slots=True)
class Holder:
    """A Workload that uses what is needed."""

    workload: ObjectKey
    job: str
    """`job/etl`; empty where nobody owns it."""
    queue: str
    amount: int
    """In internal units."""
    priority: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class ResourceHolders:
    """Who uses one flavor-resource below one node of the tree, those who use most first."""

    place: QuotaNodeRef
    fr: FlavorResource
    holders: tuple[Holder, ...]
    others: int
    """How many more there are."""
    amount_of_others: int


@dataclass(frozen=True, slots=True)
class PotentialPreemptor:
    """Somebody who may take a Workload's place."""

    queue: str
    why: str
    waiting: ObjectKey | None = None
    """The Workload that would do so at its next turn; None where only the policies allow it."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """Something that happened to a Workload, or will."""

    time: datetime
    text: str


@dataclass(frozen=True, slots=True)
class WorkloadReport:
    """All of it."""

    subject: str
    """What was asked about: `job/etl`."""
    explanation: Explanation
    submitted: datetime | None = None
    holdings: tuple[ResourceHolders, ...] = ()
    threats: tuple[PotentialPreemptor, ...] = ()
    history: tuple[HistoryEntry, ...] = ()
    notes: tuple[str, ...] = ()
    """What else the reader should know, such as where the look was not complete."""
    hints: tuple[str, ...] = ()
    """What the reader can do where the engine's remedies only name a state."""
