"""The JobSet of a TrainJob, which has the sizes that its pods will have.

Kubeflow Trainer creates it, suspended, from the runtime as it was at that time, so that sizes of a runtime that has
changed since then do not count.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.meta import ObjectKey
from kohort.jobs.contract import ClusterReader, JobKey
from kohort.jobs.frameworks.jobset import JobSet
from kohort.jobs.frameworks.kubeflow.trainjob.replicated_pods import ReplicatedPods, number
from kohort.jobs.objects import controller_owner, metadata, uid

JOB_SETS: Final = JobSet.resource
_SIZES: Final = ("image", "resources", "restartPolicy")
"""Members of a container that are taken from the JobSet: on these the requests of a pod depend."""


def train_jobs_of(job_set: JsonObject, _reads: ClusterReader) -> Iterable[JobKey]:
    """The TrainJob that controls a JobSet."""
    owner = controller_owner(job_set) or {}
    if owner.get("kind") == "TrainJob":
        yield JobKey(metadata(job_set).get("namespace", ""), owner["name"])


def with_created_sizes(obj: JsonObject, planned: list[ReplicatedPods], reads: ClusterReader) -> list[ReplicatedPods]:
    """The pods with the counts and the container resources of the JobSet, if there is one."""
    job_set = job_set_of(obj, reads)
    if job_set is None:
        return planned
    by_name = {each.name: each for each in planned}
    return [_created(each, by_name.get(each["name"])) for each in _replicated_jobs(job_set)]


def job_set_of(obj: JsonObject, reads: ClusterReader) -> JsonObject | None:
    """The JobSet that a TrainJob controls."""
    head = metadata(obj)
    found = reads.get(JOB_SETS, ObjectKey(head.get("namespace", ""), head.get("name", "")))
    return found if found is not None and (controller_owner(found) or {}).get("uid") == uid(obj) else None


def created_pods(obj: JsonObject, reads: ClusterReader) -> list[ReplicatedPods] | None:
    """The pods of the JobSet, with templates that have only the sizes; None if there is no JobSet."""
    job_set = job_set_of(obj, reads)
    return None if job_set is None else [_created(each, None) for each in _replicated_jobs(job_set)]


def _replicated_jobs(job_set: JsonObject) -> Sequence[Mapping[str, Any]]:
    return (job_set.get("spec") or {}).get("replicatedJobs") or ()


def _created(replicated: Mapping[str, Any], planned: ReplicatedPods | None) -> ReplicatedPods:
    job = (replicated.get("template") or {}).get("spec") or {}
    pods = (job.get("template") or {}).get("spec") or {}
    template: JsonObject = {} if planned is None else planned.template
    spec = template.get("spec") or {}
    groups = {
        each: _containers(pods.get(each) or (), spec.get(each) or ()) for each in ("containers", "initContainers")
    }
    sized = {**template, "spec": {**spec, **{name: group for name, group in groups.items() if group or name in spec}}}
    return ReplicatedPods(replicated["name"], number(replicated.get("replicas")), number(job.get("parallelism")), sized)


def _containers(created: Iterable[Mapping[str, Any]], planned: Iterable[Mapping[str, Any]]) -> list[JsonObject]:
    by_name = {each.get("name"): each for each in planned}
    return [
        {
            **by_name.get(each.get("name"), {"name": each.get("name")}),
            **{name: each[name] for name in _SIZES if each.get(name)},
        }
        for each in created
    ]
