"""Whether one node takes one pod, looking at that node alone: the first filter that refuses says why.

The order is Kubernetes', since people read the first reason; what depends on other nodes is in `surroundings`.
"""

from collections.abc import Iterable
from typing import Final

from kohort.api.meta import Taint
from kohort.api.taints import tolerates, untolerated
from kohort.embedded.scheduler.cache import NodeInfo, PodInfo
from kohort.embedded.scheduler.diagnosis import (
    OTHER_NODES,
    PORTS_TAKEN,
    TAINTED,
    UNSCHEDULABLE,
    FilterFailure,
    shortage,
)
from kohort.embedded.scheduler.requirements import PodRequirements

_UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def refused_by_kind(demand: PodRequirements, node: NodeInfo) -> FilterFailure | None:
    """What the node itself has against the pod, whatever runs on it."""
    if node.is_unschedulable and not any(tolerates(each, _UNSCHEDULABLE_TAINT) for each in demand.tolerations):
        return UNSCHEDULABLE
    if node.taints and untolerated(node.taints, demand.tolerations):
        return TAINTED
    if demand.picks_nodes and not demand.nodes.matches(node.name, node.labels):
        return OTHER_NODES
    return None


def refused_by_load(demand: PodRequirements, node: NodeInfo, uid: str = "") -> FilterFailure | None:
    """What is lacking on the node, pods of at least this priority counted in that wait for it; not the pod itself."""
    expected = _expected(demand, node, uid) if node.nominated else ()
    if demand.ports and _clashes(demand, node, expected):
        return PORTS_TAKEN
    if expected:
        return _refused_with(demand, node, expected)
    used, allocatable = node.used, node.allocatable
    if len(node.pods) < node.room:
        for name, amount in demand.requests:
            if used.get(name, 0) + amount > allocatable.get(name, 0):
                break
        else:
            return None
    return _shortage(demand, node, used, len(node.pods))


def _refused_with(demand: PodRequirements, node: NodeInfo, expected: list[PodInfo]) -> FilterFailure | None:
    used = dict(node.used)
    for pod in expected:
        for name, amount in pod.demand.requests:
            used[name] = used.get(name, 0) + amount
    return _shortage(demand, node, used, len(node.pods) + len(expected))


def _shortage(demand: PodRequirements, node: NodeInfo, used: dict[str, int], pods: int) -> FilterFailure | None:
    names = ["pods"] if pods >= node.room else []
    is_final = False
    for name, amount in demand.requests:
        there = node.allocatable.get(name, 0)
        if used.get(name, 0) + amount > there:
            names.append(name)
            is_final = is_final or amount > there
    return shortage(tuple(names), is_final=is_final) if names else None


def _expected(demand: PodRequirements, node: NodeInfo, uid: str) -> list[PodInfo]:
    waiting = node.nominated.values()
    return [each for each in waiting if each.demand.priority >= demand.priority and each.uid != uid]


def _clashes(demand: PodRequirements, node: NodeInfo, expected: Iterable[PodInfo]) -> bool:
    taken = [*node.ports(), *(port for pod in expected for port in pod.demand.ports)]
    return any(wanted.clashes(each) for wanted in demand.ports for each in taken)
