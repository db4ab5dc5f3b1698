"""Gauges of queues by labels of their Workloads, where the Configuration asks for them (API-145).

They take a walk over all Workloads of a queue, so they are as old as the last survey. No series is left without
Workloads.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues.pending_totals import status_of
from kohort.engine.pending import PendingQueue
from kohort.engine.records import WorkloadInfo
from kohort.metrics.families import Gauge
from kohort.metrics.series import WorkloadSeries

Labels = tuple[tuple[str, str], ...]
"""Names and values."""


def show_by_labels(context: ControllerContext, name: str, places: Iterable[ObjectKey]) -> None:
    """Set the gauges of a ClusterQueue and of the LocalQueues before it, by labels of their Workloads."""
    engine, pending, waiting = context.engine, context.engine.pending[name], Counter[Labels]()
    for place in places:
        workloads = engine.local_queues[ObjectKey(*place)].workloads.values()
        mine = Counter(_waiting(context, workloads, pending))
        waiting += mine
        series, owner = context.metrics.local_queue, {"name": place.name, "namespace": place.namespace}
        _set(series.pending_workloads, mine, owner)
        _show_admitted(context, series, (each for each in workloads if each.has_quota), owner)
    _set(context.metrics.pending_workloads, waiting, {"cluster_queue": name})
    _show_admitted(context, context.metrics, engine.queues[name].holders.values(), {"cluster_queue": name})


def _waiting(context: ControllerContext, workloads: Iterable[WorkloadInfo], queue: PendingQueue) -> Iterator[Labels]:
    for each in workloads:
        place = queue.place_of(each)
        if place is not None:
            yield (("status", status_of(place)), *_custom(context, each))


def _show_admitted(
    context: ControllerContext, series: WorkloadSeries, holders: Iterable[WorkloadInfo], owner: dict[str, str]
) -> None:
    admitted = Counter(_custom(context, each) for each in holders if each.is_admitted)
    _set(series.admitted_active_workloads, admitted, owner)


def _custom(context: ControllerContext, workload: WorkloadInfo) -> Labels:
    return tuple(context.metrics.labels_of(workload.object).items()) if workload.object is not None else ()


def _set(gauge: Gauge, counts: Counter[Labels], owner: dict[str, str]) -> None:
    gauge.forget(*owner.values())
    for labels, count in counts.items():
        gauge.set(count, **dict(labels), **owner)
