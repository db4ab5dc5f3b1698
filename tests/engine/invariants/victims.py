"""Checks victims: none that a policy protects, none that is not needed (SCH-602 to SCH-633, SCH-720)."""

from collections.abc import Iterator
from typing import NamedTuple

from kohort.engine.hierarchy import HierarchyNode
from kohort.engine.preemption import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_FAIR_SHARING,
    IN_COHORT_RECLAIM_WHILE_BORROWING,
    IN_COHORT_RECLAMATION,
)
from kohort.engine.preemption_policy import PreemptionTarget
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.usage_request import UsageRequest, fits, released


class VictimSearch(NamedTuple):
    """A search for victims and what it found."""

    preemptor: WorkloadInfo
    queue: ClusterQueueInfo
    request: UsageRequest
    targets: list[PreemptionTarget]
    by_share: bool
    """Whether fair sharing is on."""


def wrong_victims(search: VictimSearch) -> list[str]:
    """Everything that is wrong with the victims of a search."""
    return [*_forbidden(search), *_needless(search)]


# Policies


def _forbidden(search: VictimSearch) -> Iterator[str]:
    for target in search.targets:
        victim = target.workload
        if victim.queue is None or not victim.queue.is_active or victim.key not in victim.queue.holders:
            yield f"{victim.key} is not there to be preempted"
        elif search.request.needs.isdisjoint(victim.usage):
            yield f"{victim.key} has nothing of what {search.preemptor.key} needs"
        elif not _allows(search, target, victim.queue):
            yield f"{search.preemptor.key} may not preempt {victim.key} by {target.reason}"


def _allows(search: VictimSearch, target: PreemptionTarget, donor: ClusterQueueInfo) -> bool:
    policies = search.queue.policies
    if target.reason == IN_CLUSTER_QUEUE:
        return donor is search.queue and _passes(policies.within_queue, search.preemptor, target.workload)
    if not _borrows_in_the_tree(search, donor) or not _passes(policies.reclaim, search.preemptor, target.workload):
        return False
    if target.reason == IN_COHORT_RECLAMATION:
        return search.by_share or _ends_within_nominal(search) or _has_advantage(search, donor)
    if target.reason == IN_COHORT_RECLAIM_WHILE_BORROWING:
        return not search.by_share and _is_below_threshold(search, target.workload)
    return search.by_share and target.reason == IN_COHORT_FAIR_SHARING


def _passes(policy: str, preemptor: WorkloadInfo, victim: WorkloadInfo) -> bool:
    """SCH-603."""
    if policy == "LowerOrNewerEqualPriority" and preemptor.priority == victim.priority:
        mine, theirs = preemptor.queued_at, victim.queued_at
        return mine is not None and theirs is not None and mine < theirs
    return policy == "Any" or (policy != "Never" and victim.priority < preemptor.priority)


def _is_below_threshold(search: VictimSearch, victim: WorkloadInfo) -> bool:
    """SCH-613."""
    policies = search.queue.policies
    if policies.borrow_policy == "Never" or victim.priority >= search.preemptor.priority:
        return False
    return policies.borrow_threshold is None or victim.priority <= policies.borrow_threshold


def _borrows_in_the_tree(search: VictimSearch, donor: ClusterQueueInfo) -> bool:
    """Whether the donor is another queue of the tree that has borrowed something that is needed (SCH-611, SCH-720)."""
    mine, theirs = search.queue.node.parent, donor.node.parent
    if donor is search.queue or mine is None or theirs is None or mine.root() is not theirs.root():
        return False
    return any(fr in donor.node.cells and donor.node.cells[fr].borrows_with(0) for fr in search.request.needs)


def _has_advantage(search: VictimSearch, donor: ClusterQueueInfo) -> bool:
    """Whether some node below the cohort that both share can hold the request by itself (SCH-611, SCH-612)."""
    shared = {id(cohort) for cohort in donor.node.ancestors()}
    node: HierarchyNode | None = search.queue.node
    rest = dict(search.request.quota)
    while node is not None and id(node) not in shared:
        if all(node.cells[fr].usage + amount <= node.cells[fr].subtree for fr, amount in rest.items()):
            return True
        rest = {fr: max(0, amount - node.cells[fr].local_available) for fr, amount in rest.items()}
        node = node.parent
    return False


# Need


def _needless(search: VictimSearch) -> Iterator[str]:
    """Victims that are not needed; all of them if they do not suffice (SCH-632, SCH-633)."""
    victims = [target.workload for target in search.targets]
    if not victims:
        return
    with released(victims):
        if not fits(search.queue, search.request):
            yield f"{search.preemptor.key} does not fit even without {victims}"
        borrows = not _is_within_nominal(search)
        for victim in victims:
            victim.hold()
            if fits(search.queue, search.request) and (borrows or _is_within_nominal(search)):
                yield f"{search.preemptor.key} fits although {victim.key} stays"
            victim.release()


def _ends_within_nominal(search: VictimSearch) -> bool:
    """Whether the preemptor borrows nothing once its victims are gone."""
    with released([target.workload for target in search.targets]):
        return _is_within_nominal(search)


def _is_within_nominal(search: VictimSearch) -> bool:
    cells = search.queue.node.cells
    return all(cells[fr].usage + amount <= cells[fr].nominal for fr, amount in search.request.quota.items())
