"""Filters that depend on a single node; the first failing filter determines the reason.

The order is kube-scheduler's, since the first reason is what users see; filters that involve other pods are in
`affinity_state`.
"""

from collections.abc import Iterable
from typing import Final

from kohort.api.meta import Taint
from kohort.api.taints import tolerates, untolerated
from kohort.embedded.scheduler.cache import NodeInfo, PodInfo
from kohort.embedded.scheduler.diagnosis import (
    NODE_AFFINITY,
    PORTS_TAKEN,
    TAINTED,
    UNSCHEDULABLE,
    FilterFailure,
    shortage,
)
from kohort.embedded.scheduler.requirements import PodRequirements

_UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def filter_by_spec(requirements: PodRequirements, node: NodeInfo) -> FilterFailure | None:
    """Filters by the node's own fields, independent of its pods."""
    if node.is_unschedulable and not any(tolerates(each, _UNSCHEDULABLE_TAINT) for each in requirements.tolerations):
        return UNSCHEDULABLE
    if node.taints and untolerated(node.taints, requirements.tolerations):
        return TAINTED
    if requirements.picks_nodes and not requirements.nodes.matches(node.name, node.labels):
        return NODE_AFFINITY
    return None


def filter_by_usage(requirements: PodRequirements, node: NodeInfo, uid: str = "") -> FilterFailure | None:
    """Filters by free ports and resources, counting pods of the same or higher priority nominated to the node."""
    expected = _expected(requirements, node, uid) if node.nominated else ()
    if requirements.ports and _conflicts(requirements, node, expected):
        return PORTS_TAKEN
    if expected:
        return _filter_with(requirements, node, expected)
    used, allocatable = node.used, node.allocatable
    if len(node.pods) < node.allowed_pods:
        for name, amount in requirements.requests:
            if used.get(name, 0) + amount > allocatable.get(name, 0):
                break
        else:
            return None
    return _shortage(requirements, node, used, len(node.pods))


def _filter_with(requirements: PodRequirements, node: NodeInfo, expected: list[PodInfo]) -> FilterFailure | None:
    used = dict(node.used)
    for pod in expected:
        for name, amount in pod.requirements.requests:
            used[name] = used.get(name, 0) + amount
    return _shortage(requirements, node, used, len(node.pods) + len(expected))


def _shortage(requirements: PodRequirements, node: NodeInfo, used: dict[str, int], pods: int) -> FilterFailure | None:
    names = ["pods"] if pods >= node.allowed_pods else []
    is_final = False
    for name, amount in requirements.requests:
        there = node.allocatable.get(name, 0)
        if used.get(name, 0) + amount > there:
            names.append(name)
            is_final = is_final or amount > there
    return shortage(tuple(names), is_final=is_final) if names else None


def _expected(requirements: PodRequirements, node: NodeInfo, uid: str) -> list[PodInfo]:
    queued = node.nominated.values()
    return [each for each in queued if each.requirements.priority >= requirements.priority and each.uid != uid]


def _conflicts(requirements: PodRequirements, node: NodeInfo, expected: Iterable[PodInfo]) -> bool:
    taken = [*node.ports(), *(port for pod in expected for port in pod.requirements.ports)]
    return any(wanted.conflicts(each) for wanted in requirements.ports for each in taken)
