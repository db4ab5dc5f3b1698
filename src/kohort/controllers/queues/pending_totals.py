"""Who waits in a queue, for the gauges: how many, of how many kinds, for how much.

Nobody keeps these sums, so they take a walk over all who wait.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kohort.engine.pending import PendingQueue, PendingState
from kohort.engine.records import WorkloadInfo

ACTIVE: Final = "active"
PARKED: Final = "inadmissible"
STATUSES: Final = (ACTIVE, PARKED)
"""How gauges call it: may be looked at in the next turn, or was found wanting (API-143)."""


def status_of(place: PendingState) -> str:
    """One of the two words for where a workload waits."""
    return PARKED if place is PendingState.POOL else ACTIVE


@dataclass(slots=True)
class PendingTotals:
    """Sums over workloads that wait."""

    counts: Counter[str] = field(default_factory=Counter)
    kinds: dict[str, set[str]] = field(default_factory=lambda: {status: set() for status in STATUSES})
    amounts: Counter[str] = field(default_factory=Counter)

    def add(self, workload: WorkloadInfo, place: PendingState) -> None:
        """One more."""
        status = status_of(place)
        self.counts[status] += 1
        self.kinds[status].add(workload.equivalence)
        for pod_set in workload.pod_sets:
            for resource, amount in pod_set.total.items():
                self.amounts[resource] += amount

    def join(self, other: "PendingTotals") -> None:
        """All of another queue."""
        self.counts.update(other.counts)
        self.amounts.update(other.amounts)
        for status in STATUSES:
            self.kinds[status] |= other.kinds[status]


def pending_totals(workloads: Iterable[WorkloadInfo], queue: PendingQueue) -> PendingTotals:
    """Those who wait in a ClusterQueue, out of these."""
    waiting = PendingTotals()
    for workload in workloads:
        place = queue.place_of(workload)
        if place is not None:
            waiting.add(workload, place)
    return waiting
