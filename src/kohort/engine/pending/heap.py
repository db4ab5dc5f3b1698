"""Pending workloads in order, in heaps from which entries can be removed at any position.

The item of a removed entry remains and is skipped when it is popped; a heap with mostly such items is rebuilt.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush
from typing import Final

from kohort.api.meta import ObjectKey
from kohort.engine.records import CreationOrder, WorkloadInfo

Item = tuple[int, datetime, CreationOrder, int, "PendingEntry"]
"""Sort key, a unique number, and the entry."""
_Rank = tuple[int, datetime, CreationOrder]

MAX_STALE: Final = 32
"""Number of stale items below which a heap is not rebuilt."""
MANY: Final = 8
"""Ratio of new items from which rebuilding a heap is cheaper than single insertions."""
DAWN: Final = datetime.min.replace(tzinfo=UTC)


def rank_of(workload: WorkloadInfo) -> _Rank:
    """Higher priority, then earlier timestamp, then UIDs (SCH-212 c to e)."""
    return -workload.priority, workload.queued_at or DAWN, workload.creation_order


class PendingEntry:
    """A pending workload and its heap; none while it is in flight."""

    __slots__ = ("evaluated", "group", "heap", "item", "workload")

    def __init__(self, workload: WorkloadInfo) -> None:
        self.workload = workload
        self.heap: PendingHeap | None = None
        self.group: EquivalenceGroup | None = None
        """Its group, kept in flight because it usually returns to it."""
        self.item: Item | None = None
        """The valid item; older ones in any heap are stale."""
        self.evaluated: int | None = None
        """Generation when it was last popped (SCH-231)."""

    @property
    def is_active(self) -> bool:
        """Whether it can be popped."""
        return self.heap is not None and self.heap.is_active


class PendingHeap:
    """Entries in the order of their items."""

    __slots__ = ("is_active", "items", "size")

    def __init__(self) -> None:
        self.is_active = False
        self.items: list[Item] = []
        self.size = 0

    def add(self, item: Item) -> None:
        """Add the entry of an item."""
        entry = item[4]
        entry.item, entry.heap = item, self
        heappush(self.items, item)
        self.size += 1

    def remove(self, entry: PendingEntry) -> None:
        """Remove an entry; its item becomes stale."""
        entry.item = entry.heap = None
        self.size -= 1
        if len(self.items) > 2 * self.size + MAX_STALE:
            self.items = [item for item in self.items if item[4].item is item]
            heapify(self.items)

    def head(self) -> Item | None:
        """The first valid item."""
        items = self.items
        while items and items[0][4].item is not items[0]:
            heappop(items)
        return items[0] if items else None

    def absorb(self, other: "PendingHeap") -> None:
        """Add all entries of another heap, which should be the smaller one."""
        for item in other.items:
            if item[4].item is item:
                self.add(item)
        other.items, other.size = [], 0


class EquivalenceGroup:
    """Equivalent workloads of one LocalQueue: which of them are active and which are inadmissible."""

    __slots__ = ("active", "inadmissible", "kind", "local_queue")

    def __init__(self, kind: str | ObjectKey, local_queue: ObjectKey) -> None:
        self.kind = kind
        self.local_queue = local_queue
        self.active = PendingHeap()
        self.active.is_active = True
        self.inadmissible = PendingHeap()

    def make_inadmissible(self) -> int:
        """Make all inadmissible, at the cost of the smaller heap; returns how many changed."""
        moved = self.active.size
        if self.inadmissible.size < self.active.size:
            self._swap()
        self.inadmissible.absorb(self.active)
        return moved

    def reactivate(self) -> int:
        """Make all active again, at the same cost; returns how many changed."""
        moved = self.inadmissible.size
        if self.active.size < self.inadmissible.size:
            self._swap()
        self.active.absorb(self.inadmissible)
        return moved

    def _swap(self) -> None:
        self.active, self.inadmissible = self.inadmissible, self.active
        self.active.is_active, self.inadmissible.is_active = True, False


class HeadHeap:
    """The heads of active heaps, from which the next workload is selected.

    The head of an active heap is added whenever it changes; items that are no longer active are skipped. So the first
    active item comes before all others, whether or not it is still the head of its heap.
    """

    __slots__ = ("items", "limit")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.limit = MAX_STALE

    def offer(self, heads: Sequence[Item]) -> None:
        """Add new heads of heaps."""
        if len(heads) > MAX_STALE and len(heads) > len(self.items) // MANY:
            self._start_over(heads)
            return
        for item in heads:
            heappush(self.items, item)
        if len(self.items) > self.limit:
            self._start_over(())

    def _start_over(self, more: Sequence[Item]) -> None:
        self.items = [*_heads_among(self.items), *more]
        heapify(self.items)
        self.limit = 2 * len(self.items) + MAX_STALE

    def first(self) -> Item | None:
        """The first workload that is active."""
        items = self.items
        while items and not _counts(items[0]):
            heappop(items)
        return items[0] if items else None


def _counts(item: Item) -> bool:
    return item[4].item is item and item[4].is_active


def _heads_among(items: Iterable[Item]) -> list[Item]:
    heads = {id(item): item for item in items if _counts(item) and _is_head(item)}
    return list(heads.values())


def _is_head(item: Item) -> bool:
    heap = item[4].heap
    return heap is not None and heap.head() is item
