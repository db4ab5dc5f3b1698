"""Status counts of queues: pending, reserved, admitted and borrowed (API-108, API-113, SCH-1055)."""

from collections.abc import Iterable
from dataclasses import dataclass

from kohort.api.amounts import format_amount
from kohort.api.kueue.v1beta2.queues import FlavorUsage, LocalQueueFlavorUsage, LocalQueueResourceUsage, ResourceUsage
from kohort.engine.quota import FlavorResource
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo

Totals = dict[FlavorResource, int]


@dataclass(frozen=True, slots=True)
class QueueUsageStats:
    """Current usage of a queue."""

    reserving: int
    admitted: int
    reservation: Totals
    usage: Totals


def figures_of(workloads: Iterable[WorkloadInfo]) -> QueueUsageStats:
    """Counts and sums over workloads that hold quota."""
    reservation: Totals = {}
    usage: Totals = {}
    reserving = admitted = 0
    for workload in workloads:
        reserving += 1
        admitted += workload.is_admitted
        for fr, amount in workload.usage.items():
            reservation[fr] = reservation.get(fr, 0) + amount
            if workload.is_admitted:
                usage[fr] = usage.get(fr, 0) + amount
    return QueueUsageStats(reserving, admitted, reservation, usage)


def queue_usage(queue: ClusterQueueInfo, totals: Totals) -> tuple[FlavorUsage, ...]:
    """Every flavor in the order of the spec, every covered resource by name, zeros included."""
    return tuple(
        FlavorUsage(
            name=flavor,
            resources=tuple(
                _resource_usage(queue, FlavorResource(flavor, name), totals) for name in sorted(group.resources)
            ),
        )
        for group in queue.groups
        for flavor in group.flavors
    )


def _resource_usage(queue: ClusterQueueInfo, fr: FlavorResource, totals: Totals) -> ResourceUsage:
    total = totals.get(fr, 0)
    borrowed = max(0, total - queue.node.cell(fr).nominal) if queue.node.parent is not None else 0
    return ResourceUsage(
        name=fr.resource,
        total=format_amount(fr.resource, total),
        borrowed=format_amount(fr.resource, borrowed),
    )


def local_queue_usage(queue: ClusterQueueInfo, totals: Totals) -> tuple[LocalQueueFlavorUsage, ...]:
    """The same for the workloads of one LocalQueue, without borrowing."""
    return tuple(
        LocalQueueFlavorUsage(
            name=flavor,
            resources=tuple(
                LocalQueueResourceUsage(
                    name=name, total=format_amount(name, totals.get(FlavorResource(flavor, name), 0))
                )
                for name in sorted(group.resources)
            ),
        )
        for group in queue.groups
        for flavor in group.flavors
    )
