"""Workloads of pod groups that a controller keeps running: created before their pods (JOB-176)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kohort.api.codec import JsonObject
from kohort.api.gates import Gate
from kohort.api.kueue.group import RESOURCE_IN_USE_FINALIZER
from kohort.api.kueue.keys import ADMISSION_GATED_BY_ANNOTATION
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import WorkloadSpec
from kohort.api.meta import ObjectMeta, OwnerReference
from kohort.api.resource import Resource
from kohort.engine.lifecycle.writes import WriteTarget
from kohort.jobs.effects import CreateWorkload, Effect, PatchWorkload, record_event
from kohort.jobs.keys import GROUP_WORKLOAD_ANNOTATION, JOB_OWNER_GVK_ANNOTATION, JOB_OWNER_NAME_ANNOTATION
from kohort.jobs.objects import annotations, is_terminating, metadata, queue_name, uid
from kohort.jobs.podsets import JobPodSet
from kohort.jobs.priority import resolve_priority, with_priority
from kohort.jobs.reconcile_pass import PassReader
from kohort.jobs.scope import selects_namespace
from kohort.jobs.workload_builder import copied_annotations, copied_labels, stored, with_demand


@dataclass(frozen=True, slots=True)
class SetOwner:
    """The object that the pods of a serving group belong to."""

    resource: Resource
    obj: JsonObject

    @property
    def reference(self) -> OwnerReference:
        """Its owner reference, not as the controller: pods are owners too."""
        name = metadata(self.obj).get("name", "")
        return OwnerReference(
            api_version=self.resource.api_version, kind=self.resource.kind, name=name, uid=uid(self.obj)
        )

    @property
    def marks(self) -> dict[str, str]:
        """The annotations that name it."""
        return {
            GROUP_WORKLOAD_ANNOTATION: "true",
            JOB_OWNER_GVK_ANNOTATION: f"{self.resource.api_version}, Kind={self.resource.kind}",
            JOB_OWNER_NAME_ANNOTATION: metadata(self.obj).get("name", ""),
        }


def is_queued(obj: JsonObject, ancestor: JsonObject | None, reads: PassReader) -> bool:
    """Whether the object is managed (JOB-2); one that is being deleted is left to garbage collection."""
    namespace = reads.namespace_labels(metadata(obj).get("namespace", ""))
    if namespace is None or not selects_namespace(reads.configuration, namespace):
        return False
    if ancestor is not None or is_terminating(obj):
        return False
    return bool(queue_name(obj)) or reads.configuration.manage_jobs_without_queue_name


def create_group_workload(
    owner: SetOwner, name: str, pod_sets: Sequence[JobPodSet], reads: PassReader, marks: Mapping[str, str] | None = None
) -> tuple[Effect, ...]:
    """Create the Workload of a group; `marks` are further annotations."""
    obj = owner.obj
    head = ObjectMeta(
        name=name,
        namespace=metadata(obj).get("namespace", ""),
        labels=copied_labels(obj, reads.configuration, reads.gates),
        annotations={**copied_annotations(obj, reads.configuration, reads.gates), **owner.marks, **(marks or {})},
        owner_references=(owner.reference,),
        finalizers=(RESOURCE_IN_USE_FINALIZER,),
    )
    built = Workload(metadata=head, spec=WorkloadSpec(pod_sets=stored(pod_sets, reads.gates)))
    priority = resolve_priority(obj, pod_sets, reads)
    recorded = record_event(obj, "CreatedWorkload", f"Created Workload: {head.namespace}/{head.name}")
    return CreateWorkload(with_priority(with_demand(built, obj), priority), obj), recorded


def update_group_workload(obj: JsonObject, before: Workload, after: Workload, manager: str) -> list[Effect]:
    """Write metadata and spec of a Workload if they differ, with the event of changed admission gates (JOB-62)."""
    effects: list[Effect] = []
    if after is not before:
        effects.append(PatchWorkload(before, after, manager, WriteTarget.OBJECT))
    if _gated_by(after) != _gated_by(before):
        effects.append(
            record_event(obj, "UpdatedWorkload", f'Updated workload AdmissionGatedBy to "{_gated_by(after)}"')
        )
    return effects


def annotations_with_gates(obj: JsonObject, workload: Workload, reads: PassReader) -> dict[str, str]:
    """The annotations of the Workload with the admission gates of the object (JOB-62)."""
    noted = dict(workload.metadata.annotations)
    if reads.gates.enabled(Gate.AdmissionGatedBy):
        noted.pop(ADMISSION_GATED_BY_ANNOTATION, None)
        gated_by = annotations(obj).get(ADMISSION_GATED_BY_ANNOTATION)
        noted |= {ADMISSION_GATED_BY_ANNOTATION: gated_by} if gated_by else {}
    return noted


def _gated_by(workload: Workload) -> str:
    return workload.metadata.annotations.get(ADMISSION_GATED_BY_ANNOTATION, "")
