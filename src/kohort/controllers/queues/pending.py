"""Who waits in a queue, summed up in one walk for the gauges: how many, of how many kinds, for how much."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kohort.api.amounts import CPU
from kohort.engine.pending import PendingQueue, Place
from kohort.engine.records import Workload

ACTIVE: Final = "active"
PARKED: Final = "inadmissible"
STATUSES: Final = (ACTIVE, PARKED)
"""How gauges call it: may be looked at in the next turn, or was found wanting (API-143)."""


@dataclass(slots=True)
class Waiting:
    """Sums over workloads that wait."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    kinds: dict[str, set[str]] = field(default_factory=lambda: {status: set() for status in STATUSES})
    amounts: dict[str, int] = field(default_factory=dict)

    def add(self, workload: Workload, place: Place) -> None:
        """One more."""
        status = PARKED if place is Place.POOL else ACTIVE
        self.counts[status] += 1
        self.kinds[status].add(workload.equivalence)
        for pod_set in workload.pod_sets:
            for resource, amount in pod_set.total.items():
                self.amounts[resource] = self.amounts.get(resource, 0) + amount


def waiting_among(workloads: Iterable[Workload], queue: PendingQueue | None) -> Waiting:
    """Those who wait in a ClusterQueue, out of these."""
    waiting = Waiting()
    if queue is not None:
        for workload in workloads:
            place = None if workload.queue is None or workload.has_quota else queue.place_of(workload)
            if place is not None:
                waiting.add(workload, place)
    return waiting


def in_units(resource: str, amount: int) -> float:
    """An amount as Prometheus is told it: cores, bytes, pieces."""
    return amount / 1000 if resource == CPU else float(amount)
