"""Checks for ResourceQuotas of namespaces that are lower than the quota of their queues."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kohort.api.amounts import UNLIMITED, add, format_amount, to_amount
from kohort.api.core.namespaces import ResourceQuota
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort, LocalQueue
from kohort.api.markers import ResourceList
from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import AffectedObject, CheckSeverity, DoctorCheck, Subject
from kohort.insight.doctor.text import listed

_REQUESTS: Final = "requests."
_SHORT: Final = ("cpu", "memory", "ephemeral-storage")
"""Resources that a ResourceQuota may also list without the prefix `requests.`."""


class ReachableQuota(NamedTuple):
    """Quota of the queues of a namespace, over all flavors."""

    nominal: int = 0
    most: int = 0
    """Including everything that could be borrowed."""
    queues: tuple[str, ...] = ()


def _below_nominal(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for quota, resource, hard, reach in _limits(facts):
        if hard < reach.nominal < UNLIMITED:
            given = f"{format_amount(resource, reach.nominal)} of nominalQuota"
            yield _affected(quota, resource, hard, f"{given} in {listed(reach.queues)}")


def _below_borrowing(facts: ClusterFacts) -> Iterator[AffectedObject]:
    """What only borrowing takes beyond the limit."""
    for quota, resource, hard, reach in _limits(facts):
        if reach.nominal <= hard < reach.most < UNLIMITED:
            given = f"up to {format_amount(resource, reach.most)}, borrowing included,"
            yield _affected(quota, resource, hard, f"{given} in {listed(reach.queues)}")


def _affected(quota: ResourceQuota, resource: str, hard: int, queues: str) -> AffectedObject:
    metadata = quota.metadata
    problem = (
        f"limits requests to {format_amount(resource, hard)} {resource}, but the queues of the namespace have {queues}"
    )
    fix = (
        f"remove {resource} from spec.hard, or raise it: "
        f"kubectl edit resourcequota {metadata.name} -n {metadata.namespace}"
    )
    return AffectedObject(Subject("ResourceQuota", metadata.name, metadata.namespace), problem, fix)


def _limits(facts: ClusterFacts) -> Iterator[tuple[ResourceQuota, str, int, ReachableQuota]]:
    """Limits of ResourceQuotas in namespaces with queues, and the quota of these queues."""
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
    """Reachable quota by resource; a ClusterQueue counts once."""
    found: dict[str, ReachableQuota] = {}
    for name in sorted({each.spec.cluster_queue or "" for each in facts.queues_of_namespace[namespace]}):
        node = facts.forest.queues.get(name)
        for of, quota in node.quotas.items() if node is not None and not node.is_cyclic else ():
            before = found.get(of.resource, ReachableQuota())
            nominal, most = add(before.nominal, quota.nominal), add(before.most, facts.most(name, of))
            found[of.resource] = ReachableQuota(nominal, most, (*before.queues, name))
    return found


def _requested(hard: ResourceList) -> dict[str, int]:
    """Limits of requests by resource; the lower one of two for the same resource."""
    found: dict[str, int] = {}
    for key, quantity in hard.items():
        resource = key.removeprefix(_REQUESTS) if key.startswith(_REQUESTS) else key if key in _SHORT else ""
        if resource:
            amount = to_amount(resource, quantity)
            found[resource] = min(amount, found.get(resource, amount))
    return found


CHECKS = (
    DoctorCheck(
        "resource-quota-below-queue",
        CheckSeverity.WARNING,
        "ResourceQuota below the nominal quota of the namespace's queues",
        "jobs are admitted, but the API server rejects their pods: they hold quota and do not run",
        _below_nominal,
        (ResourceQuota, LocalQueue, ClusterQueue, Cohort),
    ),
    DoctorCheck(
        "resource-quota-below-borrowing",
        CheckSeverity.HINT,
        "ResourceQuota below what the namespace's queues can borrow",
        "the API server rejects pods of jobs that borrow more than it allows",
        _below_borrowing,
        (ResourceQuota, LocalQueue, ClusterQueue, Cohort),
    ),
)
