"""Checks for queues with missing references, without matching namespaces, stopped or unused."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from kohort.api.conditions import find, is_true
from kohort.api.core.namespaces import Namespace
from kohort.api.kueue.v1beta2 import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Topology,
    Workload,
)
from kohort.api.selectors import compile_selector
from kohort.api.unsupported import check_message
from kohort.engine.lifecycle.activity import QueueReferences, inactivity_causes
from kohort.engine.lifecycle.conditions import ACTIVE
from kohort.insight.doctor.cluster_facts import ClusterFacts, check_names, oldest
from kohort.insight.doctor.model import AffectedObject, CheckSeverity, DoctorCheck, Subject
from kohort.insight.doctor.text import lasting, listed
from kohort.terminal.counts import counted
from kohort.terminal.nearest import did_you_mean

NEW: Final = timedelta(minutes=1)
"""How long a manager may take to reconcile a new queue."""
_OTHER_CHECKS = ("Stopped", "AdmissionCheckInactive")
"""Reasons that are reported by other checks."""


def _without_cluster_queue(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for queue in facts.all(LocalQueue):
        target = queue.spec.cluster_queue or ""
        if target in facts.cluster_queues:
            continue
        subject = _local(queue)
        waiting = _waiting_text(facts, queue)
        if not target:
            yield AffectedObject(subject, f"references no ClusterQueue{waiting}", "set spec.clusterQueue")
            continue
        problem = f"ClusterQueue {target} not found ({did_you_mean(target, facts.cluster_queues)}){waiting}"
        yield AffectedObject(
            subject,
            problem,
            f"create ClusterQueue {target}, or re-create the LocalQueue (spec.clusterQueue is immutable)",
        )


def _waiting_text(facts: ClusterFacts, queue: LocalQueue) -> str:
    waiting = facts.pending_in.get((queue.metadata.namespace, queue.metadata.name), ())
    return f"; {counted(len(waiting), 'pending workload', 'pending workloads')}" if waiting else ""


def _without_selector(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for queue in facts.all(ClusterQueue):
        if queue.spec.namespace_selector is None:
            local_queues_of = facts.local_queues_of.get(queue.metadata.name, ())
            namespaces = (
                f", including {listed(each.metadata.namespace for each in local_queues_of)}" if local_queues_of else ""
            )
            problem = f"has no spec.namespaceSelector, so it matches no namespace{namespaces}"
            fix = _patch(queue, '{"spec":{"namespaceSelector":{}}}')
            yield AffectedObject(_cluster(queue), problem, f"select all namespaces: {fix}")


def _not_selected(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for queue in facts.all(ClusterQueue):
        if queue.spec.namespace_selector is None:
            continue
        selector = compile_selector(queue.spec.namespace_selector)
        for local in facts.local_queues_of.get(queue.metadata.name, ()):
            namespace = facts.namespaces.get(local.metadata.namespace)
            if namespace is not None and not selector.matches(namespace.metadata.labels):
                name = namespace.metadata.name
                problem = f"the namespaceSelector of ClusterQueue {queue.metadata.name} does not match namespace {name}"
                fix = f"label namespace {name} to match spec.namespaceSelector, or widen the selector"
                yield AffectedObject(_local(local), problem + _waiting_text(facts, local), fix)


def _inactive(facts: ClusterFacts) -> Iterator[AffectedObject]:
    known = QueueReferences(facts.flavors, facts.checks, facts.topologies)
    for queue in facts.all(ClusterQueue):
        causes = [each for each in inactivity_causes(queue, known) if each.reason not in _OTHER_CHECKS]
        if causes:
            fix = "create the missing object, or remove the reference from the spec"
            yield AffectedObject(_cluster(queue), "; ".join(cause.text for cause in causes), fix)


def _stopped_with_work(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for local in facts.all(LocalQueue):
        waiting = facts.pending_in.get((local.metadata.namespace, local.metadata.name), [])
        if local.spec.stop_policy != "None" and waiting:
            policy = f"spec.stopPolicy is {local.spec.stop_policy}"
            fix = (
                f"kubectl patch localqueue {local.metadata.name} -n {local.metadata.namespace} --type merge "
                f"""-p '{{"spec":{{"stopPolicy":"None"}}}}'"""
            )
            yield AffectedObject(_local(local), f"{policy}; {_wait(facts, waiting)}", fix)
    for queue in facts.all(ClusterQueue):
        local_queues_of = facts.local_queues_of.get(queue.metadata.name, ())
        keys = [(each.metadata.namespace, each.metadata.name) for each in local_queues_of]
        waiting = [each for key in keys for each in facts.pending_in.get(key, ())]
        if queue.spec.stop_policy != "None" and waiting:
            problem = f"spec.stopPolicy is {queue.spec.stop_policy}; {_wait(facts, waiting)}"
            yield AffectedObject(_cluster(queue), problem, _patch(queue, '{"spec":{"stopPolicy":"None"}}'))


def _wait(facts: ClusterFacts, waiting: list[Workload]) -> str:
    number = counted(len(waiting), "pending workload")
    return f"{number} (oldest: {lasting(oldest(facts, waiting))})"


def _unanswered_checks(facts: ClusterFacts) -> Iterator[AffectedObject]:
    users = Counter(name for queue in facts.all(ClusterQueue) for name in check_names(queue))
    for check in facts.all(AdmissionCheck):
        if is_true(check.status.conditions, ACTIVE):
            continue
        name, condition = check.metadata.name, find(check.status.conditions, ACTIVE)
        controller = check.spec.controller_name if check.spec else "none"
        why = f"reports: {condition.message}" if condition else f"has not processed it ({controller})"
        used = (
            f"; {counted(users[name], 'ClusterQueue is', 'ClusterQueues are')} inactive because of it"
            if users[name]
            else ""
        )
        missing = check_message(controller)
        fix = (
            "remove the check from spec.admissionChecksStrategy of the queues, or use Kueue to manage them"
            if missing
            else f"start controller {controller} and check its logs, or remove the check from the queues"
        )
        yield AffectedObject(Subject("AdmissionCheck", name), f"{missing or f'its controller {why}'}{used}", fix)


def _pointless(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """ClusterQueues without LocalQueues; those of a cohort may only lend."""
    for queue in facts.all(ClusterQueue):
        if queue.metadata.name not in facts.local_queues_of and not queue.spec.cohort_name:
            name = queue.metadata.name
            fix = f"create a LocalQueue with spec.clusterQueue {name}, or: kubectl delete clusterqueue {name}"
            yield AffectedObject(_cluster(queue), "no LocalQueue references it, and it has no cohort to lend to", fix)


def _unused_flavors(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for flavor in facts.all(ResourceFlavor):
        name = flavor.metadata.name
        if name not in facts.quota_owners:
            fix = f"add quota for it to a ClusterQueue, or: kubectl delete resourceflavor {name}"
            yield AffectedObject(Subject("ResourceFlavor", name), "no ClusterQueue or Cohort has quota in it", fix)


def _strictly_blocked(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for queue in facts.all(ClusterQueue):
        if queue.spec.queueing_strategy != "StrictFIFO":
            continue
        keys = [
            (each.metadata.namespace, each.metadata.name) for each in facts.local_queues_of.get(queue.metadata.name, ())
        ]
        waiting = sum(len(facts.pending_in.get(key, ())) for key in keys)
        if waiting > 1:
            problem = f"the first of {waiting} pending workloads blocks the others, whether they would fit or not"
            fix = _patch(queue, '{"spec":{"queueingStrategy":"BestEffortFIFO"}}')
            yield AffectedObject(_cluster(queue), problem, fix)


def _without_manager(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Queues without the condition Active, which a manager sets within seconds; new queues are ignored."""
    queues = [each for each in facts.all(ClusterQueue) if facts.age_of(each) >= NEW]
    if queues and not any(find(each.status.conditions, ACTIVE) for each in queues):
        problem = f"none of {counted(len(queues), 'ClusterQueue')} has the condition Active"
        fix = "start one: `kohort install | kubectl apply --server-side -f -`, or `kohort manager`; check its logs"
        yield AffectedObject(Subject("ClusterQueue", queues[0].metadata.name), problem, fix)


def _patch(queue: ClusterQueue, change: str) -> str:
    return f"kubectl patch clusterqueue {queue.metadata.name} --type merge -p '{change}'"


def _cluster(queue: ClusterQueue) -> Subject:
    return Subject("ClusterQueue", queue.metadata.name)


def _local(queue: LocalQueue) -> Subject:
    return Subject("LocalQueue", queue.metadata.name, queue.metadata.namespace)


CHECKS = (
    DoctorCheck(
        "local-queue-nowhere",
        CheckSeverity.ERROR,
        "LocalQueue references a missing ClusterQueue",
        "workloads submitted to it stay pending",
        _without_cluster_queue,
        (LocalQueue, ClusterQueue),
    ),
    DoctorCheck(
        "no-namespace-selector",
        CheckSeverity.ERROR,
        "ClusterQueue without namespaceSelector",
        "no selector matches no namespace, so nothing is admitted; an empty one, {}, matches all",
        _without_selector,
        (ClusterQueue,),
    ),
    DoctorCheck(
        "namespace-not-selected",
        CheckSeverity.ERROR,
        "LocalQueue in a namespace that its ClusterQueue does not select",
        "workloads of that namespace are never admitted",
        _not_selected,
        (LocalQueue, ClusterQueue),
        whole=(Namespace,),
    ),
    DoctorCheck(
        "queue-inactive",
        CheckSeverity.ERROR,
        "ClusterQueue references a missing flavor, check or topology",
        "it admits nothing until all of them exist",
        _inactive,
        (ClusterQueue, ResourceFlavor, AdmissionCheck, Topology),
    ),
    DoctorCheck(
        "check-without-controller",
        CheckSeverity.ERROR,
        "AdmissionCheck without active controller",
        "queues with this check are inactive",
        _unanswered_checks,
        (AdmissionCheck, ClusterQueue),
    ),
    DoctorCheck(
        "no-manager",
        CheckSeverity.ERROR,
        "no manager is running",
        "nothing is admitted",
        _without_manager,
        (ClusterQueue,),
    ),
    DoctorCheck(
        "stopped-with-work",
        CheckSeverity.WARNING,
        "stopped queue with pending workloads",
        "workloads stay pending until the queue is resumed",
        _stopped_with_work,
        (LocalQueue, ClusterQueue, Workload),
    ),
    DoctorCheck(
        "strict-fifo-blocked",
        CheckSeverity.HINT,
        "StrictFIFO queue with several pending workloads",
        "a large workload at the head blocks small ones although quota is free",
        _strictly_blocked,
        (LocalQueue, ClusterQueue, Workload),
    ),
    DoctorCheck(
        "queue-unused",
        CheckSeverity.HINT,
        "unused ClusterQueue",
        "its quota is reserved but unusable",
        _pointless,
        (ClusterQueue,),
        whole=(LocalQueue,),
    ),
    DoctorCheck(
        "flavor-unused",
        CheckSeverity.HINT,
        "ResourceFlavor without quota",
        "nothing is admitted to it; the flavor name in a queue may be misspelled",
        _unused_flavors,
        (ResourceFlavor, ClusterQueue, Cohort),
    ),
)
