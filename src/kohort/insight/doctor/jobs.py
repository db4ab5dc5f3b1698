"""Checks for jobs that bypass queues, have dangling references, or request more than queues can provide."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kohort.api.amounts import format_amount
from kohort.api.core.batch import Job
from kohort.api.kueue.keys import PRIORITY_CLASS_LABEL, QUEUE_NAME_LABEL
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort, LocalQueue, Workload, WorkloadPriorityClass
from kohort.engine.quota import FlavorResource
from kohort.engine.requests import PodSetDemand
from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import AffectedObject, CheckSeverity, DoctorCheck, Subject
from kohort.insight.doctor.text import listed, listed_names
from kohort.terminal.counts import counted
from kohort.terminal.nearest import did_you_mean

"""Counted by the queue itself, if covered (SCH-135)."""


def _bypassing(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Jobs without owner in namespaces with queues."""
    bypassing: dict[str, list[Job]] = defaultdict(list)
    for job in facts.live_jobs:
        metadata = job.metadata
        named = metadata.labels.get(QUEUE_NAME_LABEL) or metadata.annotations.get(QUEUE_NAME_LABEL)
        if not named and not metadata.owner_references and metadata.namespace in facts.queues_of_namespace:
            bypassing[metadata.namespace].append(job)
    for namespace, jobs in sorted(bypassing.items()):
        queue = facts.queues_of_namespace[namespace][0].metadata.name
        problem = f"{counted(len(jobs), 'Job has', 'Jobs have')} no queue label: {listed_names(jobs)}"
        fix = (
            f"add the label {QUEUE_NAME_LABEL}: {queue} to their manifests; or create a LocalQueue named default, or "
            f"set manageJobsWithoutQueueName in the Configuration"
        )
        yield AffectedObject(Subject("Namespace", namespace), problem, fix)


def _annotated(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for job in facts.live_jobs:
        metadata = job.metadata
        queue = metadata.annotations.get(QUEUE_NAME_LABEL)
        if queue and QUEUE_NAME_LABEL not in metadata.labels:
            problem = f"has its queue, {queue}, in an annotation"
            fix = f"kubectl label job {metadata.name} -n {metadata.namespace} {QUEUE_NAME_LABEL}={queue}"
            yield AffectedObject(Subject("Job", metadata.name, metadata.namespace), problem, fix)


def _queue_missing(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """One finding per missing queue."""
    for (namespace, name), waiting in sorted(facts.pending_in.items()):
        if not name or (namespace, name) in facts.local_queues:
            continue
        there = [each.metadata.name for each in facts.queues_of_namespace.get(namespace, ())]
        problem = (
            f"{counted(len(waiting), 'pending workload references', 'pending workloads reference')} this queue, "
            f"which does not exist: "
            f"{did_you_mean(name, there)}"
        )
        fix = f"create LocalQueue {namespace}/{name}, or correct the label {QUEUE_NAME_LABEL} of the jobs"
        yield AffectedObject(Subject("LocalQueue", name, namespace), problem, fix)


def _class_missing(facts: ClusterFacts) -> Iterator[AffectedObject]:
    known = {each.metadata.name for each in facts.all(WorkloadPriorityClass)}
    lost: dict[str, list[Job]] = defaultdict(list)
    for job in facts.live_jobs:
        name = job.metadata.labels.get(PRIORITY_CLASS_LABEL, "")
        if name and QUEUE_NAME_LABEL in job.metadata.labels and name not in known:
            lost[name].append(job)
    for name, jobs in sorted(lost.items()):
        verb = counted(len(jobs), "Job references", "Jobs reference")
        problem = f"{verb} this class, which does not exist: {did_you_mean(name, known)} ({listed_names(jobs)})"
        fix = f"create WorkloadPriorityClass {name}, or correct the label {PRIORITY_CLASS_LABEL}"
        yield AffectedObject(Subject("WorkloadPriorityClass", name), problem, fix)


def _class_unused(facts: ClusterFacts) -> Iterator[AffectedObject]:
    refs = (each.spec.priority_class_ref for each in facts.all(Workload))
    used = {ref.name for ref in refs if ref is not None and ref.kind == "WorkloadPriorityClass"}
    for found in facts.all(WorkloadPriorityClass):
        name = found.metadata.name
        if name not in used:
            fix = f"use the label {PRIORITY_CLASS_LABEL}: {name}, or: kubectl delete workloadpriorityclass {name}"
            yield AffectedObject(Subject("WorkloadPriorityClass", name), "not used by any workload", fix)


# Requests compared with quota


def _not_covered(facts: ClusterFacts) -> Iterator[AffectedObject]:
    if facts.settings.cycle.assigning.ignores_undeclared:
        return
    lacking: dict[tuple[str, str], list[Workload]] = defaultdict(list)
    covered = {
        name: {resource for group in queue.spec.resource_groups for resource in group.covered_resources}
        for name, queue in facts.cluster_queues.items()
    }
    for workload, queue, requests in facts.pending_requests:
        resources = {name for demand in requests if demand.count for name, amount in demand.per_pod.items() if amount}
        for resource in resources - covered[queue]:
            lacking[queue, resource].append(workload)
    for (queue, resource), workloads in sorted(lacking.items()):
        verb = counted(len(workloads), "pending workload requests", "pending workloads request")
        problem = f"{verb} {resource}, which it does not cover ({_workload_names(workloads)})"
        fix = (
            f"add {resource} to coveredResources with a nominalQuota in each flavor (0 for none), or exclude it by "
            f"resources.excludeResourcePrefixes of the Configuration, or remove the request"
        )
        yield AffectedObject(Subject("ClusterQueue", queue), problem, fix)


def _beyond_reach(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Pending workloads with a pod set that no single flavor could ever hold."""
    most: dict[tuple[str, str], int] = {}
    for workload, queue, requests in facts.pending_requests:
        for demand in requests:
            if found := _excess(facts, queue, demand, most):
                metadata = workload.metadata
                fix = "reduce the request, raise nominalQuota or borrowingLimit, or allow partial admission"
                yield AffectedObject(Subject("Workload", metadata.name, metadata.namespace), found, fix)
                break


def _excess(facts: ClusterFacts, queue: str, demand: PodSetDemand, most: dict[tuple[str, str], int]) -> str:
    count = demand.count if demand.min_count is None else min(demand.min_count, demand.count)
    for resource, amount in demand.total_of(count).items():
        if (queue, resource) not in most:
            most[queue, resource] = _most(facts, queue, resource)
        limit = most[queue, resource]
        if limit >= 0 and amount > limit:
            return (
                f"{counted(count, 'pod requests', 'pods request')} {format_amount(resource, amount)} {resource}, but "
                f"no flavor of ClusterQueue {queue} can provide more than {format_amount(resource, limit)}"
            )
    return ""


def _most(facts: ClusterFacts, queue: str, resource: str) -> int:
    """The maximum of the best flavor; negative if the queue does not cover the resource."""
    groups = facts.cluster_queues[queue].spec.resource_groups
    flavors = [each.name for group in groups if resource in group.covered_resources for each in group.flavors]
    return max((facts.most(queue, FlavorResource(flavor, resource)) for flavor in flavors), default=-1)


def _workload_names(workloads: Iterable[Workload]) -> str:
    return listed(f"{each.metadata.namespace}/{each.metadata.name}" for each in workloads)


CHECKS = (
    DoctorCheck(
        "job-without-queue",
        CheckSeverity.WARNING,
        "Jobs without a queue label in a namespace with queues",
        "they bypass quota",
        _bypassing,
        (Job, LocalQueue),
    ),
    DoctorCheck(
        "queue-in-annotation",
        CheckSeverity.WARNING,
        "Job with its queue in an annotation",
        "only the label is used: the Job bypasses quota or, if suspended, never starts",
        _annotated,
        (Job,),
    ),
    DoctorCheck(
        "queue-missing",
        CheckSeverity.ERROR,
        "workloads whose LocalQueue does not exist",
        "they stay pending",
        _queue_missing,
        (Workload, LocalQueue),
    ),
    DoctorCheck(
        "priority-class-missing",
        CheckSeverity.ERROR,
        "Jobs with a missing priority class",
        "no Workload is created for them, so they never start",
        _class_missing,
        (Job, WorkloadPriorityClass),
    ),
    DoctorCheck(
        "priority-class-unused",
        CheckSeverity.HINT,
        "unused priority class",
        "workloads run at the default priority instead",
        _class_unused,
        (WorkloadPriorityClass,),
        whole=(Workload,),
    ),
    DoctorCheck(
        "uncovered-resource",
        CheckSeverity.ERROR,
        "pending workloads that request a resource not covered by their queue",
        "they are never admitted",
        _not_covered,
        (Workload, LocalQueue, ClusterQueue),
    ),
    DoctorCheck(
        "request-beyond-quota",
        CheckSeverity.ERROR,
        "pending workload that requests more than its queue can ever provide",
        "it is never admitted, and may block a StrictFIFO queue",
        _beyond_reach,
        (Workload, LocalQueue, ClusterQueue, Cohort),
    ),
)
