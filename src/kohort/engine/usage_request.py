"""Usage requests: what a workload needs so that it can be admitted, in quota and in any other capacity.

All searches (flavors, smaller sizes, victims, the check before an admission, explain) take one `UsageRequest`. Quota is
counted in cells of the cohort trees; a `CapacityModel` adds further counters, such as the free capacity of nodes. What
a workload holds is one mapping of counters to amounts, which is taken and released as a whole.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

import msgspec

from kohort.engine.quota import FlavorResource
from kohort.engine.records import ClusterQueueInfo, PodSetResources, UsageCounter, WorkloadInfo
from kohort.engine.requests.usage import PodSetUsage


class CapacityRequest(Protocol):
    """What pods need of a capacity other than quota."""

    @property
    def problem(self) -> str:
        """Why it does not fit now, as a condition message."""

    def fits(self) -> bool:
        """Whether it fits what is available now."""

    def could_fit(self) -> bool:
        """Whether it would fit if no workload used anything."""

    def could_fit_without(self, leaving: Sequence[WorkloadInfo]) -> bool:
        """Whether it might fit if these workloads released what they hold; True where that is costly to find out."""

    def use(self) -> None:
        """Count it as used."""

    def free(self) -> None:
        """Undo `use`."""


class CapacityModel(Protocol):
    """A capacity besides quota that limits admissions."""

    def requests(
        self, workload: WorkloadInfo, flavor: str, pod_sets: Sequence[PodSetResources], /
    ) -> tuple[CapacityRequest, ...]:
        """What pod sets of a workload need of a flavor, all together, beyond the slice that the workload replaces."""

    def usage(self, pod_sets: Iterable[PodSetUsage], /) -> Mapping[UsageCounter, int]:
        """What admitted pod sets count at which counters."""


class UsageRequest(msgspec.Struct, frozen=True):
    """What a workload needs in a ClusterQueue."""

    quota: Mapping[FlavorResource, int]
    needs: frozenset[FlavorResource] = frozenset()
    """Flavor-resources of flavors that lack quota or another capacity (SCH-601)."""
    capacity: tuple[CapacityRequest, ...] = ()

    def use(self, queue: ClusterQueueInfo) -> None:
        """Count all of it as used in the queue."""
        cells = queue.node.cells
        for fr, amount in self.quota.items():
            cells[fr].use(amount)
        for each in self.capacity:
            each.use()

    def free(self, queue: ClusterQueueInfo) -> None:
        """Undo `use`."""
        cells = queue.node.cells
        for fr, amount in self.quota.items():
            cells[fr].free(amount)
        for each in self.capacity:
            each.free()


def fits(queue: ClusterQueueInfo, request: UsageRequest) -> bool:
    """Whether the request fits what is available now (SCH-432)."""
    cells = queue.node.cells
    if [fr for fr, amount in request.quota.items() if amount > 0 and cells[fr].available() < amount]:
        return False
    return not request.capacity or all(each.fits() for each in request.capacity)


def could_suffice(leaving: Sequence[WorkloadInfo], queue: ClusterQueueInfo, request: UsageRequest) -> bool:
    """Whether the request might fit if all of these left: a workload releases no more than it holds."""
    cells = queue.node.cells
    return (
        bool(leaving)
        and all(
            cells[fr].available() + sum([each.usage.get(fr, 0) for each in leaving]) >= amount
            for fr, amount in request.quota.items()
            if amount > 0
        )
        and all(each.could_fit_without(leaving) for each in request.capacity)
    )


@contextmanager
def released(workloads: Sequence[WorkloadInfo]) -> Iterator[None]:
    """Take the usage of workloads out of the counters until the context exits."""
    for workload in workloads:
        workload.release()
    try:
        yield
    finally:
        for workload in workloads:
            workload.hold()
