"""Queues that lead nowhere, let nobody in, stand still, or are nobody's."""

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
from kohort.insight.doctor.model import AffectedObject, Check, CheckSeverity, Subject
from kohort.insight.doctor.text import counted, lasting, listed
from kohort.terminal.nearest import did_you_mean

NEW: Final = timedelta(minutes=1)
"""How long a manager may take to look at a queue."""
_TOLD_ELSEWHERE = ("Stopped", "AdmissionCheckInactive")
"""Causes that have a check of their own."""


def _leading_nowhere(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for queue in facts.all(LocalQueue):
        target = queue.spec.cluster_queue or ""
        if target in facts.cluster_queues:
            continue
        subject = _local(queue)
        waiting = _waiting_text(facts, queue)
        if not target:
            yield AffectedObject(subject, f"names no ClusterQueue{waiting}", "set spec.clusterQueue")
            continue
        problem = f"there is no ClusterQueue {target} ({did_you_mean(target, facts.cluster_queues)}){waiting}"
        yield AffectedObject(
            subject,
            problem,
            f"create ClusterQueue {target}; or delete this one and create it anew, as the field is fixed",
        )


def _waiting_text(facts: ClusterFacts, queue: LocalQueue) -> str:
    waiting = facts.waiting_in.get((queue.metadata.namespace, queue.metadata.name), ())
    return f"; {counted(len(waiting), 'workload waits', 'workloads wait')} in it" if waiting else ""


def _open_to_nobody(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for queue in facts.all(ClusterQueue):
        if queue.spec.namespace_selector is None:
            feeders = facts.feeders.get(queue.metadata.name, ())
            told = f", not even {listed(each.metadata.namespace for each in feeders)}" if feeders else ""
            problem = f"has no spec.namespaceSelector, which lets no namespace in{told}"
            fix = _patch(queue, '{"spec":{"namespaceSelector":{}}}')
            yield AffectedObject(_cluster(queue), problem, f"let all in: {fix}")


def _not_selected(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for queue in facts.all(ClusterQueue):
        if queue.spec.namespace_selector is None:
            continue
        selector = compile_selector(queue.spec.namespace_selector)
        for local in facts.feeders.get(queue.metadata.name, ()):
            namespace = facts.namespaces.get(local.metadata.namespace)
            if namespace is not None and not selector.matches(namespace.metadata.labels):
                name = namespace.metadata.name
                problem = f"the namespaceSelector of ClusterQueue {queue.metadata.name} does not match namespace {name}"
                fix = f"kubectl label namespace {name} … as spec.namespaceSelector asks, or widen the selector"
                yield AffectedObject(_local(local), problem + _waiting_text(facts, local), fix)


def _inactive(facts: ClusterFacts) -> Iterator[AffectedObject]:
    known = QueueReferences(facts.flavors, facts.checks, facts.topologies)
    for queue in facts.all(ClusterQueue):
        causes = [each for each in inactivity_causes(queue, known) if each.reason not in _TOLD_ELSEWHERE]
        if causes:
            fix = "create what is missing, or take its name out of the spec"
            yield AffectedObject(_cluster(queue), "; ".join(cause.text for cause in causes), fix)


def _stopped_with_work(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for local in facts.all(LocalQueue):
        waiting = facts.waiting_in.get((local.metadata.namespace, local.metadata.name), [])
        if local.spec.stop_policy != "None" and waiting:
            policy = f"spec.stopPolicy is {local.spec.stop_policy}"
            fix = (
                f"kubectl patch localqueue {local.metadata.name} -n {local.metadata.namespace} --type merge "
                f"""-p '{{"spec":{{"stopPolicy":"None"}}}}'"""
            )
            yield AffectedObject(_local(local), f"{policy}; {_wait(facts, waiting)}", fix)
    for queue in facts.all(ClusterQueue):
        feeders = facts.feeders.get(queue.metadata.name, ())
        places = [(each.metadata.namespace, each.metadata.name) for each in feeders]
        waiting = [each for place in places for each in facts.waiting_in.get(place, ())]
        if queue.spec.stop_policy != "None" and waiting:
            problem = f"spec.stopPolicy is {queue.spec.stop_policy}; {_wait(facts, waiting)}"
            yield AffectedObject(_cluster(queue), problem, _patch(queue, '{"spec":{"stopPolicy":"None"}}'))


def _wait(facts: ClusterFacts, waiting: list[Workload]) -> str:
    number = counted(len(waiting), "workload waits", "workloads wait")
    return f"{number}, the oldest for {lasting(oldest(facts, waiting))}"


def _unanswered_checks(facts: ClusterFacts) -> Iterator[AffectedObject]:
    users = Counter(name for queue in facts.all(ClusterQueue) for name in check_names(queue))
    for check in facts.all(AdmissionCheck):
        if is_true(check.status.conditions, ACTIVE):
            continue
        name, said = check.metadata.name, find(check.status.conditions, ACTIVE)
        controller = check.spec.controller_name if check.spec else "nobody"
        why = f"says no: {said.message}" if said else f"never took it up ({controller})"
        used = (
            f"; {counted(users[name], 'ClusterQueue is', 'ClusterQueues are')} inactive for it" if users[name] else ""
        )
        missing = check_message(controller)
        fix = (
            "take the check out of spec.admissionChecksStrategy of the queues, or have Kueue manage them"
            if missing
            else f"run the controller {controller} and look at its logs, or take the check out of the queues"
        )
        yield AffectedObject(Subject("AdmissionCheck", name), f"{missing or f'its controller {why}'}{used}", fix)


def _pointless(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """A queue of a cohort may be there to lend only."""
    for queue in facts.all(ClusterQueue):
        if queue.metadata.name not in facts.feeders and not queue.spec.cohort_name:
            name = queue.metadata.name
            fix = f"create a LocalQueue with spec.clusterQueue {name}, or: kubectl delete clusterqueue {name}"
            yield AffectedObject(_cluster(queue), "no LocalQueue points to it, and it is in no cohort to lend to", fix)


def _unused_flavors(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for flavor in facts.all(ResourceFlavor):
        name = flavor.metadata.name
        if name not in facts.quota_owners:
            fix = f"give it quota in a ClusterQueue, or: kubectl delete resourceflavor {name}"
            yield AffectedObject(Subject("ResourceFlavor", name), "no ClusterQueue and no Cohort has quota in it", fix)


def _strictly_blocked(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for queue in facts.all(ClusterQueue):
        if queue.spec.queueing_strategy != "StrictFIFO":
            continue
        places = [(each.metadata.namespace, each.metadata.name) for each in facts.feeders.get(queue.metadata.name, ())]
        waiting = sum(len(facts.waiting_in.get(place, ())) for place in places)
        if waiting > 1:
            problem = (
                f"with StrictFIFO the first of {waiting} that wait holds up the others, whether they would fit or not"
            )
            fix = _patch(queue, '{"spec":{"queueingStrategy":"BestEffortFIFO"}}')
            yield AffectedObject(_cluster(queue), problem, fix)


def _nobody_at_work(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """A manager writes the condition Active of every queue within seconds; of a new one, nobody can tell yet."""
    queues = [each for each in facts.all(ClusterQueue) if facts.age_of(each) >= NEW]
    if queues and not any(find(each.status.conditions, ACTIVE) for each in queues):
        problem = (
            f"none of {counted(len(queues), 'ClusterQueue')} has a condition Active: no manager has looked at them"
        )
        fix = (
            "start one: `kohort install | kubectl apply --server-side -f -`, or `kohort manager`; then look at its logs"
        )
        yield AffectedObject(Subject("ClusterQueue", queues[0].metadata.name), problem, fix)


def _patch(queue: ClusterQueue, change: str) -> str:
    return f"kubectl patch clusterqueue {queue.metadata.name} --type merge -p '{change}'"


def _cluster(queue: ClusterQueue) -> Subject:
    return Subject("ClusterQueue", queue.metadata.name)


def _local(queue: LocalQueue) -> Subject:
    return Subject("LocalQueue", queue.metadata.name, queue.metadata.namespace)


CHECKS = (
    Check(
        "local-queue-nowhere",
        CheckSeverity.ERROR,
        "a LocalQueue that points to no ClusterQueue",
        "whatever is submitted to it waits for ever",
        _leading_nowhere,
        (LocalQueue, ClusterQueue),
    ),
    Check(
        "no-namespace-selector",
        CheckSeverity.ERROR,
        "a ClusterQueue without a namespaceSelector",
        "an absent selector matches no namespace, so nothing is ever admitted; an empty one, {}, matches all",
        _open_to_nobody,
        (ClusterQueue,),
    ),
    Check(
        "namespace-not-selected",
        CheckSeverity.ERROR,
        "a LocalQueue in a namespace that its ClusterQueue does not select",
        "nothing from that namespace is ever admitted",
        _not_selected,
        (LocalQueue, ClusterQueue),
        whole=(Namespace,),
    ),
    Check(
        "queue-inactive",
        CheckSeverity.ERROR,
        "a ClusterQueue that names a flavor, check or topology which does not exist",
        "it admits nothing until all of them are there",
        _inactive,
        (ClusterQueue, ResourceFlavor, AdmissionCheck, Topology),
    ),
    Check(
        "check-without-controller",
        CheckSeverity.ERROR,
        "an AdmissionCheck that no controller has taken up",
        "queues that name it are inactive, and workloads wait for an answer that nobody gives",
        _unanswered_checks,
        (AdmissionCheck, ClusterQueue),
    ),
    Check(
        "no-manager",
        CheckSeverity.ERROR,
        "queues that no manager looks after",
        "nothing is admitted, and nobody says so",
        _nobody_at_work,
        (ClusterQueue,),
    ),
    Check(
        "stopped-with-work",
        CheckSeverity.WARNING,
        "a stopped queue in which work waits",
        "it was perhaps stopped for an hour and forgotten; its users see no more than Pending",
        _stopped_with_work,
        (LocalQueue, ClusterQueue, Workload),
    ),
    Check(
        "strict-fifo-blocked",
        CheckSeverity.HINT,
        "a StrictFIFO queue in which several wait",
        "a large job at the head keeps small ones out of room that stays empty",
        _strictly_blocked,
        (LocalQueue, ClusterQueue, Workload),
    ),
    Check(
        "queue-unused",
        CheckSeverity.HINT,
        "a ClusterQueue that nobody can use",
        "its quota is promised to nobody, and counts as if it were",
        _pointless,
        (ClusterQueue,),
        whole=(LocalQueue,),
    ),
    Check(
        "flavor-unused",
        CheckSeverity.HINT,
        "a ResourceFlavor without quota",
        "nothing is ever admitted to it; often the name in a queue is spelt otherwise",
        _unused_flavors,
        (ResourceFlavor, ClusterQueue, Cohort),
    ),
)
