"""JobSets (§16.2): one pod set per replicated Job; all of them start together, also with a startup policy."""

from typing import Any, ClassVar

from kohort.api.codec import JsonObject
from kohort.api.core.batch import JobTemplateSpec
from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.resource import Resource
from kohort.api.struct import View
from kohort.jobs.contract import ClusterReader, Finish, ManagedBy
from kohort.jobs.objects import value_at
from kohort.jobs.templated import PodTemplatePlace, TemplatedFramework, condition_finish
from kohort.jobs.topology import IndexLabels

_TEMPLATE = ("template", "spec", "template")


class ReplicatedJob(View):
    """A Job template, and the number of Jobs made from it."""

    name: str = ""
    replicas: int | None = None
    template: JobTemplateSpec = JobTemplateSpec()


class JobSetSpec(View):
    """Spec of a JobSet."""

    suspend: bool | None = None
    replicated_jobs: tuple[ReplicatedJob, ...] = ()


class ReplicatedJobStatus(View):
    """Numbers of Jobs by state."""

    name: str = ""
    ready: int = 0
    succeeded: int = 0
    active: int = 0


class JobSetStatus(View):
    """Status of a JobSet."""

    conditions: tuple[StatusCondition, ...] = ()
    replicated_jobs_status: tuple[ReplicatedJobStatus, ...] = ()


class JobSet(ObjectView):
    """A jobset.x-k8s.io/v1alpha2 JobSet."""

    resource: ClassVar = Resource("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", namespaced=True)

    spec: JobSetSpec = JobSetSpec()
    status: JobSetStatus = JobSetStatus()


class JobSetFramework(TemplatedFramework):
    """The framework of JobSets."""

    name: ClassVar[str] = "jobset.x-k8s.io/jobset"
    resource: ClassVar[Resource] = JobSet.resource
    view: ClassVar[type[ObjectView]] = JobSet
    index_labels: ClassVar[IndexLabels | None] = IndexLabels(
        "batch.kubernetes.io/job-completion-index", "jobset.sigs.k8s.io/job-index"
    )
    supports_prebuilt: ClassVar[bool] = True
    managed_by: ClassVar[ManagedBy | None] = ManagedBy(("spec", "managedBy"), "jobset.sigs.k8s.io/jobset-controller")

    def places(self, obj: JsonObject) -> list[PodTemplatePlace]:
        """The template of each replicated Job, with the pods of all its Jobs (JOB-108)."""
        return [
            PodTemplatePlace(
                name=str(job.get("name", "")).lower(),
                count=_replicas(job) * _pods_per_job(job),
                owner=job,
                path=_TEMPLATE,
                sub_group_count=_replicas(job),
            )
            for job in _replicated_jobs(obj)
        ]

    def finished(self, obj: JsonObject) -> Finish | None:
        """By condition (JOB-110)."""
        return condition_finish(obj, "Completed", "Failed")

    def is_active(self, obj: JsonObject) -> bool:
        """Whether a Job has active pods."""
        return any(each.get("active") for each in _statuses(obj))

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether all Jobs are ready or have succeeded."""
        ready = sum((each.get("ready") or 0) + (each.get("succeeded") or 0) for each in _statuses(obj))
        return bool(ready == sum(map(_replicas, _replicated_jobs(obj))))

    def reclaimable(self, obj: JsonObject, reads: ClusterReader) -> dict[str, int]:
        """The pods of Jobs that have succeeded."""
        succeeded = {each.get("name"): each.get("succeeded") or 0 for each in _statuses(obj)}
        return {
            str(job["name"]).lower(): done * _pods_per_job(job)
            for job in _replicated_jobs(obj)
            if 0 < (done := succeeded.get(job.get("name"), 0)) <= _replicas(job)
        }

    def pod_selector(self, obj: JsonObject) -> str:
        """All pods of the JobSet."""
        return f"jobset.sigs.k8s.io/jobset-name={obj['metadata']['name']}"


def _replicated_jobs(obj: JsonObject) -> list[dict[str, Any]]:
    return value_at(obj, ("spec", "replicatedJobs")) or []


def _statuses(obj: JsonObject) -> list[dict[str, Any]]:
    return value_at(obj, ("status", "replicatedJobsStatus")) or []


def _replicas(job: dict[str, Any]) -> int:
    replicas = job.get("replicas")
    return 1 if replicas is None else int(replicas)


def _pods_per_job(job: dict[str, Any]) -> int:
    spec = value_at(job, ("template", "spec")) or {}
    parallelism = 1 if spec.get("parallelism") is None else int(spec["parallelism"])
    completions = spec.get("completions")
    return parallelism if completions is None else min(parallelism, int(completions))
