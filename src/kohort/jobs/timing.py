"""Timings of jobs: creation of Workloads and removal of gates (docs/spec/api-config-metrics.md, section 11).

They are recorded after a successful write, so that failed ones are not counted.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.times import parse_time
from kohort.engine.lifecycle.conditions import ADMITTED, condition
from kohort.jobs.effects import Effect, GateRemoved, PatchObject
from kohort.jobs.keys import GROUP_WORKLOAD_ANNOTATION
from kohort.jobs.objects import gates, metadata, queue_name
from kohort.metrics import KueueMetrics

FIRST = 1
"""The generation of an unchanged job; later ones may have waited for their user."""


def with_gate_removals(effects: Iterable[Effect], workload: Workload) -> Iterator[Effect]:
    """The effects, with a GateRemoved after each write that removes gates of a pod."""
    for effect in effects:
        yield effect
        if isinstance(effect, PatchObject):
            yield from (GateRemoved(gate, workload) for gate in _opened(effect))


def time_creation(metrics: KueueMetrics, owner: JsonObject, now: datetime) -> None:
    """Observe the time between the creation of a job and of its Workload."""
    head = metadata(owner)
    if head.get("generation") != FIRST or not head.get("creationTimestamp"):
        return
    waited = (now - parse_time(head["creationTimestamp"])).total_seconds()
    custom = metrics.labels_of_local_queue(head.get("namespace", ""), queue_name(owner))
    metrics.workload_creation_latency_seconds.observe(max(waited, 0.0), job_kind=owner["kind"], **custom)


def time_gate_removal(metrics: KueueMetrics, gate: str, workload: Workload, now: datetime) -> None:
    """Observe the time between admission and removal of a gate."""
    admitted, admission = condition(workload, ADMITTED), workload.status.admission
    if admitted is None or admitted.last_transition_time is None or admission is None:
        return
    is_group = workload.metadata.annotations.get(GROUP_WORKLOAD_ANNOTATION) == "true"
    metrics.pod_scheduling_gate_removal_seconds.observe(
        max((now - admitted.last_transition_time).total_seconds(), 0.0),
        name=gate,
        cluster_queue=admission.cluster_queue,
        is_group="true" if is_group else "false",
    )


def _opened(effect: PatchObject) -> list[str]:
    left = gates(effect.after)
    return [gate for gate in gates(effect.before) if gate not in left]
