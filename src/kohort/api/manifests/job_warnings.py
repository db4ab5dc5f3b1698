"""Warnings about jobs that are accepted, but do not behave as intended.

A user's manifest refers to objects of an administrator, so that a missing queue or class is reported only if the files
contain others of its kind.
"""

from collections.abc import Iterator

from kohort.api.amounts import UNLIMITED, add, format_amount, multiply, to_quota
from kohort.api.kueue.keys import QUEUE_NAME_LABEL
from kohort.api.kueue.v1beta2.queues import ClusterQueueSpec, ResourceQuota
from kohort.api.manifests.codes import WarningCode
from kohort.api.manifests.facts import ClusterQueueFacts
from kohort.api.manifests.findings import ManifestFinding, warning
from kohort.api.manifests.inventory import Inventory
from kohort.api.manifests.submissions import PodSetFacts, Submission

DEFAULT_QUEUE = "default"
MAX_NAMES = 5
"""Maximum number of names in a message."""


def queue_in_annotation(job: Submission, _given: Inventory) -> Iterator[ManifestFinding]:
    """W101: the queue name is set by an annotation (JOB-2)."""
    if job.annotated:
        hurts = f"Kueue reads the label only, so the {job.origin.kind} is not queued"
        message = f"{hurts}: move it to {job.labels.field}"
        yield warning(job.origin, job.annotated, WarningCode.QUEUE_IN_ANNOTATION, message)


def queue_on_pods(job: Submission, _given: Inventory) -> Iterator[ManifestFinding]:
    """W102: the queue name is set where it applies to single pods, or not at all."""
    if job.misplaced and job.runs_to_completion and not job.queue_meant:
        message = f"does not queue the {job.origin.kind} as a whole: set the label in {job.labels.field}"
        yield warning(job.origin, job.misplaced, WarningCode.QUEUE_ON_PODS, message)


def no_queue(job: Submission, given: Inventory) -> Iterator[ManifestFinding]:
    """W103: a job without a queue name in a namespace with queues (JOB-5, JOB-67)."""
    if job.queue_meant or job.misplaced or job.has_owner or not job.runs_to_completion:
        return
    names = given.local_queue_names(job.origin.namespace)
    if names and DEFAULT_QUEUE not in names:
        message = f"no queue name, so the job bypasses quota: add the label {QUEUE_NAME_LABEL}: {names[0]}"
        yield warning(job.origin, job.labels, WarningCode.NO_QUEUE, message)


def local_queue_missing(job: Submission, given: Inventory) -> Iterator[ManifestFinding]:
    """W104: the LocalQueue is not in the given files."""
    queue, namespace = job.queue_meant, job.origin.namespace
    if queue is None or not given.has_any("LocalQueue") or given.has("LocalQueue", queue.text, namespace):
        return
    message = f"{_where_instead(queue.text, namespace, given)}; the job is not admitted until it exists"
    yield warning(job.origin, queue, WarningCode.LOCAL_QUEUE_MISSING, message)


def _where_instead(name: str, namespace: str, given: Inventory) -> str:
    elsewhere = given.namespaces_of("LocalQueue", name)
    if elsewhere:
        return f"LocalQueue {name} is in namespace {elsewhere[0]}, but the job is in namespace {namespace}"
    known = given.local_queue_names(namespace)
    others = f", available: {', '.join(known[:MAX_NAMES])}" if known else ""
    return f"no LocalQueue {name} in the given files{others}"


def priority_class_missing(job: Submission, given: Inventory) -> Iterator[ManifestFinding]:
    """W105: the WorkloadPriorityClass is not in the given files (JOB-43)."""
    name = job.priority_class
    if name and given.has_any("WorkloadPriorityClass") and not given.has("WorkloadPriorityClass", name.text):
        message = f"no WorkloadPriorityClass {name.text} in the given files; the job is not queued until it exists"
        yield warning(job.origin, name, WarningCode.PRIORITY_CLASS_MISSING, message)


# Requests against quota


def resource_not_covered(job: Submission, given: Inventory) -> Iterator[ManifestFinding]:
    """W106: a pod requests a resource without quota in the queue (JOB-192)."""
    queue = _queue_of(job, given)
    if queue is None or _ignores_undeclared(given):
        return
    covered = {name for group in queue.spec.resource_groups for name in group.covered_resources}
    for pods in job.pod_sets:
        for resource in sorted(pods.fields):
            if resource not in covered and _is_counted_as_written(resource, given):
                message = (
                    f"ClusterQueue {queue.origin.name} has no quota for {resource}, so the job is never admitted: "
                    f"add it to coveredResources or remove the request"
                )
                yield warning(job.origin, pods.fields[resource], WarningCode.RESOURCE_NOT_COVERED, message)


def request_too_large(job: Submission, given: Inventory) -> Iterator[ManifestFinding]:
    """W107: the pods request more than any flavor of the queue can provide."""
    queue = _queue_of(job, given)
    if queue is None:
        return
    for pods in job.pod_sets:
        for resource in sorted(pods.requests):
            most = _most(queue.spec, resource)
            asked = multiply(pods.requests[resource], pods.count or 0)
            if asked > most and _is_counted_as_written(resource, given):
                message = _too_large(queue, pods, resource, asked, most)
                yield warning(job.origin, pods.fields[resource], WarningCode.REQUEST_TOO_LARGE, message)


def _too_large(queue: ClusterQueueFacts, pods: PodSetFacts, resource: str, asked: int, most: int) -> str:
    each = format_amount(resource, pods.requests[resource])
    sum_of = (
        f"{pods.count} pods of {each} request {format_amount(resource, asked)}"
        if pods.count != 1
        else f"requests {each}"
    )
    return (
        f"{sum_of}, and ClusterQueue {queue.origin.name} has at most {format_amount(resource, most)} in one flavor, "
        f"so the job is never admitted: reduce the request or raise the quota"
    )


def _queue_of(job: Submission, given: Inventory) -> ClusterQueueFacts | None:
    named = job.queue_meant
    return given.queue_behind(named.text, job.origin.namespace) if named else None


def _most(spec: ClusterQueueSpec, resource: str) -> int:
    """The maximum of a resource that one pod set, which gets one flavor, can have; unlimited if unknown."""
    quotas = (quota for group in spec.resource_groups for flavor in group.flavors for quota in flavor.resources)
    return max((_cap(quota, spec) for quota in quotas if quota.name == resource), default=UNLIMITED)


def _cap(quota: ResourceQuota, spec: ClusterQueueSpec) -> int:
    nominal = to_quota(quota.name, quota.nominal_quota)
    if not spec.cohort_name:
        return nominal
    if quota.borrowing_limit is None:
        return UNLIMITED
    return add(nominal, to_quota(quota.name, quota.borrowing_limit))


def _is_counted_as_written(resource: str, given: Inventory) -> bool:
    """Whether no configuration among the files excludes or transforms the resource (SCH-130, SCH-131)."""
    if given.configuration is None:
        return True
    resources = given.configuration.resources
    changed = {name for each in resources.transformations for name in (each.input, *each.outputs)}
    return resource not in changed and not resource.startswith(resources.exclude_resource_prefixes)


def _ignores_undeclared(given: Inventory) -> bool:
    """SCH-1130."""
    return given.configuration is not None and given.configuration.resources.quota_check_strategy == "IgnoreUndeclared"


JOB_CHECKS = (
    queue_in_annotation,
    queue_on_pods,
    no_queue,
    local_queue_missing,
    priority_class_missing,
    resource_not_covered,
    request_too_large,
)
