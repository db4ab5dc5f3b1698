"""Quota arithmetic (docs/spec/scheduling.md §4): one cell per node of the cohort tree and flavor-resource.

A cell points to the same cell of the parent, so that a question or a change costs one short walk to the root and
nothing is looked up on the way. Sums are set when quotas change; only `usage` moves during scheduling.
"""

from typing import NamedTuple

import msgspec

from kohort.api.amounts import add, subtract


class FlavorResource(msgspec.Struct, frozen=True, order=True, gc=False, cache_hash=True):
    """What quota is counted in: a resource of a flavor. No tuple, as the garbage collector would visit all of them."""

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
        """The children that borrow, so that searches for victims need not visit all."""
        self.nominal = 0
        self.borrowing_limit: int | None = None
        self.lending_limit: int | None = None
        self.subtree = 0
        self.local = 0
        """The part that is not lent to the parent (SCH-411)."""
        self.potential = 0
        """The most this node could ever hold (SCH-412)."""
        self.usage = 0
        self.is_listed = False
        """Whether the node, or one below it, has quota of this flavor-resource; usage may outlast it (SCH-701)."""

    # Setting the sums: children first, then the way down.

    def take_quota(self, quota: Quota) -> None:
        """Start over from the node's own quota, without children."""
        self.nominal, self.borrowing_limit, self.lending_limit = quota
        self.subtree = quota.nominal
        self.borrowers.clear()

    def take_child(self, child: "QuotaCell") -> None:
        """Count a child's lendable quota (SCH-410) and its use beyond what is its own (SCH-421)."""
        self.subtree = add(self.subtree, subtract(child.subtree, child.local))
        self.usage += max(0, child.usage - child.local)
        if child.usage > child.subtree:
            self.borrowers[child] = None

    def settle_local(self) -> None:
        """SCH-411, once all children are counted."""
        self.local = 0 if self.lending_limit is None else max(0, subtract(self.subtree, self.lending_limit))

    def settle_potential(self) -> None:
        """SCH-412, once the parent's is known."""
        if self.parent is None:
            self.potential = self.subtree
            return
        self.potential = add(self.local, self.parent.potential)
        if self.borrowing_limit is not None:
            self.potential = min(self.potential, add(self.subtree, self.borrowing_limit))

    # Use

    def use(self, amount: int) -> None:
        """Count a new use; what exceeds a node's local quota passes on to its parent (SCH-421)."""
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
        """Take a use back: the exact reverse of `use`."""
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

    # Questions

    @property
    def local_available(self) -> int:
        """SCH-430."""
        return self.local - self.usage if self.local > self.usage else 0

    def available(self) -> int:
        """What more could be used here; negative in debt (SCH-431)."""
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
        """Whether such a use would exceed what the node has of its own (SCH-433); a queue's subtree is its nominal."""
        return self.usage + amount > self.subtree

    @property
    def is_within_nominal(self) -> bool:
        """Whether nothing is borrowed here."""
        return self.usage <= self.subtree
