"""Whether a Workload is equivalent to its job (JOB-32 to JOB-34).

Both sides are normalized, because an API server sets defaults on only one of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kohort.api.codec import JsonObject
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle.conditions import is_admitted, is_finished, is_reserved
from kohort.jobs.contract import ClusterReader, Framework, JobKey
from kohort.jobs.errors import JobError
from kohort.jobs.normalising import containers_of, tolerations_of
from kohort.jobs.objects import maximum_execution_time, metadata, uid
from kohort.jobs.podset_infos import Flavors, admitted_infos, template_of
from kohort.jobs.podsets import JobPodSet, merge_info
from kohort.jobs.workload_builder import sanitised


@dataclass(frozen=True, slots=True)
class JobComparison:
    """The compared parts of a job."""

    obj: JsonObject
    pod_sets: Sequence[JobPodSet]
    is_suspended: bool


def is_controlled_by(workload: Workload, obj: JsonObject) -> bool:
    """Whether the job is the controller of the Workload, by UID (JOB-32)."""
    owners = workload.metadata.owner_references
    owner = next((each for each in owners if each.controller), None)
    return owner is not None and (owner.name, owner.uid) == (metadata(obj).get("name"), uid(obj))


def is_equivalent(workload: Workload, job: JobComparison, flavors: Flavors, gates: FeatureGates) -> bool:
    """Whether the Workload is equivalent to the current job (JOB-32)."""
    if workload.spec.maximum_execution_time_seconds != maximum_execution_time(job.obj):
        return False
    requested = spec_pod_sets(workload)
    same = _comparison(workload, gates)
    if not is_reserved(workload):
        return same(job.pod_sets, requested)
    running = running_pod_sets(workload, flavors, gates)
    if running is not None and same(job.pod_sets, running):
        return True
    return job.is_suspended and same(job.pod_sets, requested)


def spec_pod_sets(workload: Workload) -> list[JobPodSet]:
    """The pod sets of the spec, templates as plain JSON."""
    return [JobPodSet(each.name, each.count, template_of(each), each.min_count) for each in workload.spec.pod_sets]


def workload_with_quota(framework: Framework, obj: JsonObject, reads: ClusterReader) -> Workload | None:
    """The unfinished Workload of an object that has quota; its pod sets do not change."""
    key = JobKey(metadata(obj).get("namespace", ""), metadata(obj).get("name", ""))
    owned = (each for each in framework.workloads(key, reads) if is_controlled_by(each, obj))
    return next((each for each in owned if is_reserved(each) and not is_finished(each)), None)


def running_pod_sets(workload: Workload, flavors: Flavors, gates: FeatureGates) -> list[JobPodSet] | None:
    """The pod sets of a started job; None if they cannot be determined (JOB-33)."""
    try:
        infos = admitted_infos(workload, flavors, gates)
        requested = spec_pod_sets(workload)
        if len(infos) != len(requested):
            return None
        for pod_set, info in zip(requested, infos, strict=True):
            merge_info(pod_set.template, info)
    except JobError:
        return None
    partial = gates.enabled(Gate.PartialAdmission) and any(each.min_count is not None for each in requested)
    return [
        JobPodSet(each.name, info.count, each.template, each.min_count)
        if partial and each.min_count is not None
        else each
        for each, info in zip(requested, infos, strict=True)
    ]


def _comparison(workload: Workload, gates: FeatureGates) -> Callable[[Sequence[JobPodSet], Sequence[JobPodSet]], bool]:
    """Pod sets by position; tolerations matter until the Workload is admitted, minCount with PartialAdmission."""
    partial, admitted = gates.enabled(Gate.PartialAdmission), is_admitted(workload)

    def alike(one: JobPodSet, other: JobPodSet) -> bool:
        if one.count != other.count or (partial and one.min_count != other.min_count):
            return False
        first, second = sanitised(one.template), sanitised(other.template)
        same = all(_same_containers(first, second, group) for group in ("initContainers", "containers"))
        return same and (admitted or tolerations_of(first) == tolerations_of(second))

    return lambda one, other: len(one) == len(other) and all(map(alike, one, other))


def _same_containers(one: JsonObject, other: JsonObject, group: str) -> bool:
    """Whether containers are equivalent; usually they are identical, which is compared first."""
    written = [(template.get("spec") or {}).get(group) for template in (one, other)]
    return written[0] == written[1] or containers_of(one, group) == containers_of(other, group)
