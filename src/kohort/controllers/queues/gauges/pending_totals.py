"""Sums over the pending workloads of a queue: number, distinct shapes, requests.

They are not maintained incrementally, so they need an iteration over all pending workloads.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kohort.engine.pending import PendingState
from kohort.engine.read_model import PendingView
from kohort.engine.records import WorkloadInfo

ACTIVE: Final = "active"
INADMISSIBLE: Final = "inadmissible"
STATUSES: Final = (ACTIVE, INADMISSIBLE)
"""Values of the label `status` (API-143)."""


def status_of(state: PendingState) -> str:
    """The label value for the state of a pending workload."""
    return INADMISSIBLE if state is PendingState.INADMISSIBLE else ACTIVE


@dataclass(slots=True)
class PendingTotals:
    """Sums over pending workloads."""

    counts: Counter[str] = field(default_factory=Counter)
    kinds: dict[str, set[str]] = field(default_factory=lambda: {status: set() for status in STATUSES})
    amounts: Counter[str] = field(default_factory=Counter)

    def add(self, workload: WorkloadInfo, state: PendingState) -> None:
        """Add a workload."""
        status = status_of(state)
        self.counts[status] += 1
        self.kinds[status].add(workload.equivalence)
        for pod_set in workload.pod_sets:
            for resource, amount in pod_set.total.items():
                self.amounts[resource] += amount

    def join(self, other: "PendingTotals") -> None:
        """Add the sums of another queue."""
        self.counts.update(other.counts)
        self.amounts.update(other.amounts)
        for status in STATUSES:
            self.kinds[status] |= other.kinds[status]


def pending_totals(workloads: Iterable[WorkloadInfo], queue: PendingView) -> PendingTotals:
    """The sums over those of these workloads that are pending in a ClusterQueue."""
    pending = PendingTotals()
    for workload in workloads:
        state = queue.state_of(workload)
        if state is not None:
            pending.add(workload, state)
    return pending
