"""Shortages of quota: at which node of the cohort tree, which limit binds, and by how much.

Availability is a minimum over the limits on the path to the root (SCH-431); each limit that is too low
becomes one `Shortage`, the lowest first.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Final, NamedTuple

from kohort.api.amounts import add, format_amount, subtract
from kohort.engine.hierarchy import ClusterQueueNode, CohortNode, HierarchyNode
from kohort.engine.quota import FlavorResource, QuotaCell

NAMED_KEEPERS: Final = 3
"""How many nodes that withhold quota are listed by name, largest first."""


class BindingLimit(Enum):
    """The kind of limit."""

    NOMINAL = "Nominal"
    """A queue without a cohort has only its own quota."""
    BORROWING_LIMIT = "BorrowingLimit"
    LENDING_LIMIT = "LendingLimit"
    """The cohort has unused quota, but its members' lending limits withhold it."""
    COHORT_CAPACITY = "CohortCapacity"
    MAXIMUM = "Maximum"
    """More than the queue could use if nothing were used (SCH-412)."""


class QuotaNodeRef(NamedTuple):
    """A node of the tree, by name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class WithheldQuota:
    """A node that withholds quota from its cohort by a lending limit (SCH-411)."""

    place: QuotaNodeRef
    lends: int
    has: int
    keeps: int
    """What others could use of the rest: all of it eventually, now what the node does not use itself."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """One limit that is too low for a request, in internal units."""

    fr: FlavorResource
    limit: BindingLimit
    place: QuotaNodeRef
    """The node whose limit it is."""
    own: int
    """What the node has without borrowing."""
    allowed: int
    """What the limit lets the node use."""
    in_use: int
    missing: int
    """How much more would have to be allowed or released."""
    keepers: tuple[WithheldQuota, ...] = ()
    """Tree nodes that withhold the most quota."""
    kept: int = 0
    """Quota withheld by all tree nodes together."""

    @property
    def text(self) -> str:
        """The shortage as text, with amounts as Kubernetes quantities."""
        return f"{self.cause}, {self.shown(self.missing)} more needed{self.keeping}"

    def shown(self, amount: int) -> str:
        """An amount of this resource as a Kubernetes quantity (SCH-104)."""
        return format_amount(self.fr.resource, amount)

    @property
    def cause(self) -> str:
        """The limit as text, without the missing amount."""
        allowed, in_use = self.shown(self.allowed), self.shown(self.in_use)
        if self.limit is BindingLimit.MAXIMUM:
            return f"{allowed} {self.fr.resource} is the most that {self.place} could ever give"
        if self.limit is BindingLimit.BORROWING_LIMIT:
            extra = subtract(self.allowed, self.own)
            borrowing = f"may borrow {self.shown(extra)}" if extra else "may not borrow"
            return f"{self.place} has {self.shown(self.own)} and {borrowing}, {in_use} in use"
        return f"{self.place} has {allowed}, {in_use} in use"

    @property
    def keeping(self) -> str:
        """The nodes that withhold quota, as a clause; empty if there are none."""
        reported = [
            f"{keeper.place} lends only {self.shown(keeper.lends)} of its {self.shown(keeper.has)}"
            for keeper in self.keepers
        ]
        return f"; {', '.join(reported)}" if reported else ""


def shortages(queue: ClusterQueueNode, fr: FlavorResource, amount: int) -> tuple[Shortage, ...]:
    """Every limit between a queue and the root that keeps the amount from being used now, the lowest first.

    The first one misses exactly what the request exceeds availability by (SCH-431); the others would bind next.
    """
    if amount > queue.cells[fr].potential:
        return (_beyond_maximum(queue, fr, amount),)
    return tuple(sorted(_too_tight(queue, fr, amount), key=lambda each: -each.missing))


def _too_tight(queue: ClusterQueueNode, fr: FlavorResource, amount: int) -> Iterator[Shortage]:
    """The limits that are too low, from the queue up; quota that a node withholds serves its descendants first."""
    path: list[HierarchyNode] = []
    for node in (queue, *queue.ancestors()):
        path.append(node)
        cell = node.cells[fr]
        allowed = _allowed(cell)
        if allowed is not None and amount > allowed - cell.usage:
            yield _shortage(path, fr, allowed, amount - (allowed - cell.usage))
        amount -= cell.local_available


def _allowed(cell: QuotaCell) -> int | None:
    """The most that a node may use; None if only its ancestors have limits."""
    if cell.parent is None:
        return cell.subtree
    return None if cell.borrowing_limit is None else add(cell.subtree, cell.borrowing_limit)


def _shortage(path: list[HierarchyNode], fr: FlavorResource, allowed: int, missing: int) -> Shortage:
    node = path[-1]
    cell = node.cells[fr]
    keepers, kept = _keepers(path, fr, _idle)
    if cell.parent is not None:
        limit = BindingLimit.BORROWING_LIMIT
    elif isinstance(node, ClusterQueueNode):
        limit = BindingLimit.NOMINAL
    else:
        limit = BindingLimit.LENDING_LIMIT if kept >= missing else BindingLimit.COHORT_CAPACITY
    return Shortage(fr, limit, node_ref(node), cell.subtree, allowed, cell.usage, missing, keepers, kept)


def _beyond_maximum(queue: ClusterQueueNode, fr: FlavorResource, amount: int) -> Shortage:
    """The shortage at the node that bounds the queue's potential capacity (SCH-412)."""
    most = queue.cells[fr].potential
    path: list[HierarchyNode] = []
    for node in (queue, *queue.ancestors()):
        path.append(node)
        cell = node.cells[fr]
        if cell.parent is None or cell.potential < add(cell.local, cell.parent.potential):
            break
    keepers, kept = _keepers(path, fr, _local)
    own = path[-1].cells[fr].subtree
    return Shortage(fr, BindingLimit.MAXIMUM, node_ref(path[-1]), own, most, 0, amount - most, keepers, kept)


# Withheld quota


def _idle(cell: QuotaCell) -> int:
    return cell.local_available


def _local(cell: QuotaCell) -> int:
    return cell.local


def _keepers(
    path: list[HierarchyNode], fr: FlavorResource, kept_by: Callable[[QuotaCell], int]
) -> tuple[tuple[WithheldQuota, ...], int]:
    """Quota withheld by tree nodes outside the path: the largest amounts, and the sum of all."""
    found: list[WithheldQuota] = []
    for below, cohort in pairwise(path):
        if isinstance(cohort, CohortNode):
            found += _keepers_below(cohort, below, fr, kept_by)
    found.sort(key=lambda keeper: (-keeper.keeps, keeper.place))
    return tuple(found[:NAMED_KEEPERS]), sum(keeper.keeps for keeper in found)


def _keepers_below(
    cohort: CohortNode, besides: HierarchyNode, fr: FlavorResource, kept_by: Callable[[QuotaCell], int]
) -> Iterator[WithheldQuota]:
    """Below a cohort with a lending limit no other node matters: the cohort would withhold what they lend."""
    for member in cohort.members():
        cell = member.cells.get(fr)
        if member is besides or cell is None:
            continue
        if cell.lending_limit is None and isinstance(member, CohortNode):
            yield from _keepers_below(member, besides, fr, kept_by)
        elif kept_by(cell) > 0:
            yield WithheldQuota(node_ref(member), subtract(cell.subtree, cell.local), cell.subtree, kept_by(cell))


def node_ref(node: HierarchyNode) -> QuotaNodeRef:
    """A node by name."""
    return QuotaNodeRef("cohort" if isinstance(node, CohortNode) else "queue", node.name)
