"""Objects and settings that request what this version of Kohort does not support.

On a cluster that Kueue manages, jobs have Workloads and placements: only what would change with Kohort is reported.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kohort.api.codec import to_json
from kohort.api.conditions import find
from kohort.api.kueue.v1beta2 import ResourceFlavor, Topology, Workload
from kohort.api.unsupported import UNSUPPORTED_FRAMEWORKS, Notice, holding_message, job_message, notices, queue_field
from kohort.engine.lifecycle.conditions import QUOTA_RESERVED
from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import AffectedObject, CheckSeverity, DoctorCheck, Subject
from kohort.insight.doctor.text import counted, listed, listed_names
from kohort.insight.doctor.workloads import by_queue, queue_subject
from kohort.insight.manager_settings import NAME, NAMESPACE

_WITHOUT_PLACEMENT = (
    "use the annotation kueue.x-k8s.io/podset-preferred-topology or none, or use Kueue to manage the queue"
)


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


def _held(facts: ClusterFacts) -> Iterator[AffectedObject]:
    gates = facts.snapshot.rules.gates

    def is_held(workload: Workload) -> bool:
        reserved = find(workload.status.conditions, QUOTA_RESERVED)
        message = holding_message(workload, gates)
        return bool(message) and reserved is not None and reserved.status == "False" and reserved.message == message

    for (namespace, queue), found in by_queue(facts, is_held):
        number = counted(len(found), "workload requires", "workloads require")
        problem = f"{number} a topology: {listed_names(found)}"
        yield AffectedObject(queue_subject(namespace, queue), problem, _WITHOUT_PLACEMENT)


def _placed_anywhere(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for (namespace, queue), found in by_queue(facts, _lacks_placement):
        number = counted(len(found), "admitted workload requests", "admitted workloads request")
        problem = f"{number} a topology: {listed_names(found)}; their pods may be on any nodes of the flavor"
        fix = "remove the topology annotation from the pod templates, or use Kueue to manage the queue"
        yield AffectedObject(queue_subject(namespace, queue), problem, fix)


def _lacks_placement(workload: Workload) -> bool:
    """Whether a pod set was admitted without the placement that it requests."""
    admission = workload.status.admission
    if admission is None or not any(each.topology_request for each in workload.spec.pod_sets):
        return False
    placed = {
        each.name
        for each in admission.pod_set_assignments
        if each.topology_assignment is not None or each.delayed_topology_request
    }
    requested = {notice.path.text for notice in notices(to_json(workload))}
    return any(
        pod_set.name not in placed and any(path.startswith(f"spec.podSets[{index}].") for path in requested)
        for index, pod_set in enumerate(workload.spec.pod_sets)
    )


def _ineffective(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for flavor in facts.all(ResourceFlavor):
        yield from _noticed(Subject("ResourceFlavor", flavor.metadata.name), notices(to_json(flavor)))
    for topology in facts.all(Topology):
        yield from _noticed(Subject("Topology", topology.metadata.name), notices(to_json(topology)))
    yield from _noticed(Subject("ConfigMap", NAME, NAMESPACE), facts.snapshot.rules.unsupported)


def _noticed(subject: Subject, found: Iterable[Notice]) -> Iterator[AffectedObject]:
    for notice in found:
        remedy = f"remove {notice.path.text}" if notice.path.text else "delete it"
        yield AffectedObject(subject, str(notice), f"{remedy}, or use Kueue to manage the cluster")


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
        "topology-held",
        CheckSeverity.ERROR,
        "pending workloads that require a topology",
        "topology-aware scheduling is not supported yet, so they are never admitted",
        _held,
        (Workload,),
    ),
    DoctorCheck(
        "topology-ignored",
        CheckSeverity.WARNING,
        "admitted workloads with a topology request but without placement",
        "topology-aware scheduling is not supported yet: their pods may be far from each other",
        _placed_anywhere,
        (Workload,),
    ),
    DoctorCheck(
        "feature-unsupported",
        CheckSeverity.WARNING,
        "objects and settings of unsupported features",
        "they are accepted for compatibility with Kueue, but have no effect",
        _ineffective,
        (ResourceFlavor, Topology),
    ),
)
