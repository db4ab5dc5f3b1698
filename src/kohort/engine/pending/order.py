"""The order of the pending workloads of a ClusterQueue and its LocalQueues (SCH-212, SCH-213).

Scheduling does not need it: changes are recorded, and applied at the next read or when many are recorded.
"""

from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from typing import Final, NamedTuple

from kohort.api.meta import ObjectKey
from kohort.engine.pending.heaps import UsageOf
from kohort.engine.pending.ranking import Ranking, RankKey, rank_key
from kohort.engine.records import WorkloadInfo

NO_CANDIDATES = Ranking()
MOST_NOTED: Final = 256
"""Number of recorded changes from which they are applied."""


class QueuePosition(NamedTuple):
    """How many workloads come before one, in its ClusterQueue and in its LocalQueue."""

    in_cluster_queue: int
    in_local_queue: int


class PendingOrder:
    """Positions of all pending workloads, in one ranking and in one per LocalQueue."""

    def __init__(self) -> None:
        self._all = Ranking()
        self._locals: dict[ObjectKey, Ranking] = {}
        self._known: dict[ObjectKey, tuple[RankKey, ObjectKey]] = {}
        """Sort key and LocalQueue under which each workload is listed."""
        self._changed: dict[ObjectKey, WorkloadInfo | None] = {}
        """Workloads that were added, changed or removed since the last read."""

    def note(self, workload: WorkloadInfo) -> None:
        """Record that a workload was added or may have another position."""
        self._changed[workload.key] = workload
        if len(self._changed) > MOST_NOTED:
            self._catch_up()

    def forget(self, key: ObjectKey) -> None:
        """Remove a workload."""
        if key in self._known:
            self._changed[key] = None
            if len(self._changed) > MOST_NOTED:
                self._catch_up()
        else:
            self._changed.pop(key, None)

    def _catch_up(self) -> None:
        changed, self._changed = self._changed, {}
        for key, workload in changed.items():
            if workload is None:
                self._take_out(key)
            else:
                self._put_in_place(workload)

    def _put_in_place(self, workload: WorkloadInfo) -> None:
        sort_key, local_queue = rank_key(workload), workload.local_queue
        known = self._known.get(workload.key)
        if known is not None:
            if known == (sort_key, local_queue):
                return
            self._take_out(workload.key)
        self._known[workload.key] = sort_key, local_queue
        self._all.add(sort_key)
        own = self._locals.get(local_queue)
        if own is None:
            own = self._locals[local_queue] = Ranking()
        own.add(sort_key)

    def _take_out(self, key: ObjectKey) -> None:
        known = self._known.pop(key, None)
        if known is None:
            return
        sort_key, local_queue = known
        self._all.discard(sort_key)
        ranking = self._locals[local_queue]
        ranking.discard(sort_key)
        if not len(ranking):
            del self._locals[local_queue]

    def position_of(self, workload: WorkloadInfo, sticky: ObjectKey | None, usage_of: UsageOf | None) -> QueuePosition:
        """How many come before the workload, or would if it were added now."""
        self._catch_up()
        sort_key, local_queue = self._known.get(workload.key, (rank_key(workload), workload.local_queue))
        before, peers = self._split(local_queue, usage_of)
        if workload.key == sticky:
            return QueuePosition(before, 0)
        own = self._locals.get(local_queue, NO_CANDIDATES)
        in_all = before + sum(ranking.before(sort_key) for ranking in peers)
        in_own = own.before(sort_key)
        passed_by = self._known.get(sticky) if sticky is not None else None
        if passed_by is not None and passed_by[0] > sort_key:
            in_all += usage_of is None or usage_of(passed_by[1]) == usage_of(local_queue)
            in_own += passed_by[1] == local_queue
        return QueuePosition(in_all, in_own)

    def _split(self, local_queue: ObjectKey, usage_of: UsageOf | None) -> tuple[int, list[Ranking]]:
        """How many are of LocalQueues that used less, and the rankings of those that used as much."""
        if usage_of is None:
            return 0, [self._all]
        usages = {key: usage_of(key) for key in (*self._locals, local_queue)}
        usage = usages[local_queue]
        before = sum(len(ranking) for key, ranking in self._locals.items() if usages[key] < usage)
        return before, [ranking for key, ranking in self._locals.items() if usages[key] == usage]

    def keys(self, sticky: ObjectKey | None, usage_of: UsageOf | None) -> Iterator[ObjectKey]:
        """All workloads in order."""
        self._catch_up()
        head = self._known.get(sticky) if sticky is not None else None
        for usage, rankings in self._by_usage(usage_of):
            if head is not None and sticky is not None and (usage_of is None or usage_of(head[1]) == usage):
                yield sticky
            yield from (key for *_, key in merge(*rankings) if key != sticky)

    def _by_usage(self, usage_of: UsageOf | None) -> Iterator[tuple[float, list[Ranking]]]:
        if usage_of is None:
            yield 0.0, [self._all]
            return
        for usage, keys in groupby(sorted(self._locals, key=usage_of), key=usage_of):
            yield usage, [self._locals[key] for key in keys]
