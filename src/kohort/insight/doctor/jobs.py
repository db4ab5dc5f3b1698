"""Jobs that go past the queues, name what is not there, or ask for what no queue can give."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from kohort.api.amounts import format_amount
from kohort.api.core.batch import Job
from kohort.api.kueue.keys import PRIORITY_CLASS_LABEL, QUEUE_NAME_LABEL
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort, LocalQueue, Workload, WorkloadPriorityClass
from kohort.engine.quota import FlavorResource
from kohort.engine.requests import PodSetDemand
from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import AffectedObject, Check, CheckSeverity, Subject
from kohort.insight.doctor.text import counted, is_or_are, listed, listed_names
from kohort.terminal.nearest import did_you_mean

_PODS: Final = "pods"
"""Counted by the queue itself, where it is covered (SCH-135)."""


def _past_the_queue(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """In namespaces with queues; a Job of an owner follows the owner."""
    past: dict[str, list[Job]] = defaultdict(list)
    for job in facts.live_jobs:
        metadata = job.metadata
        named = metadata.labels.get(QUEUE_NAME_LABEL) or metadata.annotations.get(QUEUE_NAME_LABEL)
        if not named and not metadata.owner_references and metadata.namespace in facts.queues_of_namespace:
            past[metadata.namespace].append(job)
    for namespace, jobs in sorted(past.items()):
        queue = facts.queues_of_namespace[namespace][0].metadata.name
        number = counted(len(jobs), "Job names", "Jobs name")
        problem = f"{number} no queue and {is_or_are(jobs)} held by none: {listed_names(jobs)}"
        fix = (
            f"write the label {QUEUE_NAME_LABEL}: {queue} into their manifests; for those that forget it, create a "
            f"LocalQueue named default, or set manageJobsWithoutQueueName in the Configuration"
        )
        yield AffectedObject(Subject("Namespace", namespace), problem, fix)


def _annotated(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for job in facts.live_jobs:
        metadata = job.metadata
        queue = metadata.annotations.get(QUEUE_NAME_LABEL)
        if queue and QUEUE_NAME_LABEL not in metadata.labels:
            problem = f"names its queue, {queue}, in an annotation"
            fix = f"kubectl label job {metadata.name} -n {metadata.namespace} {QUEUE_NAME_LABEL}={queue}"
            yield AffectedObject(Subject("Job", metadata.name, metadata.namespace), problem, fix)


def _queue_missing(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """One finding for all that name the same queue."""
    for (namespace, name), waiting in sorted(facts.waiting_in.items()):
        if not name or (namespace, name) in facts.local_queues:
            continue
        there = [each.metadata.name for each in facts.queues_of_namespace.get(namespace, ())]
        problem = (
            f"{counted(len(waiting), 'workload waits', 'workloads wait')} for this queue, which does not exist: "
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
        verb = counted(len(jobs), "Job names", "Jobs name")
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
            yield AffectedObject(Subject("WorkloadPriorityClass", name), "no workload names it", fix)


# What is asked for, against what there is


def _not_covered(facts: ClusterFacts) -> Iterator[AffectedObject]:
    if facts.settings.cycle.assigning.ignores_undeclared:
        return
    lacking: dict[tuple[str, str], list[Workload]] = defaultdict(list)
    covered = {
        name: {resource for group in queue.spec.resource_groups for resource in group.covered_resources}
        for name, queue in facts.cluster_queues.items()
    }
    for workload, queue, asked in facts.asking:
        resources = {name for demand in asked if demand.count for name, amount in demand.per_pod.items() if amount}
        for resource in resources - covered[queue]:
            lacking[queue, resource].append(workload)
    for (queue, resource), workloads in sorted(lacking.items()):
        verb = counted(len(workloads), "waiting workload asks", "waiting workloads ask")
        problem = f"{verb} for {resource}, which it does not cover ({_workload_names(workloads)})"
        fix = (
            f"add {resource} to coveredResources with a nominalQuota in each flavor (0 says: none), or drop the request"
        )
        yield AffectedObject(Subject("ClusterQueue", queue), problem, fix)


def _beyond_reach(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """One pod set has one flavor for a resource: no flavor could give so much, whoever else is idle."""
    most: dict[tuple[str, str], int] = {}
    for workload, queue, asked in facts.asking:
        for demand in asked:
            if found := _excess(facts, queue, demand, most):
                metadata = workload.metadata
                fix = "ask for less, raise nominalQuota or borrowingLimit, or allow fewer pods (partial admission)"
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
                f"{counted(count, 'pod asks', 'pods ask')} for {format_amount(resource, amount)} {resource}, and no "
                f"flavor of ClusterQueue {queue} can ever give more than {format_amount(resource, limit)}"
            )
    return ""


def _most(facts: ClusterFacts, queue: str, resource: str) -> int:
    """What the best flavor could give; below zero where the queue does not cover the resource."""
    groups = facts.cluster_queues[queue].spec.resource_groups
    flavors = [each.name for group in groups if resource in group.covered_resources for each in group.flavors]
    return max((facts.most(queue, FlavorResource(flavor, resource)) for flavor in flavors), default=-1)


def _workload_names(workloads: Iterable[Workload]) -> str:
    return listed(f"{each.metadata.namespace}/{each.metadata.name}" for each in workloads)


CHECKS = (
    Check(
        "job-without-queue",
        CheckSeverity.WARNING,
        "Jobs without a queue label in a namespace with queues",
        "they start at once, past all quotas, on nodes that were promised to those who queue",
        _past_the_queue,
        (Job, LocalQueue),
    ),
    Check(
        "queue-in-annotation",
        CheckSeverity.WARNING,
        "a Job that names its queue in an annotation",
        "Kueue looks for the label only: the Job starts unqueued or, if it is suspended, never",
        _annotated,
        (Job,),
    ),
    Check(
        "queue-missing",
        CheckSeverity.ERROR,
        "workloads whose LocalQueue does not exist",
        "they wait for ever, and nothing but their own status says so",
        _queue_missing,
        (Workload, LocalQueue),
    ),
    Check(
        "priority-class-missing",
        CheckSeverity.ERROR,
        "Jobs that name a priority class which does not exist",
        "no Workload is made of them: they never even join the queue",
        _class_missing,
        (Job, WorkloadPriorityClass),
    ),
    Check(
        "priority-class-unused",
        CheckSeverity.HINT,
        "a priority class that no workload names",
        "somebody meant it to matter; everything runs at the default priority instead",
        _class_unused,
        (WorkloadPriorityClass,),
        whole=(Workload,),
    ),
    Check(
        "uncovered-resource",
        CheckSeverity.ERROR,
        "waiting workloads that ask for a resource which their queue does not cover",
        "they are never admitted, however much is free",
        _not_covered,
        (Workload, LocalQueue, ClusterQueue),
    ),
    Check(
        "request-beyond-quota",
        CheckSeverity.ERROR,
        "a waiting workload that asks for more than its queue could ever have",
        "it waits for ever, at the head of the queue perhaps",
        _beyond_reach,
        (Workload, LocalQueue, ClusterQueue, Cohort),
    ),
)
