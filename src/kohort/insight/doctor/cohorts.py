"""Cohorts in which nothing is shared, and preemption that costs long runs."""

from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from typing import Final

from kohort.api.amounts import subtract
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort, Workload
from kohort.engine.hierarchy import ClusterQueueNode, CohortNode
from kohort.engine.lifecycle.conditions import ADMITTED
from kohort.engine.quota import NO_QUOTA, FlavorResource, Quota
from kohort.engine.record_builders import quotas_of
from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import AffectedObject, Check, CheckSeverity, Subject
from kohort.insight.doctor.text import counted, lasting, listed

LONG_RUN: Final = timedelta(hours=1)
"""How long a job must have run for its eviction to hurt."""
_SERVING: Final = ("StatefulSet", "Deployment", "ReplicaSet", "LeaderWorkerSet", "RayCluster", "Notebook")
"""Owners whose pods can't be put off without somebody noticing."""


def _never_borrowing(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """A queue joins a cohort to borrow or to lend; who can do neither might as well leave."""
    for queue in facts.all(ClusterQueue):
        name, cohort = queue.metadata.name, queue.spec.cohort_name
        quotas = quotas_of(queue.spec.resource_groups)
        if not cohort or not quotas or facts.forest.queues[name].is_cyclic:
            continue
        if _borrowable(facts, name):
            continue
        why, fix = _why_not(facts, name, cohort, quotas)
        yield AffectedObject(Subject("ClusterQueue", name), f"can borrow nothing from cohort {cohort}: {why}", fix)


def _why_not(facts: ClusterFacts, name: str, cohort: str, quotas: dict[FlavorResource, Quota]) -> tuple[str, str]:
    if all(quota.borrowing_limit == 0 for quota in quotas.values()):
        return "borrowingLimit is 0 everywhere", "raise borrowingLimit, if it is not meant to lend only"
    node = facts.forest.queues[name]
    others = [each for each in _queues_around(node) if each.name != name]
    if not others:
        return "it is alone there", f"set spec.cohortName: {cohort} in the other queues too, or leave it out here"
    alike = [each for each in others if each.quotas.keys() & quotas.keys()]
    if not alike:
        return (
            f"{listed(each.name for each in others)} has quota in other flavors or resources only",
            "use the same flavors in all queues of a cohort",
        )
    return (
        f"{listed(each.name for each in alike)} lends nothing (lendingLimit 0, or no quota)",
        "raise their lendingLimit, or leave it out to lend everything",
    )


def _queues_around(node: ClusterQueueNode) -> Iterable[ClusterQueueNode]:
    top = node.top()
    return top.all_queues() if isinstance(top, CohortNode) else ()


def _circles(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for cohort in facts.all(Cohort):
        node = facts.forest.cohorts.get(cohort.metadata.name)
        if node is not None and node.is_cyclic:
            problem = f"following spec.parentName from {cohort.spec.parent_name} on never ends"
            fix = "take spec.parentName out of the one that should be the root"
            yield AffectedObject(Subject("Cohort", cohort.metadata.name), problem, fix)


def _without_members(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for cohort in facts.all(Cohort):
        node = facts.forest.cohorts.get(cohort.metadata.name)
        if node is None or node.is_cyclic or not cohort.spec.resource_groups:
            continue
        if not any(True for _ in node.all_queues()) and node.parent is None:
            fix = f"set spec.cohortName: {cohort.metadata.name} in the queues that should borrow it"
            yield AffectedObject(
                Subject("Cohort", cohort.metadata.name), "has quota, and no ClusterQueue below it", fix
            )


# Preemption


def _long_runs_at_risk(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Who borrows gives way to any lender that reclaims; each queue is told of once, with the lenders."""
    for queue in facts.all(ClusterQueue):
        name = queue.metadata.name
        long = [each for each in facts.running_in.get(name, ()) if facts.since(each, ADMITTED) >= LONG_RUN]
        borrowed = _borrowed(facts, name) if long else set()
        takers = _reclaimers(facts, name, borrowed) if borrowed else []
        if takers:
            longest = max(facts.since(each, ADMITTED) for each in long)
            problem = (
                f"uses borrowed quota, and {counted(len(long), 'of its workloads has', 'of its workloads have')} run "
                f"for more than {lasting(LONG_RUN)} (the longest for {lasting(longest)}); {listed(takers)} may take "
                f"it back at any time"
            )
            fix = (
                "write checkpoints; or keep long runs within nominalQuota; or set preemption.reclaimWithinCohort: "
                f"LowerPriority in {listed(takers)} and give long runs a higher priority class"
            )
            yield AffectedObject(Subject("ClusterQueue", name), problem, fix)


def _borrowed(facts: ClusterFacts, name: str) -> set[FlavorResource]:
    """Of what its running workloads use more than is its own."""
    used: dict[FlavorResource, int] = {}
    for workload in facts.running_in.get(name, ()):
        for of, amount in facts.usage_of(workload).items():
            used[of] = used.get(of, 0) + amount
    quotas = facts.forest.queues[name].quotas
    return {of for of, amount in used.items() if amount > quotas.get(of, NO_QUOTA).nominal}


def _reclaimers(facts: ClusterFacts, name: str, borrowed: Collection[FlavorResource]) -> list[str]:
    """Other queues of the tree that own such quota, and take it back from whoever borrowed it."""
    node = facts.forest.queues[name]
    if node.is_cyclic:
        return []
    owners = [each for each in _queues_around(node) if any(each.quotas.get(of, NO_QUOTA).nominal for of in borrowed)]
    others = (each.name for each in owners if each.name != name)
    return [each for each in others if facts.cluster_queues[each].spec.preemption.reclaim_within_cohort != "Never"]


def _serving_at_risk(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for queue in facts.all(ClusterQueue):
        name, preemption = queue.metadata.name, queue.spec.preemption
        serving = [each for each in facts.running_in.get(name, ()) if _serves(each)]
        if not serving:
            continue
        takers = _reclaimers(facts, name, _borrowable(facts, name))
        ways = [f"withinClusterQueue is {preemption.within_cluster_queue}"]
        ways = ways if preemption.within_cluster_queue != "Never" else []
        ways += [f"{listed(takers)} may reclaim what it borrows"] if takers else []
        if ways:
            told = f"{counted(len(serving), 'workload', 'workloads')} ({listed(map(_owner, serving))}) may be evicted"
            fix = "move them to a queue outside the cohort with preemption.withinClusterQueue: Never"
            yield AffectedObject(Subject("ClusterQueue", name), f"{told}: {' and '.join(ways)}", fix)


def _borrowable(facts: ClusterFacts, name: str) -> list[FlavorResource]:
    """Of what it could use more than is its own."""
    quotas = facts.forest.queues[name].quotas
    return [of for of, quota in quotas.items() if subtract(facts.most(name, of), quota.nominal) > 0]


def _serves(workload: Workload) -> bool:
    """Whether it is there to stay: by its owner or, for pods of a Deployment, by pods that are always restarted."""
    owners = {owner.kind for owner in workload.metadata.owner_references}
    if owners & {*_SERVING}:
        return True
    return "Pod" in owners and any(each.pod_template.spec.restart_policy == "Always" for each in workload.spec.pod_sets)


def _owner(workload: Workload) -> str:
    owners = sorted(workload.metadata.owner_references, key=lambda owner: owner.kind not in _SERVING)
    return f"{owners[0].kind} {workload.metadata.namespace}/{owners[0].name}"


CHECKS = (
    Check(
        "never-borrows",
        CheckSeverity.WARNING,
        "a ClusterQueue in a cohort that can never borrow",
        "it waits beside quota that stands idle, though the cohort was made to share it",
        _never_borrowing,
        (ClusterQueue, Cohort),
    ),
    Check(
        "cohort-cycle",
        CheckSeverity.ERROR,
        "cohorts that are each other's parents",
        "nothing is admitted in the whole tree",
        _circles,
        (ClusterQueue, Cohort),
    ),
    Check(
        "cohort-unused",
        CheckSeverity.HINT,
        "a Cohort with quota and no queues",
        "nobody can borrow the quota that it brings",
        _without_members,
        (ClusterQueue, Cohort),
    ),
    Check(
        "long-runs-preemptible",
        CheckSeverity.WARNING,
        "long runs on borrowed quota that a lender may take back",
        "an eviction ends all their pods at once; what was not saved since the last checkpoint is lost",
        _long_runs_at_risk,
        (ClusterQueue, Cohort),
        whole=(Workload,),
    ),
    Check(
        "serving-preemptible",
        CheckSeverity.WARNING,
        "notebooks or services in a queue that may evict them",
        "they can't be paused and go on later: who works with them is thrown out",
        _serving_at_risk,
        (ClusterQueue, Cohort, Workload),
    ),
)
