"""All heaps of a ClusterQueue: active, inadmissible and backing-off workloads, and the first of them.

Only the data structure; `queue` has the rules by which workloads change their state.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, TypeVar

from kohort.api.meta import ObjectKey
from kohort.engine.pending.heap import EquivalenceGroup, HeadHeap, Item, PendingEntry, PendingHeap, rank_of
from kohort.engine.records import WorkloadInfo

Outer = TypeVar("Outer")
Inner = TypeVar("Inner")

UsageOf = Callable[[ObjectKey], float]
"""Past usage of a LocalQueue (SCH-804)."""
ALL_LOCAL_QUEUES: Final = ObjectKey("", "")
"""The key of all workloads if past usage does not count."""


class PendingHeaps:
    """The pending workloads of a ClusterQueue by state."""

    def __init__(self, usage_of: UsageOf | None) -> None:
        self.active = 0
        """How many can be popped."""
        self._usage_of = usage_of
        self._groups: dict[str | ObjectKey, dict[ObjectKey, EquivalenceGroup]] = {}
        self._inadmissible: dict[str, dict[EquivalenceGroup, None]] = {}
        """Groups with inadmissible workloads, by namespace."""
        self.backing_off = PendingHeap()
        """Workloads with a backoff."""
        self._head_heaps: dict[ObjectKey, HeadHeap] = {}
        """One per LocalQueue if past usage counts; otherwise only one."""
        self._numbers = 0

    def order_by(self, usage_of: UsageOf | None) -> None:
        """Set whether past usage of LocalQueues counts (SCH-809)."""
        self._usage_of = usage_of
        self._head_heaps.clear()
        self._offer_heads(group for equal in self._groups.values() for group in equal.values())

    # Adding an entry removes it from its former heap.

    def make_active(self, entry: PendingEntry) -> None:
        """Make the workload active."""
        group = self._join(entry)
        item = self._item(entry)
        group.active.add(item)
        self.active += 1
        if group.active.head() is item:
            self._head_heap_of(group).offer((item,))

    def make_inadmissible(self, entry: PendingEntry) -> None:
        """Make the workload inadmissible."""
        group = self._join(entry)
        group.inadmissible.add(self._item(entry))
        self._note_inadmissible(group)

    def back_off(self, entry: PendingEntry, until: datetime) -> None:
        """Make the workload inadmissible until a time; reactivation skips it."""
        self.drop(entry)
        self.backing_off.add((0, until, entry.workload.creation_order, self._next_number(), entry))

    def is_in_place(self, entry: PendingEntry) -> bool:
        """Whether the position of an active or inadmissible workload is current."""
        item, group, workload = entry.item, entry.group, entry.workload
        return (
            item is not None
            and group is not None
            and item[:3] == rank_of(workload)
            and group.kind == (workload.equivalence or workload.key)
            and group.local_queue == workload.local_queue
        )

    def take(self, entry: PendingEntry) -> None:
        """Remove the workload from its heap, if it is in one."""
        heap = entry.heap
        if heap is None:
            return
        was_first = heap.is_active and heap.head() is entry.item
        heap.remove(entry)
        if heap.is_active:
            self.active -= 1
        if was_first and entry.group is not None:
            head = heap.head()
            if head is not None:
                self._head_heap_of(entry.group).offer((head,))

    def drop(self, entry: PendingEntry) -> None:
        """Remove the workload; it does not return to its group."""
        self.take(entry)
        if entry.group is not None:
            self._tidy(entry.group)
            entry.group = None

    def _join(self, entry: PendingEntry) -> EquivalenceGroup:
        if entry.heap is not None:
            self.take(entry)
        old, group = entry.group, self._group_of(entry.workload)
        if old is not None and old is not group:
            self._tidy(old)
        entry.group = group
        return group

    # Moving groups

    def make_group_inadmissible(self, kind: str) -> None:
        """Make all active workloads of an equivalence group inadmissible."""
        for group in self._groups.get(kind, {}).values():
            self.active -= group.make_inadmissible()
            self._note_inadmissible(group)

    def reactivate(self, belongs: Callable[[str], bool]) -> int:
        """Make inadmissible workloads active again in selected namespaces; returns how many."""
        groups: list[EquivalenceGroup] = []
        for namespace in [each for each in self._inadmissible if belongs(each)]:
            groups.extend(self._inadmissible.pop(namespace))
        moved = sum([group.reactivate() for group in groups])
        self.active += moved
        self._offer_heads(groups)
        return moved

    # Backoff

    def is_backing_off(self, entry: PendingEntry) -> bool:
        """Whether the workload has a backoff."""
        return entry.heap is self.backing_off

    def next_backoff_end(self) -> datetime | None:
        """When the first backoff ends."""
        item = self.backing_off.head()
        return item[1] if item else None

    def take_due(self, now: datetime) -> list[PendingEntry]:
        """Remove the workloads whose backoff has ended, the earliest first."""
        due: list[PendingEntry] = []
        if not self.backing_off.size:
            return due
        while (item := self.backing_off.head()) is not None and item[1] <= now:
            self.take(item[4])
            due.append(item[4])
        return due

    # Order

    def first(self, sticky: PendingEntry | None) -> PendingEntry | None:
        """The head (SCH-212): least past usage of the LocalQueue, then the preemptor, then by rank."""
        best = self._first_of_lanes()
        if best is None:
            return None
        usage, item = best
        group = sticky.group if sticky is not None and sticky.is_active else None
        if group is None or (self._usage_of is not None and self._usage_of(group.local_queue) != usage):
            return item[4]
        return sticky

    def _first_of_lanes(self) -> tuple[float, Item] | None:
        best = None
        empty = []
        usage_of = self._usage_of
        for lane, head_heap in self._head_heaps.items():
            item = head_heap.first()
            if item is None:
                empty.append(lane)
                continue
            candidate = usage_of(lane) if usage_of else 0.0, item
            if best is None or candidate < best:
                best = candidate
        for lane in empty:
            del self._head_heaps[lane]
        return best

    def _lane(self, group: EquivalenceGroup) -> ObjectKey:
        return ALL_LOCAL_QUEUES if self._usage_of is None else group.local_queue

    def _head_heap_of(self, group: EquivalenceGroup) -> HeadHeap:
        lane = self._lane(group)
        head_heap = self._head_heaps.get(lane)
        if head_heap is None:
            head_heap = self._head_heaps[lane] = HeadHeap()
        return head_heap

    def _offer_heads(self, groups: Iterable[EquivalenceGroup]) -> None:
        heads: dict[ObjectKey, list[Item]] = {}
        for group in groups:
            item = group.active.head()
            if item is not None:
                heads.setdefault(self._lane(group), []).append(item)
        for lane, items in heads.items():
            if lane not in self._head_heaps:
                self._head_heaps[lane] = HeadHeap()
            self._head_heaps[lane].offer(items)

    # Groups

    def _item(self, entry: PendingEntry) -> Item:
        return (*rank_of(entry.workload), self._next_number(), entry)

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _group_of(self, workload: WorkloadInfo) -> EquivalenceGroup:
        kind = workload.equivalence or workload.key
        equal = self._groups.setdefault(kind, {})
        group = equal.get(workload.local_queue)
        if group is None:
            group = equal[workload.local_queue] = EquivalenceGroup(kind, workload.local_queue)
        return group

    def _note_inadmissible(self, group: EquivalenceGroup) -> None:
        self._inadmissible.setdefault(group.local_queue.namespace, {})[group] = None

    def _tidy(self, group: EquivalenceGroup) -> None:
        """Remove a group, or its inadmissible part, when it is empty."""
        if group.inadmissible.size:
            return
        _remove(self._inadmissible, group.local_queue.namespace, group)
        if not group.active.size and self._groups.get(group.kind, {}).get(group.local_queue) is group:
            _remove(self._groups, group.kind, group.local_queue)


def _remove(nested: dict[Outer, dict[Inner, Any]], outer: Outer, inner: Inner) -> None:
    """Remove a member from a dict of dicts, and an inner dict that becomes empty."""
    members = nested.get(outer)
    if members is not None:
        members.pop(inner, None)
        if not members:
            del nested[outer]
