"""The framework of plain pods and pod groups (§18): gated until admitted, deleted when evicted."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView
from kohort.api.core.pods import Pod
from kohort.api.fields import FieldError
from kohort.api.gates import Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import Condition, ObjectKey
from kohort.api.resource import Resource
from kohort.jobs.contract import (
    ClusterReader,
    Finish,
    Framework,
    GroupSupport,
    IndexValues,
    JobKey,
    Stop,
    StopReason,
    UserRoles,
)
from kohort.jobs.defaulting.job_context import set_annotation, set_label
from kohort.jobs.effects import Effect, PatchObject, key_of, record_event
from kohort.jobs.errors import PermanentError
from kohort.jobs.frameworks.pods.composition import (
    INDEX_LABELS,
    group_pod_sets,
    is_group_workload,
    single_pod_set,
    wanted_roles,
)
from kohort.jobs.frameworks.pods.group_support import PodGroupSupport
from kohort.jobs.frameworks.pods.groups import (
    is_group_finished,
    is_group_ready,
    is_group_suspended,
    sort_members,
    succeeded_by_role,
)
from kohort.jobs.frameworks.pods.loading import (
    BY_GROUP,
    PODS,
    group_values,
    is_group,
    load_job,
)
from kohort.jobs.frameworks.pods.members import (
    group_name,
    is_gated,
    is_ready,
    is_suspended,
    is_terminated,
    phase,
    role_of,
)
from kohort.jobs.frameworks.pods.replacement import replacement_condition
from kohort.jobs.frameworks.pods.roles import resources_beyond_role
from kohort.jobs.frameworks.pods.validation import pod_change_errors, pod_errors
from kohort.jobs.frameworks.pods.writes import add_gate, gate_pod, remove_finalizer, stop_pod, ungate_pod
from kohort.jobs.keys import (
    MANAGED_LABEL,
    POD_INDEX_LABEL,
    POD_INDEX_LABEL_ANNOTATION,
    ROLE_HASH_ANNOTATION,
    SUSPENDING_PARENT_ANNOTATION,
    TOPOLOGY_GATE,
)
from kohort.jobs.objects import annotations, controller_owner, is_terminating, labels, metadata, prebuilt_name
from kohort.jobs.podsets import JobPodSet, PodSetInfo, expect_count
from kohort.jobs.topology import IndexLabels


class PodFramework(Framework):
    """The framework of plain pods and pod groups."""

    name: ClassVar[str] = "pod"
    resource: ClassVar[Resource] = PODS
    view: ClassVar[type[ObjectView]] = Pod
    pod_spec: ClassVar[tuple[str, ...]] = ("spec",)
    has_one_pod_set: ClassVar[bool] = True
    index_labels: ClassVar[IndexLabels | None] = INDEX_LABELS
    user_roles: ClassVar[UserRoles | None] = None
    is_top_level: ClassVar[bool] = True
    gates_pods: ClassVar[bool] = True
    supports_prebuilt: ClassVar[bool] = True
    groups: ClassVar[GroupSupport | None] = PodGroupSupport()
    indexes: ClassVar[Mapping[str, IndexValues]] = {BY_GROUP: group_values}

    # Which pods

    def key(self, obj: JsonObject) -> JobKey | None:
        """The pod or its group; None for unmanaged pods (JOB-148)."""
        if labels(obj).get(MANAGED_LABEL) != "true":
            return None
        namespace, name = key_of(obj)
        group = group_name(obj)
        return JobKey(namespace, group, is_group=True) if group else JobKey(namespace, name)

    def load(self, key: JobKey, reads: ClusterReader) -> JsonObject | None:
        """A pod, or a group as one object (JOB-155)."""
        return load_job(key, reads)

    def workloads(self, key: JobKey, reads: ClusterReader) -> Sequence[Workload]:
        """The Workloads of a pod, or the one of the group's name unless it belongs to another job (JOB-159)."""
        if not key.is_group:
            return super().workloads(key, reads)
        found = reads.workload(ObjectKey(key.namespace, key.name))
        if found is None or not (is_group_workload(found) or _has_no_controller(found)):
            return []
        return [found]

    def skips(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether the pod is unmanaged, also because only those of parents are queued (JOB-148)."""
        is_queued = self.name in reads.configuration.integrations.frameworks
        return labels(obj).get(MANAGED_LABEL) != "true" or not (is_queued or _is_gated_by_parent(obj))

    # One pod, or several

    def is_suspended(self, obj: JsonObject) -> bool:
        """Whether a pod is gated or terminated (JOB-149, JOB-163)."""
        return is_group_suspended(obj.counting) if is_group(obj) else is_suspended(obj)

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """One pod set per pod, or per role of a group (JOB-149, JOB-157)."""
        return group_pod_sets(obj.counting, reads) if is_group(obj) else [single_pod_set(obj, reads)]

    def finished(self, obj: JsonObject) -> Finish | None:
        """How the pod or the group finished (JOB-152, JOB-166)."""
        if not is_group(obj):
            message = (obj.get("status") or {}).get("message") or ""
            return Finish(phase(obj) == "Succeeded", message) if is_terminated(obj) else None
        done, message = is_group_finished(obj.counting)
        return Finish(success=True, message=message) if done else None

    def is_active(self, obj: JsonObject) -> bool:
        """Whether members of a group hold resources; quota of a single pod is free at once (JOB-152, JOB-165)."""
        return is_group(obj) and obj.holds_resources

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether all pods are ready (JOB-152, JOB-169)."""
        return is_group_ready(obj.counting) if is_group(obj) else is_ready(obj)

    def reclaimable(self, obj: JsonObject, reads: ClusterReader) -> dict[str, int] | None:
        """Pods per role that succeeded; a single pod is finished then (JOB-167)."""
        return succeeded_by_role(obj.counting) if is_group(obj) else None

    def conditions(self, obj: JsonObject, workload: Workload, reads: ClusterReader) -> Sequence[Condition]:
        """Whether the group waits for other pods (JOB-168)."""
        if not is_group(obj) or prebuilt_name(obj, reads.gates):
            return ()
        absent = sort_members(obj.whole, wanted_roles(workload), reads.now).absent
        found = replacement_condition(workload, absent, reads.now)
        return () if found is None else (found,)

    # Starting and stopping

    def suspend(self, obj: JsonObject) -> None:
        """Gate a new pod (JOB-145)."""
        gate_pod(obj)

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Ungate a pod with its info (JOB-150)."""
        expect_count(infos, 1)
        ungate_pod(obj, infos[0])

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Never: pods are deleted instead (JOB-151)."""
        return False

    def run(
        self, obj: JsonObject, infos: Sequence[PodSetInfo], started: str, reads: ClusterReader
    ) -> tuple[Effect, ...]:
        """Ungate all gated pods (JOB-150, JOB-163)."""
        if not is_group(obj):
            expect_count(infos, 1)
            return _run(obj, infos[0], started) if is_gated(obj) else ()
        by_role = {info.name: info for info in infos}
        waiting = [pod for pod in obj.members if is_gated(pod)]
        for role in map(role_of, waiting):
            if role not in by_role:
                raise PermanentError(f"invalid podset infos: podSetInfo with the name '{role}' is not found")
        workload = reads.workload(ObjectKey(metadata(obj).get("namespace", ""), obj.whole.name))
        effects: list[Effect] = []
        for pod in waiting:
            excess = resources_beyond_role(pod, workload) if workload is not None else ()
            effects += _rejected_pod(pod, excess) if excess else _run(pod, by_role[role_of(pod)], started)
        return tuple(effects)

    def stop(
        self, obj: JsonObject, originals: Sequence[PodSetInfo] | None, stop: Stop, reads: ClusterReader
    ) -> tuple[Effect, ...]:
        """Delete the pods, with the reason in a condition (JOB-151, JOB-164)."""
        is_end = stop.reason is StopReason.WORKLOAD_DELETED
        pods = obj.members if is_group(obj) else [obj]
        stopped = [pod for pod in pods if not is_terminating(pod) and (is_end or not is_suspended(pod))]
        effects = [effect for pod in stopped for effect in stop_pod(pod, stop, reads.now)]
        return (*effects, *(self.finalize(obj) if is_end and is_group(obj) else ()))

    def finalize(self, obj: JsonObject) -> tuple[Effect, ...]:
        """Remove the finalizers of all pods."""
        pods = obj.whole.members if is_group(obj) else (obj,)
        return tuple(effect for pod in pods for effect in remove_finalizer(pod))

    # Webhooks

    def default(self, obj: JsonObject, reads: ClusterReader) -> None:
        """Further defaults of a gated pod (JOB-145)."""
        if not is_gated(obj) or not (_is_gated_by_parent(obj) or labels(obj).get(MANAGED_LABEL) == "true"):
            return
        if reads.gates.enabled(Gate.TopologyAwareScheduling):
            source = annotations(obj).get(POD_INDEX_LABEL_ANNOTATION)
            if source is not None:
                set_label(obj, POD_INDEX_LABEL, labels(obj).get(source, ""))
            add_gate(obj, TOPOLOGY_GATE)
        set_annotation(obj, ROLE_HASH_ANNOTATION, role_of(obj))

    def template_counts(self, obj: JsonObject, reads: ClusterReader) -> list[int | None]:
        """One pod; unknown for a part of a group, and for the pod of a parent or controller."""
        return [] if group_name(obj) or _is_gated_by_parent(obj) or controller_owner(obj) else [1]

    def validate_create(self, obj: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """JOB-147."""
        return pod_errors(obj, reads.gates)

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """JOB-147."""
        return pod_change_errors(old, new, reads.gates)


def _is_gated_by_parent(pod: JsonObject) -> bool:
    return SUSPENDING_PARENT_ANNOTATION in annotations(pod)


def _run(pod: JsonObject, info: PodSetInfo, started: str) -> tuple[Effect, ...]:
    running = deepcopy(pod)
    ungate_pod(running, info)
    return PatchObject(pod, running), record_event(pod, "Started", started)


def _rejected_pod(pod: JsonObject, excess: Sequence[str]) -> tuple[Effect, ...]:
    why = f"asks for more {', '.join(excess)} than pod set {role_of(pod)} of its group: give it the same requests"
    return (record_event(pod, "PodExceedsPodSet", why, "Warning"),)


def _has_no_controller(workload: Workload) -> bool:
    return not any(owner.controller for owner in workload.metadata.owner_references)
