"""Gauges of queues by custom labels of their Workloads, if configured (API-145).

They need an iteration over all Workloads of a queue, so they are updated periodically. Series without Workloads are
dropped.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues.gauges.pending_totals import status_of
from kohort.engine.read_model import PendingView
from kohort.engine.records import WorkloadInfo
from kohort.metrics.families import Gauge
from kohort.metrics.series import WorkloadSeries

_Labels = tuple[tuple[str, str], ...]
"""Names and values."""


def update_by_labels(context: ControllerContext, name: str, keys: Iterable[ObjectKey]) -> None:
    """Set the gauges of a ClusterQueue and of its LocalQueues by labels of their Workloads."""
    engine, queue, pending = context.engine, context.engine.read.pending[name], Counter[_Labels]()
    for key in keys:
        workloads = engine.read.local_queues[ObjectKey(*key)].workloads.values()
        own = Counter(_pending(context, workloads, queue))
        pending += own
        series, owner = context.metrics.local_queue, {"name": key.name, "namespace": key.namespace}
        _set(series.pending_workloads, own, owner)
        _set_admitted(context, series, (each for each in workloads if each.has_quota), owner)
    _set(context.metrics.pending_workloads, pending, {"cluster_queue": name})
    _set_admitted(context, context.metrics, engine.read.cluster_queues[name].holders.values(), {"cluster_queue": name})


def _pending(context: ControllerContext, workloads: Iterable[WorkloadInfo], queue: PendingView) -> Iterator[_Labels]:
    for each in workloads:
        state = queue.state_of(each)
        if state is not None:
            yield (("status", status_of(state)), *_custom(context, each))


def _set_admitted(
    context: ControllerContext, series: WorkloadSeries, holders: Iterable[WorkloadInfo], owner: dict[str, str]
) -> None:
    admitted = Counter(_custom(context, each) for each in holders if each.is_admitted)
    _set(series.admitted_active_workloads, admitted, owner)


def _custom(context: ControllerContext, workload: WorkloadInfo) -> _Labels:
    return tuple(context.metrics.labels_of(workload.object).items()) if workload.object is not None else ()


def _set(gauge: Gauge, counts: Counter[_Labels], owner: dict[str, str]) -> None:
    gauge.forget(*owner.values())
    for labels, count in counts.items():
        gauge.set(count, **dict(labels), **owner)
