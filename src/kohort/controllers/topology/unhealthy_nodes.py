"""The list of unhealthy nodes of a Workload (TAS-105): a second one evicts it."""

from datetime import datetime

from msgspec.structs import replace

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import UnhealthyNode
from kohort.engine.lifecycle.conditions import is_evicted, is_finished, with_status
from kohort.engine.lifecycle.events import WorkloadChange
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.engine.lifecycle.reasons import NODE_FAILURES


def with_failed_node(workload: Workload, host: str, now: datetime) -> WorkloadChange:
    """The Workload with a failed node: listed, or evicted if another one is listed."""
    listed = [node.name for node in workload.status.unhealthy_nodes]
    if host in listed or is_evicted(workload) or is_finished(workload):
        return WorkloadChange(workload)
    if listed:
        return evict(workload, multiple_failures((*listed, host)), now)
    return WorkloadChange(with_status(workload, replace(workload.status, unhealthy_nodes=(UnhealthyNode(name=host),))))


def with_healthy_node(workload: Workload, host: str) -> Workload:
    """The Workload without a node that has recovered."""
    left = tuple(node for node in workload.status.unhealthy_nodes if node.name != host)
    return with_status(workload, replace(workload.status, unhealthy_nodes=left))


def multiple_failures(nodes: tuple[str, ...]) -> EvictionCause:
    """Why a Workload is evicted when a second node fails."""
    why = "Workload eviction triggered due to multiple TAS assigned node failures, including"
    return EvictionCause(NODE_FAILURES, f"{why}: {', '.join(nodes)}")
