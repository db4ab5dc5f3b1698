"""Quota arithmetic (docs/spec/scheduling.md §4): one cell per node of the cohort tree and flavor-resource.

A cell points to the same cell of the parent, so that a check or a change follows pointers to the root without
lookups. Sums are computed when quotas change; only `usage` changes during scheduling.
"""

from typing import NamedTuple

import msgspec

from kohort.api.amounts import add, subtract


class FlavorResource(msgspec.Struct, frozen=True, order=True, gc=False, cache_hash=True):
    """What quota is counted in: a resource of a flavor. Not a tuple, which the garbage collector would visit."""

    flavor: str
    resource: str


class Quota(NamedTuple):
    """The quota of a ClusterQueue or Cohort for one flavor-resource, in internal units (SCH-103).

    Limits come only below a parent (SCH-403).
    """

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


NO_QUOTA = Quota(0)


class QuotaCell:
    """Quota and usage of one flavor-resource at one tree node."""

    __slots__ = (
        "borrowers",
        "borrowing_limit",
        "is_listed",
        "lending_limit",
        "local",
        "nominal",
        "owner",
        "parent",
        "potential",
        "subtree",
        "usage",
    )

    def __init__(self, owner: object = None) -> None:
        self.owner = owner
        """The node whose cell it is."""
        self.parent: QuotaCell | None = None
        self.borrowers: dict[QuotaCell, None] = {}
        """The children that borrow, so that searches for victims visit only these."""
        self.nominal = 0
        self.borrowing_limit: int | None = None
        self.lending_limit: int | None = None
        self.subtree = 0
        self.local = 0
        """The part that is not lent to the parent (SCH-411)."""
        self.potential = 0
        """Potential capacity: the most that the node could ever use (SCH-412)."""
        self.usage = 0
        self.is_listed = False
        """Whether the node or a descendant has quota of it; usage may remain without quota (SCH-701)."""

    # Computing the sums: children first, then from the root down.

    def take_quota(self, quota: Quota) -> None:
        """Reset to the node's own quota, without children."""
        self.nominal, self.borrowing_limit, self.lending_limit = quota
        self.subtree = quota.nominal
        self.borrowers.clear()

    def take_child(self, child: "QuotaCell") -> None:
        """Add a child's lendable quota (SCH-410) and its usage beyond its local quota (SCH-421)."""
        self.subtree = add(self.subtree, subtract(child.subtree, child.local))
        self.usage += max(0, child.usage - child.local)
        if child.usage > child.subtree:
            self.borrowers[child] = None

    def settle_local(self) -> None:
        """SCH-411, once all children are counted."""
        self.local = 0 if self.lending_limit is None else max(0, subtract(self.subtree, self.lending_limit))

    def settle_potential(self) -> None:
        """SCH-412, after the parent's."""
        if self.parent is None:
            self.potential = self.subtree
            return
        self.potential = add(self.local, self.parent.potential)
        if self.borrowing_limit is not None:
            self.potential = min(self.potential, add(self.subtree, self.borrowing_limit))

    # Usage

    def use(self, amount: int) -> None:
        """Add usage; what exceeds a node's local quota is counted at its parent (SCH-421)."""
        cell = self
        while amount > 0:
            before = cell.usage
            cell.usage = usage = before + amount
            parent = cell.parent
            if parent is None:
                return
            if usage > cell.subtree:
                parent.borrowers[cell] = None
            if before < cell.local:
                amount -= cell.local - before
            cell = parent

    def free(self, amount: int) -> None:
        """Subtract usage: the exact reverse of `use`."""
        cell = self
        while amount > 0:
            before = cell.usage
            cell.usage = usage = before - amount
            parent = cell.parent
            if parent is None:
                return
            if usage <= cell.subtree:
                parent.borrowers.pop(cell, None)
            if usage < cell.local:
                amount = before - cell.local
            cell = parent

    # Queries

    @property
    def local_available(self) -> int:
        """SCH-430."""
        return self.local - self.usage if self.local > self.usage else 0

    def available(self) -> int:
        """The amount available here; negative in debt (SCH-431)."""
        cell = self
        local_below = 0
        tightest: int | None = None
        while (parent := cell.parent) is not None:
            local, usage = cell.local, cell.usage
            if local > usage:
                local_below += local - usage
            if cell.borrowing_limit is not None:
                limit = local_below + cell.subtree + cell.borrowing_limit - (usage if usage > local else local)
                if tightest is None or limit < tightest:
                    tightest = limit
            cell = parent
        free = local_below + cell.subtree - cell.usage
        return free if tightest is None or free < tightest else tightest

    def borrows_with(self, amount: int) -> bool:
        """Whether this usage would exceed the node's own quota (SCH-433): for a queue its nominal quota."""
        return self.usage + amount > self.subtree

    @property
    def is_within_nominal(self) -> bool:
        """Whether nothing is borrowed here."""
        return self.usage <= self.subtree
