"""Jobs and settings that request what this version of Kohort does not support.

On a cluster that Kueue manages, jobs have Workloads and placements: only what would change with Kohort is reported.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.unsupported import UNSUPPORTED_FRAMEWORKS, job_message, queue_field
from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import AffectedObject, CheckSeverity, DoctorCheck, Subject
from kohort.insight.doctor.text import listed
from kohort.insight.manager_settings import NAME, NAMESPACE
from kohort.terminal.counts import counted


def _unqueued_jobs(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Jobs without a Workload, by kind and namespace; only where Workloads can be listed."""
    managed = {owner.uid for workload in facts.all(Workload) for owner in workload.metadata.owner_references}
    unseen = facts.snapshot.found[Workload].unseen
    for resource in UNSUPPORTED_FRAMEWORKS.values():
        if resource not in facts.snapshot.found:
            continue
        names: dict[str, list[str]] = defaultdict(list)
        for key, job in facts.snapshot.of(resource).items():
            is_seen = unseen is None or unseen.seen_in == key.namespace
            if is_seen and queue_field(job) is not None and not _is_followed(job, managed):
                names[key.namespace].append(key.name)
        for namespace, found in sorted(names.items()):
            number = counted(len(found), f"{resource.kind} references", f"{resource.kind}s reference")
            problem = f"{number} a queue: {listed(found)}; {job_message(resource.kind)}"
            fix = f"use Kueue to manage this namespace, or remove the queue name from each {resource.kind}"
            yield AffectedObject(Subject("Namespace", namespace), problem, fix)


def _is_followed(job: Mapping[str, Any], managed: set[str]) -> bool:
    """Whether the job has a Workload, or is part of another job, which is reported itself."""
    metadata = job["metadata"]
    owners = metadata.get("ownerReferences") or ()
    return metadata.get("uid") in managed or any(each.get("controller") for each in owners)


def _ineffective(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for notice in facts.snapshot.rules.unsupported:
        remedy = f"remove {notice.path.text}, or use Kueue to manage the cluster"
        yield AffectedObject(Subject("ConfigMap", NAME, NAMESPACE), str(notice), remedy)


CHECKS = (
    DoctorCheck(
        "framework-unsupported",
        CheckSeverity.ERROR,
        "queued jobs of an unsupported framework",
        "no Workload is created for them: they start without quota, or never if they are suspended",
        _unqueued_jobs,
        (Workload,),
    ),
    DoctorCheck(
        "feature-unsupported",
        CheckSeverity.WARNING,
        "settings of unsupported features",
        "they are accepted for compatibility with Kueue, but have no effect",
        _ineffective,
        (),
    ),
)
