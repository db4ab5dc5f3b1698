"""Workloads that stand still: put to rest and forgotten, stuck before their start, admitted and not running."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

from kohort.api.conditions import is_true
from kohort.api.core.batch import Job
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle.conditions import ADMITTED, EVICTED, QUOTA_RESERVED
from kohort.insight.doctor.cluster_facts import ClusterFacts, Place
from kohort.insight.doctor.model import AffectedObject, Check, CheckSeverity, Subject
from kohort.insight.doctor.text import counted, lasting, listed, listed_names

FORGOTTEN: Final = timedelta(days=1)
"""How long a workload must have been inactive to count as forgotten."""
STUCK: Final = timedelta(hours=1)
"""How long admission checks may take before somebody should look."""
SLOW: Final = timedelta(minutes=10)
"""How long pods may take to run once a job was admitted."""


def _forgotten(facts: ClusterFacts) -> Iterator[AffectedObject]:
    def is_forgotten(workload: Workload) -> bool:
        return not workload.spec.active and facts.since(workload, EVICTED) >= FORGOTTEN

    for (namespace, queue), found in by_queue(facts, is_forgotten):
        longest = max(facts.since(each, EVICTED) for each in found)
        problem = f"{_count(found)} inactive for more than {lasting(FORGOTTEN)}, the longest for {lasting(longest)}"
        first = found[0].metadata.name
        fix = (
            f"delete the job, or: kubectl patch workload {first} -n {namespace} --type merge "
            f"""-p '{{"spec":{{"active":true}}}}'"""
        )
        yield AffectedObject(queue_subject(namespace, queue), f"{problem}: {listed_names(found)}", fix)


def _stuck(facts: ClusterFacts) -> Iterator[AffectedObject]:
    def is_stuck(workload: Workload) -> bool:
        conditions = workload.status.conditions
        is_between = is_true(conditions, QUOTA_RESERVED) and not is_true(conditions, ADMITTED)
        return is_between and facts.since(workload, QUOTA_RESERVED) >= STUCK

    for (namespace, queue), found in by_queue(facts, is_stuck):
        waiting = {each.name for one in found for each in one.status.admission_checks if each.state != "Ready"}
        what = f"for {listed(waiting)}" if waiting else "for admission"
        problem = (
            f"{_count(found)} holding quota and waiting {what} for more than {lasting(STUCK)}: {listed_names(found)}"
        )
        fix = (
            f"kubectl describe workload {found[0].metadata.name} -n {namespace}, and the logs of the check's controller"
        )
        yield AffectedObject(queue_subject(namespace, queue), problem, fix)


def _not_running(facts: ClusterFacts) -> Iterator[AffectedObject]:
    ready = {each.metadata.uid: each for each in facts.live_jobs}
    for workload in facts.running:
        job = next((ready[each.uid] for each in workload.metadata.owner_references if each.uid in ready), None)
        admitted = facts.since(workload, ADMITTED)
        if job is None or admitted < SLOW or job.status.ready or job.status.succeeded:
            continue
        metadata = job.metadata
        made = f"{counted(job.status.active, 'pod')}, none of them ready" if job.status.active else "no pods at all"
        problem = f"was admitted {lasting(admitted)} ago, holds its quota, and has {made}"
        fix = (
            f"kubectl get events -n {metadata.namespace}: look for FailedCreate (a ResourceQuota?) and "
            f"FailedScheduling (labels, taints, no room?)"
        )
        yield AffectedObject(Subject("Job", metadata.name, metadata.namespace), problem, fix)


def by_queue(facts: ClusterFacts, wanted: Callable[[Workload], bool]) -> Iterator[tuple[Place, list[Workload]]]:
    """Some of the unfinished, by LocalQueue."""
    found: dict[Place, list[Workload]] = defaultdict(list)
    for workload in facts.unfinished:
        if wanted(workload):
            found[workload.metadata.namespace, workload.spec.queue_name or ""].append(workload)
    yield from sorted(found.items(), key=lambda pair: pair[0])


def queue_subject(namespace: str, queue: str) -> Subject:
    """The LocalQueue of that name; the namespace where there is no name."""
    return Subject("LocalQueue", queue, namespace) if queue else Subject("Namespace", namespace)


def _count(found: list[Workload]) -> str:
    return counted(len(found), "workload is", "workloads are")


CHECKS = (
    Check(
        "workload-inactive",
        CheckSeverity.WARNING,
        "workloads that have been inactive for more than a day",
        "somebody, or a limit, put them to rest, and they do not come back by themselves",
        _forgotten,
        (Workload,),
    ),
    Check(
        "check-stuck",
        CheckSeverity.WARNING,
        "workloads with quota that wait for an admission check for more than an hour",
        "they hold quota that nobody else can use, and do not run",
        _stuck,
        (Workload,),
    ),
    Check(
        "admitted-not-running",
        CheckSeverity.WARNING,
        "Jobs that were admitted more than ten minutes ago and of which nothing runs",
        "the queue counts them as running, and the nodes or a ResourceQuota refuse their pods",
        _not_running,
        (Workload, Job),
    ),
)
