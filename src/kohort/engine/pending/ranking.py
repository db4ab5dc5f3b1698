"""The order of pending workloads, maintained incrementally, so that a position is found without sorting.

Sorted lists of bounded length: an insertion changes one list, and a position is found by one step per list.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from kohort.api.meta import ObjectKey
from kohort.engine.pending.heap import DAWN
from kohort.engine.records import CreationOrder, WorkloadInfo

RankKey = tuple[int, CreationOrder, ObjectKey]
"""The sort key (SCH-212 c to e): priority and time as one number, which is fast to compare, and UIDs."""

MICROSECOND: Final = timedelta(microseconds=1)
ALL_TIME: Final = 2**60
"""More microseconds than between any two timestamps."""
MAX_LENGTH: Final = 1024
"""Length at which a list is split."""


def rank_key(workload: WorkloadInfo) -> RankKey:
    """The sort key of a workload."""
    waited_since = ((workload.queued_at or DAWN) - DAWN) // MICROSECOND
    return waited_since - workload.priority * ALL_TIME, workload.creation_order, workload.key


class Ranking:
    """Sort keys in order."""

    __slots__ = ("_lasts", "_lists", "_size")

    def __init__(self) -> None:
        self._lists: list[list[RankKey]] = []
        self._lasts: list[RankKey] = []
        """The last of each list."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[RankKey]:
        for each in self._lists:
            yield from each

    def add(self, sort_key: RankKey) -> None:
        """Insert a key."""
        self._size += 1
        if not self._lists:
            self._lists.append([sort_key])
            self._lasts.append(sort_key)
            return
        number = min(bisect_left(self._lasts, sort_key), len(self._lists) - 1)
        found = self._lists[number]
        insort(found, sort_key)
        if len(found) > MAX_LENGTH:
            self._lists[number : number + 1] = [found[: MAX_LENGTH // 2], found[MAX_LENGTH // 2 :]]
            self._lasts.insert(number, found[MAX_LENGTH // 2 - 1])
            number += 1
        self._lasts[number] = self._lists[number][-1]

    def discard(self, sort_key: RankKey) -> None:
        """Remove a key that is present."""
        number = bisect_left(self._lasts, sort_key)
        found = self._lists[number]
        del found[bisect_left(found, sort_key)]
        self._size -= 1
        if found:
            self._lasts[number] = found[-1]
        else:
            del self._lists[number], self._lasts[number]

    def before(self, sort_key: RankKey) -> int:
        """How many keys come before it, whether it is present or not."""
        number = bisect_left(self._lasts, sort_key)
        if number == len(self._lists):
            return self._size
        return sum(map(len, self._lists[:number])) + bisect_left(self._lists[number], sort_key)
