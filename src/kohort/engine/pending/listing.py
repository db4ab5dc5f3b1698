"""The pending workloads of a ClusterQueue in one order, for people who ask when it is their turn (SCH-213)."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from kohort.api.meta import ObjectKey
from kohort.engine.pending.heap import rank_of
from kohort.engine.records import WorkloadInfo


class QueuePosition(NamedTuple):
    """How many workloads come before one, in its ClusterQueue and in its LocalQueue."""

    in_cluster_queue: int
    in_local_queue: int


class PendingListing:
    """The order at one moment."""

    def __init__(
        self, workloads: Iterable[WorkloadInfo], first: ObjectKey | None, usages: Mapping[ObjectKey, float]
    ) -> None:
        self.first = first
        """The sticky workload, if there is one."""
        self.usages = usages
        """Usage per LocalQueue that the order follows; empty where usage does not count."""
        self.workloads = sorted(workloads, key=rank_of)
        # Sorting is stable: what comes first in the order is sorted by last.
        self.workloads.sort(key=lambda workload: (usages.get(workload.local_queue, 0.0), workload.key != first))

    @cached_property
    def positions(self) -> Mapping[ObjectKey, QueuePosition]:
        """Where each workload stands."""
        positions = {}
        seen: dict[ObjectKey, int] = {}
        for index, workload in enumerate(self.workloads):
            before = seen.get(workload.local_queue, 0)
            positions[workload.key] = QueuePosition(index, before)
            seen[workload.local_queue] = before + 1
        return positions
