"""Checks for cohorts without sharing, and for preemption of long-running or serving workloads."""

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
from kohort.insight.doctor.model import AffectedObject, CheckSeverity, DoctorCheck, Subject
from kohort.insight.doctor.text import lasting, listed
from kohort.jobs.builtin import built_in_frameworks
from kohort.terminal.counts import counted

LONG_RUN: Final = timedelta(hours=1)
"""How long a job must have run to be reported."""
_SERVING: Final = frozenset(each.resource.kind for each in built_in_frameworks() if not each.runs_to_completion)
"""Owners of serving pods, whose preemption interrupts users."""


def _never_borrowing(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Queues of a cohort that cannot borrow anything."""
    for queue in facts.all(ClusterQueue):
        name, cohort = queue.metadata.name, queue.spec.cohort_name
        quotas = quotas_of(queue.spec.resource_groups)
        if not cohort or not quotas or facts.forest.queues[name].is_cyclic:
            continue
        if _borrowable(facts, name):
            continue
        why, fix = _why_not(facts, name, cohort, quotas)
        yield AffectedObject(Subject("ClusterQueue", name), f"cannot borrow from cohort {cohort}: {why}", fix)


def _why_not(facts: ClusterFacts, name: str, cohort: str, quotas: dict[FlavorResource, Quota]) -> tuple[str, str]:
    if all(quota.borrowing_limit == 0 for quota in quotas.values()):
        return "borrowingLimit is 0 in all flavors", "raise borrowingLimit, unless it should only lend"
    node = facts.forest.queues[name]
    others = [each for each in _queues_around(node) if each.name != name]
    if not others:
        return "it is the only member", f"set spec.cohortName: {cohort} in the other queues too, or remove it here"
    alike = [each for each in others if each.quotas.keys() & quotas.keys()]
    if not alike:
        return (
            f"{listed(each.name for each in others)} has quota in other flavors or resources only",
            "use the same flavors in all queues of a cohort",
        )
    return (
        f"{listed(each.name for each in alike)} lends nothing (lendingLimit 0, or no quota)",
        "raise their lendingLimit, or remove it to lend everything",
    )


def _queues_around(node: ClusterQueueNode) -> Iterable[ClusterQueueNode]:
    top = node.top()
    return top.all_queues() if isinstance(top, CohortNode) else ()


def _cycles(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for cohort in facts.all(Cohort):
        node = facts.forest.cohorts.get(cohort.metadata.name)
        if node is not None and node.is_cyclic:
            problem = f"spec.parentName: {cohort.spec.parent_name} is part of a cycle"
            fix = "remove spec.parentName from the Cohort that should be the root"
            yield AffectedObject(Subject("Cohort", cohort.metadata.name), problem, fix)


def _without_members(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for cohort in facts.all(Cohort):
        node = facts.forest.cohorts.get(cohort.metadata.name)
        if node is None or node.is_cyclic or not cohort.spec.resource_groups:
            continue
        if not any(True for _ in node.all_queues()) and node.parent is None:
            fix = f"set spec.cohortName: {cohort.metadata.name} in the queues that should borrow from it"
            yield AffectedObject(Subject("Cohort", cohort.metadata.name), "has quota, but no ClusterQueue", fix)


# Preemption


def _long_runs_at_risk(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """Queues with long-running workloads on borrowed quota, and the queues that can reclaim it."""
    for queue in facts.all(ClusterQueue):
        name = queue.metadata.name
        long = [each for each in facts.running_in.get(name, ()) if facts.since(each, ADMITTED) >= LONG_RUN]
        borrowed = _borrowed(facts, name) if long else set()
        takers = _reclaimers(facts, name, borrowed) if borrowed else []
        if takers:
            longest = max(facts.since(each, ADMITTED) for each in long)
            problem = (
                f"uses borrowed quota that {listed(takers)} can reclaim at any time; "
                f"{counted(len(long), 'workload has', 'workloads have')} been running for more than "
                f"{lasting(LONG_RUN)} (longest: {lasting(longest)})"
            )
            fix = (
                "use checkpoints; or keep long-running jobs within nominalQuota; or set "
                f"preemption.reclaimWithinCohort: LowerPriority in {listed(takers)} and use a higher priority class"
            )
            yield AffectedObject(Subject("ClusterQueue", name), problem, fix)


def _borrowed(facts: ClusterFacts, name: str) -> set[FlavorResource]:
    """Flavor-resources of which its running workloads use more than the nominal quota."""
    used: dict[FlavorResource, int] = {}
    for workload in facts.running_in.get(name, ()):
        for of, amount in facts.usage_of(workload).items():
            used[of] = used.get(of, 0) + amount
    quotas = facts.forest.queues[name].quotas
    return {of for of, amount in used.items() if amount > quotas.get(of, NO_QUOTA).nominal}


def _reclaimers(facts: ClusterFacts, name: str, borrowed: Collection[FlavorResource]) -> list[str]:
    """Other queues of the tree that have nominal quota of these and can reclaim it."""
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
        causes = [f"withinClusterQueue is {preemption.within_cluster_queue}"]
        causes = causes if preemption.within_cluster_queue != "Never" else []
        causes += [f"{listed(takers)} can reclaim what it borrows"] if takers else []
        if causes:
            names = listed(map(_owner, serving))
            problem = f"{counted(len(serving), 'workload', 'workloads')} ({names}) can be preempted"
            fix = "move them to a queue outside the cohort with preemption.withinClusterQueue: Never"
            yield AffectedObject(Subject("ClusterQueue", name), f"{problem}: {' and '.join(causes)}", fix)


def _borrowable(facts: ClusterFacts, name: str) -> list[FlavorResource]:
    """Flavor-resources that it can borrow."""
    quotas = facts.forest.queues[name].quotas
    return [of for of, quota in quotas.items() if subtract(facts.most(name, of), quota.nominal) > 0]


def _serves(workload: Workload) -> bool:
    """Whether it is a service: by its owner or, for pods of a Deployment, by restartPolicy Always."""
    owners = {owner.kind for owner in workload.metadata.owner_references}
    if owners & _SERVING:
        return True
    return "Pod" in owners and any(each.pod_template.spec.restart_policy == "Always" for each in workload.spec.pod_sets)


def _owner(workload: Workload) -> str:
    owners = sorted(workload.metadata.owner_references, key=lambda owner: owner.kind not in _SERVING)
    return f"{owners[0].kind} {workload.metadata.namespace}/{owners[0].name}"


CHECKS = (
    DoctorCheck(
        "never-borrows",
        CheckSeverity.WARNING,
        "ClusterQueue of a cohort that can never borrow",
        "it cannot use idle quota of its cohort",
        _never_borrowing,
        (ClusterQueue, Cohort),
    ),
    DoctorCheck(
        "cohort-cycle",
        CheckSeverity.ERROR,
        "cycle of cohorts",
        "nothing is admitted in the whole tree",
        _cycles,
        (ClusterQueue, Cohort),
    ),
    DoctorCheck(
        "cohort-unused",
        CheckSeverity.HINT,
        "Cohort with quota but without queues",
        "its quota cannot be borrowed",
        _without_members,
        (ClusterQueue, Cohort),
    ),
    DoctorCheck(
        "long-runs-preemptible",
        CheckSeverity.WARNING,
        "long-running workloads on borrowed quota",
        "preemption terminates all their pods; progress since the last checkpoint is lost",
        _long_runs_at_risk,
        (ClusterQueue, Cohort),
        whole=(Workload,),
    ),
    DoctorCheck(
        "serving-preemptible",
        CheckSeverity.WARNING,
        "notebooks or services that can be preempted",
        "users lose their session",
        _serving_at_risk,
        (ClusterQueue, Cohort, Workload),
    ),
)
