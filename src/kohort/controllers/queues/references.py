"""References between objects, along which events enqueue keys (API-111, API-114, API-116, API-117)."""

from collections.abc import Iterable
from typing import Final

from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, ResourceFlavor, Workload

FLAVOR: Final = "names flavor"
CHECK: Final = "names check"
TOPOLOGY: Final = "names topology"
CLUSTER_QUEUE: Final = "names cluster queue"
PRIORITY_CLASS: Final = "names priority class"
"""Names of indices: referenced objects."""


def flavors_of(queue: ClusterQueue) -> list[str]:
    """The flavors that a ClusterQueue lists."""
    return [flavor.name for group in queue.spec.resource_groups for flavor in group.flavors]


def checks_of(queue: ClusterQueue) -> list[str]:
    """The checks that a ClusterQueue lists."""
    strategy = queue.spec.admission_checks_strategy
    return [check.name for check in strategy.admission_checks] if strategy else []


def topologies_of(flavor: ResourceFlavor) -> Iterable[str]:
    """The topology that a flavor references, if any."""
    return [flavor.spec.topology_name] if flavor.spec.topology_name else ()


def cluster_queues_of(queue: LocalQueue) -> Iterable[str]:
    """The ClusterQueue of a LocalQueue, if any."""
    return [queue.spec.cluster_queue] if queue.spec.cluster_queue else ()


def priority_classes_of(workload: Workload) -> Iterable[str]:
    """The WorkloadPriorityClass of a Workload, if any."""
    reference = workload.spec.priority_class_ref
    is_ours = reference is not None and reference.kind == "WorkloadPriorityClass"
    return [reference.name] if reference is not None and is_ours else ()
