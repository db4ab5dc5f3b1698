"""Namespace quotas of Kubernetes beside the quotas of queues: the smaller one wins, and only one of them says so."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kohort.api.amounts import UNLIMITED, add, format_amount, to_amount
from kohort.api.core.namespaces import ResourceQuota
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort, LocalQueue
from kohort.api.markers import ResourceList
from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import AffectedObject, Check, CheckSeverity, Subject
from kohort.insight.doctor.text import listed

_REQUESTS: Final = "requests."
_SHORT: Final = ("cpu", "memory", "ephemeral-storage")
"""Resources whose requests a ResourceQuota may also name bare."""


class ReachableQuota(NamedTuple):
    """What the queues of a namespace could give, over all their flavors."""

    nominal: int = 0
    most: int = 0
    """With everything borrowed that could ever be borrowed."""
    queues: tuple[str, ...] = ()


def _below_nominal(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for quota, resource, hard, reach in _limits(facts):
        if hard < reach.nominal < UNLIMITED:
            given = f"{format_amount(resource, reach.nominal)} of nominalQuota"
            yield _sighting(quota, resource, hard, f"{given} in {listed(reach.queues)}")


def _below_borrowing(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """What only borrowing takes beyond the limit."""
    for quota, resource, hard, reach in _limits(facts):
        if reach.nominal <= hard < reach.most < UNLIMITED:
            given = f"up to {format_amount(resource, reach.most)}, borrowing included,"
            yield _sighting(quota, resource, hard, f"{given} in {listed(reach.queues)}")


def _sighting(quota: ResourceQuota, resource: str, hard: int, queues: str) -> AffectedObject:
    metadata = quota.metadata
    problem = (
        f"lets pods request {format_amount(resource, hard)} {resource}, and the queues of the namespace have {queues}"
    )
    fix = (
        f"leave {resource} to the queues: take it out of spec.hard, or raise it: "
        f"kubectl edit resourcequota {metadata.name} -n {metadata.namespace}"
    )
    return AffectedObject(Subject("ResourceQuota", metadata.name, metadata.namespace), problem, fix)


def _limits(facts: ClusterFacts) -> Iterator[tuple[ResourceQuota, str, int, ReachableQuota]]:
    """Which resources the ResourceQuotas of namespaces with queues limit, at how much, and what the queues have."""
    reaches: dict[str, dict[str, ReachableQuota]] = {}
    for quota in facts.all(ResourceQuota):
        namespace = quota.metadata.namespace
        if quota.spec.scopes or quota.spec.scope_selector or namespace not in facts.queues_of_namespace:
            continue
        if namespace not in reaches:
            reaches[namespace] = _reach(facts, namespace)
        for resource, hard in sorted(_requested(quota.spec.hard).items()):
            yield quota, resource, hard, reaches[namespace].get(resource, ReachableQuota())


def _reach(facts: ClusterFacts, namespace: str) -> dict[str, ReachableQuota]:
    """By resource; a ClusterQueue counts once, however many LocalQueues lead to it."""
    found: dict[str, ReachableQuota] = {}
    for name in sorted({each.spec.cluster_queue or "" for each in facts.queues_of_namespace[namespace]}):
        node = facts.forest.queues.get(name)
        for of, quota in node.quotas.items() if node is not None and not node.is_cyclic else ():
            before = found.get(of.resource, ReachableQuota())
            nominal, most = add(before.nominal, quota.nominal), add(before.most, facts.most(name, of))
            found[of.resource] = ReachableQuota(nominal, most, (*before.queues, name))
    return found


def _requested(hard: ResourceList) -> dict[str, int]:
    """Limits on what pods request, by resource; of two for one resource, the lower."""
    found: dict[str, int] = {}
    for key, quantity in hard.items():
        resource = key.removeprefix(_REQUESTS) if key.startswith(_REQUESTS) else key if key in _SHORT else ""
        if resource:
            amount = to_amount(resource, quantity)
            found[resource] = min(amount, found.get(resource, amount))
    return found


CHECKS = (
    Check(
        "resource-quota-below-queue",
        CheckSeverity.WARNING,
        "a namespace ResourceQuota below the quota of its queues",
        "jobs are admitted, and then the API server refuses their pods: they hold quota and do not run",
        _below_nominal,
        (ResourceQuota, LocalQueue, ClusterQueue, Cohort),
    ),
    Check(
        "resource-quota-below-borrowing",
        CheckSeverity.HINT,
        "a namespace ResourceQuota below what its queues may borrow",
        "as long as a job borrows beyond it, the API server refuses some of its pods",
        _below_borrowing,
        (ResourceQuota, LocalQueue, ClusterQueue, Cohort),
    ),
)
