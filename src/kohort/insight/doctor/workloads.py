"""Checks for Workloads without progress: inactive, waiting for admission checks, admitted and not running."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

from kohort.api.conditions import is_true
from kohort.api.core.batch import Job
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle.conditions import ADMITTED, EVICTED, QUOTA_RESERVED
from kohort.insight.doctor.cluster_facts import ClusterFacts, NamespacedName
from kohort.insight.doctor.model import AffectedObject, CheckSeverity, DoctorCheck, Subject
from kohort.insight.doctor.text import lasting, listed, listed_names
from kohort.terminal.counts import counted

FORGOTTEN: Final = timedelta(days=1)
"""How long a workload must have been inactive."""
STUCK: Final = timedelta(hours=1)
"""How long admission checks may take."""
SLOW: Final = timedelta(minutes=10)
"""How long pods may take to become ready after admission."""


def _forgotten(facts: ClusterFacts) -> Iterator[AffectedObject]:
    def is_forgotten(workload: Workload) -> bool:
        return not workload.spec.active and facts.since(workload, EVICTED) >= FORGOTTEN

    for (namespace, queue), found in by_queue(facts, is_forgotten):
        longest = max(facts.since(each, EVICTED) for each in found)
        problem = f"{_count(found)} inactive for more than {lasting(FORGOTTEN)} (longest: {lasting(longest)})"
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
            f"{_count(found)} waiting {what} with reserved quota for more than {lasting(STUCK)}: {listed_names(found)}"
        )
        fix = f"kubectl describe workload {found[0].metadata.name} -n {namespace}; check the logs of the controller"
        yield AffectedObject(queue_subject(namespace, queue), problem, fix)


def _not_running(facts: ClusterFacts) -> Iterator[AffectedObject]:
    ready = {each.metadata.uid: each for each in facts.live_jobs}
    for workload in facts.running:
        job = next((ready[each.uid] for each in workload.metadata.owner_references if each.uid in ready), None)
        admitted = facts.since(workload, ADMITTED)
        if job is None or admitted < SLOW or job.status.ready or job.status.succeeded:
            continue
        metadata = job.metadata
        pods = f"{counted(job.status.active, 'pod')}, none ready" if job.status.active else "no pods"
        problem = f"admitted {lasting(admitted)} ago, has {pods}"
        fix = (
            f"kubectl get events -n {metadata.namespace}: FailedCreate indicates a ResourceQuota, "
            f"FailedScheduling labels, taints or full nodes"
        )
        yield AffectedObject(Subject("Job", metadata.name, metadata.namespace), problem, fix)


def by_queue(
    facts: ClusterFacts, wanted: Callable[[Workload], bool]
) -> Iterator[tuple[NamespacedName, list[Workload]]]:
    """The selected unfinished Workloads, by LocalQueue."""
    found: dict[NamespacedName, list[Workload]] = defaultdict(list)
    for workload in facts.unfinished:
        if wanted(workload):
            found[workload.metadata.namespace, workload.spec.queue_name or ""].append(workload)
    yield from sorted(found.items(), key=lambda pair: pair[0])


def queue_subject(namespace: str, queue: str) -> Subject:
    """The LocalQueue; the namespace if the name is empty."""
    return Subject("LocalQueue", queue, namespace) if queue else Subject("Namespace", namespace)


def _count(found: list[Workload]) -> str:
    return counted(len(found), "workload is", "workloads are")


CHECKS = (
    DoctorCheck(
        "workload-inactive",
        CheckSeverity.WARNING,
        "workloads inactive for more than a day",
        "deactivated by a user or a limit; they are not requeued automatically",
        _forgotten,
        (Workload,),
    ),
    DoctorCheck(
        "check-stuck",
        CheckSeverity.WARNING,
        "workloads waiting for an admission check for more than an hour",
        "they hold quota that no other workload can use, and do not run",
        _stuck,
        (Workload,),
    ),
    DoctorCheck(
        "admitted-not-running",
        CheckSeverity.WARNING,
        "Jobs admitted more than ten minutes ago without ready pods",
        "they hold quota, but their pods do not fit on nodes or are rejected by a ResourceQuota",
        _not_running,
        (Workload, Job),
    ),
)
