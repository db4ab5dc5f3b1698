"""TrainJob of Kubeflow Trainer, `trainer.kubeflow.org/v1alpha1` (§17.5).

A TrainJob has no pod templates of its own: its pods are those of a runtime. A start writes into an entry of
`spec.runtimePatches` instead, which Kubeflow Trainer lets change only while no pod is active: a stop takes two passes.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar

from kohort.api.codec import JsonObject
from kohort.api.core.batch import JobTemplateSpec
from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.fields import ROOT
from kohort.api.gates import Gate
from kohort.api.resource import Resource
from kohort.api.struct import View
from kohort.jobs.contract import (
    ClusterReader,
    Finish,
    Framework,
    IndexValues,
    JobKey,
    ManagedBy,
    Stop,
    WatchedKind,
    stopped_event,
)
from kohort.jobs.effects import Effect, PatchObject, record_event
from kohort.jobs.equivalence import spec_pod_sets, workload_with_quota
from kohort.jobs.errors import not_composable
from kohort.jobs.frameworks.jobset import ReplicatedJobStatus
from kohort.jobs.frameworks.kubeflow.trainjob.job_sets import (
    JOB_SETS,
    created_pods,
    train_jobs_of,
    with_created_sizes,
)
from kohort.jobs.frameworks.kubeflow.trainjob.replicated_pods import ReplicatedPods
from kohort.jobs.frameworks.kubeflow.trainjob.runtime_patches import (
    pod_template_patch,
    replicated_patches,
    set_own_patch,
    with_patch,
)
from kohort.jobs.frameworks.kubeflow.trainjob.runtimes import (
    CLUSTER_RUNTIMES,
    GROUP,
    RUNTIMES,
    pods_of_runtime,
    runtime_of,
)
from kohort.jobs.objects import annotations, metadata
from kohort.jobs.podsets import JobPodSet, PodSetInfo, expect_count, merge_info
from kohort.jobs.templated import condition_finish
from kohort.jobs.topology import IndexLabels, topology_request
from kohort.jobs.validation.topology import LocatedTemplate, grouping_errors, topology_errors

TRAIN_JOBS = Resource(GROUP, "v1alpha1", "TrainJob", "trainjobs", namespaced=True)
BY_RUNTIME = "runtime"


class RuntimeReference(View):
    """The runtime of a TrainJob."""

    name: str = ""
    kind: str = ""


class TrainerValues(View):
    """Values of the training step."""

    num_nodes: int | None = None
    image: str | None = None
    resources_per_node: Mapping[str, Any] | None = None
    env: tuple[Mapping[str, Any], ...] = ()


class ReplicatedJobPatch(View):
    """Changes of one replicated job."""

    name: str = ""
    template: JobTemplateSpec = JobTemplateSpec()


class JobSetPatch(View):
    """Changes of the JobSet's spec."""

    replicated_jobs: tuple[ReplicatedJobPatch, ...] = ()


class JobSetTemplatePatch(View):
    """Changes of the JobSet."""

    spec: JobSetPatch | None = None


class TrainingRuntimePatch(View):
    """Changes of the runtime's spec."""

    template: JobSetTemplatePatch | None = None


class RuntimePatch(View):
    """Changes of the runtime by one manager."""

    manager: str = ""
    training_runtime_spec: TrainingRuntimePatch | None = None


class TrainJobSpec(View):
    """The fields that are read."""

    suspend: bool = False
    managed_by: str = ""
    runtime_ref: RuntimeReference = RuntimeReference()
    trainer: TrainerValues | None = None
    runtime_patches: tuple[RuntimePatch, ...] = ()


class TrainJobStatus(View):
    """Status of a TrainJob."""

    conditions: tuple[StatusCondition, ...] = ()
    jobs_status: tuple[ReplicatedJobStatus, ...] = ()


class TrainJob(ObjectView):
    """A TrainJob."""

    spec: TrainJobSpec = TrainJobSpec()
    status: TrainJobStatus = TrainJobStatus()


def _runtime_key(resource: Resource, namespace: str, name: str) -> str:
    return f"{resource.kind}/{namespace}/{name}"


def _by_runtime(obj: JsonObject) -> Iterable[str]:
    resource, key = runtime_of(obj)
    return (_runtime_key(resource, key.namespace, key.name),)


def _jobs_of(resource: Resource) -> WatchedKind:
    def jobs(runtime: JsonObject, reads: ClusterReader) -> Iterable[JobKey]:
        head = metadata(runtime)
        key = _runtime_key(resource, head.get("namespace", ""), head.get("name", ""))
        return (JobKey(each["metadata"]["namespace"], each["metadata"]["name"]) for each in _find(key, reads))

    return WatchedKind(resource, jobs)


def _find(key: str, reads: ClusterReader) -> Sequence[JsonObject]:
    return reads.find(TRAIN_JOBS, BY_RUNTIME, key)


class TrainJobFramework(Framework):
    """TrainJobs."""

    name: ClassVar[str] = "trainer.kubeflow.org/trainjob"
    resource: ClassVar[Resource] = TRAIN_JOBS
    view: ClassVar[type[ObjectView]] = TrainJob
    index_labels: ClassVar[IndexLabels | None] = IndexLabels(
        "batch.kubernetes.io/job-completion-index", "jobset.sigs.k8s.io/job-index"
    )
    supports_prebuilt: ClassVar[bool] = True
    managed_by: ClassVar[ManagedBy | None] = ManagedBy(("spec", "managedBy"), f"{GROUP}/trainjob-controller")
    indexes: ClassVar[Mapping[str, IndexValues]] = {BY_RUNTIME: _by_runtime}
    watches: ClassVar[tuple[WatchedKind, ...]] = (
        _jobs_of(CLUSTER_RUNTIMES),
        _jobs_of(RUNTIMES),
        WatchedKind(JOB_SETS, train_jobs_of),
    )

    def is_suspended(self, obj: JsonObject) -> bool:
        """Suspended, without the infos of a start (JOB-137)."""
        return _spec(obj).get("suspend") is True and not replicated_patches(obj)

    def suspend(self, obj: JsonObject) -> None:
        """Set spec.suspend, and remove the infos of a start."""
        obj.setdefault("spec", {})["suspend"] = True
        if replicated_patches(obj):
            set_own_patch(obj)

    def default(self, obj: JsonObject, reads: ClusterReader) -> None:
        """Add the empty entry for infos, also to a TrainJob that is not queued (JOB-138)."""
        if _spec(obj) and not replicated_patches(obj):
            set_own_patch(obj)

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """Those of the Workload that has quota, or those of the runtime, in the sizes of the JobSet.

        What has quota does not change: fields of a TrainJob other than patches are immutable, and a changed runtime
        applies to new TrainJobs only.
        """
        held = workload_with_quota(self, obj, reads)
        if held is None:
            return [self._pod_set(each, reads) for each in _checked_pods(obj, reads)]
        patches = {each["name"]: pod_template_patch(each) for each in replicated_patches(obj)}
        return [
            replace(each, template=with_patch(each.template, patches.get(each.name, {})))
            for each in spec_pod_sets(held)
        ]

    def _pod_set(self, pods: ReplicatedPods, reads: ClusterReader) -> JobPodSet:
        request = topology_request(pods.template, reads.gates, self.index_labels, pods.replicas)
        return JobPodSet(pods.name.lower(), pods.count, pods.template, None, request)

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Clear spec.suspend, and write the infos into the entry of the patches (JOB-139)."""
        set_own_patch(obj, infos)
        obj["spec"]["suspend"] = False

    def run(
        self, obj: JsonObject, infos: Sequence[PodSetInfo], started: str, reads: ClusterReader
    ) -> tuple[Effect, ...]:
        """Start with infos that go with the templates; tolerations of a patch replace those of the runtime."""
        pod_sets = self.pod_sets(obj, reads)
        expect_count(infos, len(pod_sets))
        running = deepcopy(obj)
        self.start(running, [_added_to(each.template, info) for each, info in zip(pod_sets, infos, strict=True)])
        return PatchObject(obj, running), record_event(obj, "Started", started)

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Empty the entry of the patches; templates are never changed."""
        if len(originals) != len(replicated_patches(obj)):
            return False
        set_own_patch(obj)
        return True

    def stop(
        self, obj: JsonObject, originals: Sequence[PodSetInfo] | None, stop: Stop, reads: ClusterReader
    ) -> tuple[Effect, ...]:
        """Suspend; once no pod is active, empty the entry of the patches, and record an event (JOB-139)."""
        if self.is_suspended(obj):
            return ()
        suspended = deepcopy(obj)
        suspended.setdefault("spec", {})["suspend"] = True
        if self.waits_for_pods(obj):
            return _changes(PatchObject(obj, suspended))
        restored = deepcopy(suspended)
        self.suspend(restored)
        return (*_changes(PatchObject(obj, suspended), PatchObject(suspended, restored)), stopped_event(obj, stop))

    def waits_for_pods(self, obj: JsonObject) -> bool:
        """Whether pods are active: the patches are immutable until they are not."""
        return self.is_active(obj)

    def is_stopping(self, obj: JsonObject) -> bool:
        """Whether the job is suspended and still has the infos of its start."""
        return _spec(obj).get("suspend") is True and bool(replicated_patches(obj))

    def finished(self, obj: JsonObject) -> Finish | None:
        """The first condition Complete or Failed that is True (JOB-140)."""
        return condition_finish(obj, "Complete", "Failed")

    def is_active(self, obj: JsonObject) -> bool:
        """Whether Jobs are counted as active (JOB-140)."""
        return any(each.get("active") for each in _statuses(obj))

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether all Jobs are ready or have succeeded (JOB-140)."""
        done = sum((each.get("ready") or 0) + (each.get("succeeded") or 0) for each in _statuses(obj))
        return done == sum(each.replicas for each in _started_pods(obj, reads))

    def reclaimable(self, obj: JsonObject, reads: ClusterReader) -> dict[str, int]:
        """The pods of Jobs that have succeeded (JOB-140)."""
        succeeded = {each.get("name"): each.get("succeeded") or 0 for each in _statuses(obj)}
        if not any(succeeded.values()):
            return {}
        return {
            each.name.lower(): done * each.pods_per_replica
            for each in _started_pods(obj, reads)
            if 0 < (done := succeeded.get(each.name, 0)) <= each.replicas
        }

    def template_counts(self, obj: JsonObject, reads: ClusterReader) -> list[int | None]:
        """Unknown: the templates in the object are patches of those of the runtime."""
        return []

    def pod_selector(self, obj: JsonObject) -> str:
        """The pods of the JobSet of the same name."""
        return f"jobset.sigs.k8s.io/jobset-name={obj['metadata']['name']}"


def _pods(obj: JsonObject, reads: ClusterReader) -> list[ReplicatedPods]:
    """The pods of each replicated job, in order."""
    return with_created_sizes(obj, pods_of_runtime(obj, reads), reads)


def _started_pods(obj: JsonObject, reads: ClusterReader) -> list[ReplicatedPods]:
    """The pods of each replicated job of a started job, whose runtime may have been deleted (JOB-140)."""
    created = created_pods(obj, reads)
    return _pods(obj, reads) if created is None else created


def _checked_pods(obj: JsonObject, reads: ClusterReader) -> list[ReplicatedPods]:
    """The pods of the runtime; raises UnretryableError if their topology requests are invalid (JOB-78)."""
    found = _pods(obj, reads)
    if reads.gates.enabled(Gate.TopologyAwareScheduling):
        path = ROOT / "spec" / "runtimeRef"
        located = [LocatedTemplate(annotations(each.template), path[each.name], each.count) for each in found]
        errors = [*(error for each in located for error in topology_errors(each, reads.gates)), *_grouping(located)]
        if errors:
            raise not_composable(obj, "; ".join(map(str, errors)))
    return found


def _grouping(located: Sequence[LocatedTemplate]) -> Iterable[object]:
    return grouping_errors(located) if len(located) > 1 else ()


def _added_to(template: JsonObject, info: PodSetInfo) -> PodSetInfo:
    """An info with all tolerations of a template that gets it; raises PermanentError if they do not go together."""
    merged = deepcopy(template)
    merge_info(merged, info)
    if not info.tolerations:
        return info
    return replace(info, tolerations=tuple(merged["spec"]["tolerations"]))


def _changes(*patches: PatchObject) -> tuple[Effect, ...]:
    """The patches that change anything."""
    return tuple(each for each in patches if each.before != each.after)


def _spec(obj: JsonObject) -> Mapping[str, Any]:
    return obj.get("spec") or {}


def _statuses(obj: JsonObject) -> Sequence[Mapping[str, Any]]:
    return (obj.get("status") or {}).get("jobsStatus") or ()
