"""Records Kubernetes Events about Workloads (API-105): after the write, never before it."""

from collections.abc import Iterable

from kohort.api.core.objects import ObjectReference
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle.events import WorkloadEvent
from kohort.kube.events import EventRecorder, EventToRecord


def record_workload_events(
    recorder: EventRecorder, workload: Workload, events: Iterable[WorkloadEvent], series: str = ""
) -> None:
    """Record events about a Workload in order; those with the same series are aggregated."""
    for event in events:
        recorder.record(reference(workload), EventToRecord(event.type, event.reason, event.note, event.action, series))


def reference(workload: Workload) -> ObjectReference:
    """The object reference of a Workload."""
    resource, metadata = Workload.info.resource, workload.metadata
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
    )
