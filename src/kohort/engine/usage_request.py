"""Usage requests: what a workload needs to be admitted, in quota and in topology domains.

All searches (smaller sizes, victims, the check before an admission, explain) take one `UsageRequest`. Quota is counted
in cells of the cohort trees, pods in counters of topology domains. What a workload holds is one mapping of counters to
amounts, which is taken and released as a whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from kohort.engine.placement.search import FoundPlaces, PlacementSearch
from kohort.engine.quota import FlavorResource
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo


class UsageRequest(msgspec.Struct, frozen=True):
    """What a workload needs in a ClusterQueue."""

    quota: Mapping[FlavorResource, int]
    needs: frozenset[FlavorResource] = frozenset()
    """Flavor-resources of flavors that lack quota or topology capacity (SCH-601)."""
    search: PlacementSearch | None = None
    """Pods that must be placed, in any domain (TAS-77)."""
    places: FoundPlaces | None = None
    """A placement that was found (TAS-80)."""

    def use(self, queue: ClusterQueueInfo) -> None:
        """Count quota and placement as used."""
        cells = queue.node.cells
        for fr, amount in self.quota.items():
            cells[fr].use(amount)
        if self.places is not None:
            self.places.use()

    def free(self, queue: ClusterQueueInfo) -> None:
        """Undo `use`."""
        cells = queue.node.cells
        for fr, amount in self.quota.items():
            cells[fr].free(amount)
        if self.places is not None:
            self.places.free()


def quota_fits(queue: ClusterQueueInfo, request: UsageRequest) -> bool:
    """Whether the quota of the request is available now (SCH-432)."""
    cells = queue.node.cells
    for fr, amount in request.quota.items():  # noqa: SIM110 - the innermost check of searches
        if amount > 0 and cells[fr].available() < amount:
            return False
    return True


def pods_fit(request: UsageRequest) -> bool:
    """Whether the placement of the request is free and its pods without one can be placed (TAS-77, TAS-80)."""
    if request.places is not None and not request.places.fit():
        return False
    return request.search is None or request.search.succeeds()


def fits(queue: ClusterQueueInfo, request: UsageRequest) -> bool:
    """Whether the request fits what is available now."""
    if not quota_fits(queue, request):
        return False
    return (request.search is None and request.places is None) or pods_fit(request)


def could_suffice(leaving: Sequence[WorkloadInfo], queue: ClusterQueueInfo, request: UsageRequest) -> bool:
    """Whether the request might fit without these workloads: none releases more than its usage.

    Pods that can be placed beside them need no test without them.
    """
    cells = queue.node.cells
    if not leaving or not all(
        cells[fr].available() + sum([each.usage.get(fr, 0) for each in leaving]) >= amount
        for fr, amount in request.quota.items()
        if amount > 0
    ):
        return False
    if request.search is None or pods_fit(request):
        return True
    with released(leaving):
        return pods_fit(request)


@contextmanager
def released(workloads: Sequence[WorkloadInfo]) -> Iterator[None]:
    """Release the usage of workloads until the context exits."""
    for workload in workloads:
        workload.release()
    try:
        yield
    finally:
        for workload in workloads:
            workload.hold()
