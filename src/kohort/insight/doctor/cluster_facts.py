"""Indexes of a snapshot that are shared by checks, computed once.

Each index takes one pass over the objects.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from kohort.api.amounts import add, to_amount
from kohort.api.conditions import find, is_true
from kohort.api.core.batch import Job
from kohort.api.core.namespaces import LimitRange, Namespace
from kohort.api.core.nodes import Node, RuntimeClass
from kohort.api.errors import ApiError
from kohort.api.kinds import CustomObject
from kohort.api.kueue.v1beta2 import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Topology,
    Workload,
)
from kohort.api.kueue.v1beta2.checks import MULTIKUEUE_CONTROLLER, PROVISIONING_CONTROLLER
from kohort.engine.environments import EnvironmentCache
from kohort.engine.hierarchy import Hierarchy
from kohort.engine.lifecycle.conditions import ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED
from kohort.engine.quota import FlavorResource
from kohort.engine.record_builders import quotas_of
from kohort.engine.requests import PodSetDemand, admitted_usage, demands
from kohort.engine.settings import EngineSettings
from kohort.insight.snapshot import Snapshot

T = TypeVar("T")
NamespacedName = tuple[str, str]
"""Namespace and name of an object."""

_PROVISIONING = (MULTIKUEUE_CONTROLLER, PROVISIONING_CONTROLLER)
"""Controllers of checks that run pods on other clusters or on nodes that do not exist yet."""


class NodeGroup(NamedTuple):
    """Nodes with equal values of the labels that flavors use."""

    nodes: tuple[Node, ...]
    labels: Mapping[str, str]
    """The labels that flavors use."""
    allocatable: Mapping[str, int]
    """The sum over the nodes, in internal units."""


class PendingRequest(NamedTuple):
    """A pending Workload with its requests."""

    workload: Workload
    queue: str
    """Its ClusterQueue."""
    pod_sets: tuple[PodSetDemand, ...]


@dataclass(frozen=True)
class ClusterFacts:
    """A snapshot with its indexes."""

    snapshot: Snapshot

    @property
    def now(self) -> datetime:
        """The time of the snapshot."""
        return self.snapshot.taken

    def all(self, kind: type[T]) -> Collection[T]:
        """All listed objects of a kind."""
        return self.snapshot.of(kind).values()

    # By name

    @cached_property
    def cluster_queues(self) -> dict[str, ClusterQueue]:
        """Objects by name."""
        return {each.metadata.name: each for each in self.all(ClusterQueue)}

    @cached_property
    def local_queues(self) -> dict[NamespacedName, LocalQueue]:
        """LocalQueues by namespace and name."""
        return {(each.metadata.namespace, each.metadata.name): each for each in self.all(LocalQueue)}

    @cached_property
    def flavors(self) -> dict[str, ResourceFlavor]:
        """Objects by name."""
        return {each.metadata.name: each for each in self.all(ResourceFlavor)}

    @cached_property
    def checks(self) -> dict[str, AdmissionCheck]:
        """Objects by name."""
        return {each.metadata.name: each for each in self.all(AdmissionCheck)}

    @cached_property
    def topologies(self) -> frozenset[str]:
        """The names of Topologies."""
        return frozenset(each.metadata.name for each in self.all(Topology))

    @cached_property
    def namespaces(self) -> dict[str, Namespace]:
        """Objects by name."""
        return {each.metadata.name: each for each in self.all(Namespace)}

    # Queues

    @cached_property
    def queues_of_namespace(self) -> dict[str, list[LocalQueue]]:
        """The LocalQueues of each namespace."""
        return _grouped((each.metadata.namespace, each) for each in self.all(LocalQueue))

    @cached_property
    def local_queues_of(self) -> dict[str, list[LocalQueue]]:
        """The LocalQueues of each ClusterQueue."""
        return _grouped((each.spec.cluster_queue or "", each) for each in self.all(LocalQueue))

    def cluster_queue_of(self, workload: Workload) -> ClusterQueue | None:
        """The ClusterQueue of a Workload's LocalQueue."""
        local = self.local_queues.get((workload.metadata.namespace, workload.spec.queue_name or ""))
        return self.cluster_queues.get(local.spec.cluster_queue or "") if local else None

    @cached_property
    def forest(self) -> Hierarchy:
        """The cohort trees, without usage."""
        forest = Hierarchy()
        for cohort in self.all(Cohort):
            quotas = quotas_of(cohort.spec.resource_groups)
            forest.set_cohort(cohort.metadata.name, cohort.spec.parent_name, quotas)
        for queue in self.all(ClusterQueue):
            forest.set_queue(queue.metadata.name, queue.spec.cohort_name, quotas_of(queue.spec.resource_groups))
        forest.refresh()
        return forest

    def most(self, queue: str, of: FlavorResource) -> int:
        """The maximum that a ClusterQueue could use of a flavor-resource, including borrowing (SCH-412)."""
        return self.forest.queues[queue].cell(of).potential

    @cached_property
    def quota_owners(self) -> dict[str, list[ClusterQueue | Cohort]]:
        """The ClusterQueues and Cohorts with quota in each flavor."""
        owners: list[ClusterQueue | Cohort] = [*self.all(ClusterQueue), *self.all(Cohort)]
        return _grouped(
            (flavor.name, owner) for owner in owners for group in owner.spec.resource_groups for flavor in group.flavors
        )

    def expects_nodes(self, queue: ClusterQueue) -> bool:
        """Whether its pods run on other clusters or on nodes that are provisioned for them."""
        return any(self._controller(name) in _PROVISIONING for name in check_names(queue))

    def _controller(self, check: str) -> str:
        found = self.checks.get(check)
        return found.spec.controller_name if found is not None and found.spec is not None else ""

    # Nodes

    @cached_property
    def node_groups(self) -> tuple[NodeGroup, ...]:
        """Nodes grouped by the labels that flavors use."""
        keys = sorted({key for flavor in self.all(ResourceFlavor) for key in flavor.spec.node_labels})
        groups: dict[tuple[str | None, ...], list[Node]] = defaultdict(list)
        for node in self.all(Node):
            groups[tuple(node.metadata.labels.get(key) for key in keys)].append(node)
        return tuple(
            NodeGroup(
                tuple(nodes),
                {key: value for key, value in zip(keys, values, strict=True) if value is not None},
                _sum(node.status.allocatable for node in nodes),
            )
            for values, nodes in groups.items()
        )

    def nodes_of(self, flavor: ResourceFlavor) -> tuple[NodeGroup, ...]:
        """The node groups with a flavor's labels."""
        return tuple(group for group in self.node_groups if matches_nodes(flavor, group))

    # Workloads

    @cached_property
    def unfinished(self) -> tuple[Workload, ...]:
        """Workloads that have not finished."""
        return tuple(each for each in self.all(Workload) if not is_true(each.status.conditions, FINISHED))

    @cached_property
    def pending(self) -> tuple[Workload, ...]:
        """Active Workloads without reserved quota."""
        return tuple(
            each for each in self.unfinished if each.spec.active and not is_true(each.status.conditions, QUOTA_RESERVED)
        )

    @cached_property
    def holding(self) -> tuple[Workload, ...]:
        """Workloads with reserved quota."""
        return tuple(each for each in self.unfinished if is_true(each.status.conditions, QUOTA_RESERVED))

    @cached_property
    def running(self) -> tuple[Workload, ...]:
        """Admitted Workloads that are not evicted."""
        return tuple(
            each
            for each in self.holding
            if is_true(each.status.conditions, ADMITTED) and not is_true(each.status.conditions, EVICTED)
        )

    @cached_property
    def pending_in(self) -> dict[NamespacedName, list[Workload]]:
        """Pending Workloads by LocalQueue."""
        return _grouped(((each.metadata.namespace, each.spec.queue_name or ""), each) for each in self.pending)

    @cached_property
    def running_in(self) -> dict[str, list[Workload]]:
        """Running Workloads by ClusterQueue."""
        return _grouped((each.status.admission.cluster_queue, each) for each in self.running if each.status.admission)

    @cached_property
    def settings(self) -> EngineSettings:
        """The settings of the engine; one object, because results are cached by it."""
        return self.snapshot.settings

    @cached_property
    def pending_requests(self) -> tuple[PendingRequest, ...]:
        """Pending Workloads of existing ClusterQueues, with their requests."""
        found = ((each, self.cluster_queue_of(each)) for each in self.pending)
        return tuple(
            PendingRequest(workload, queue.metadata.name, requests)
            for workload, queue in found
            if queue is not None and (requests := self._requests_of(workload))
        )

    def _requests_of(self, workload: Workload) -> tuple[PodSetDemand, ...]:
        """The requests of its pod sets, as counted by the manager; empty if invalid."""
        environment = self._environments.of(workload.metadata.namespace)
        try:
            return demands(workload, self.settings.requests, environment, self.settings.gates)
        except ApiError:
            return ()

    def usage_of(self, workload: Workload) -> dict[FlavorResource, int]:
        """Usage of each flavor-resource."""
        usage: dict[FlavorResource, int] = {}
        for pod_set in admitted_usage(workload, self.settings.gates):
            for resource, amount in pod_set.amounts.items():
                if flavor := pod_set.flavors.get(resource):
                    of = FlavorResource(flavor, resource)
                    usage[of] = add(usage.get(of, 0), amount)
        return usage

    @cached_property
    def _environments(self) -> EnvironmentCache:
        found = EnvironmentCache()
        for limits in self.all(LimitRange):
            found.put_limit_range(limits)
        for runtime in self.all(RuntimeClass):
            found.put_runtime_class(runtime)
        return found

    def since(self, workload: Workload, condition: str) -> timedelta:
        """The time since the last transition of a condition; since creation if the condition is absent."""
        found = find(workload.status.conditions, condition)
        begin = found.last_transition_time if found else workload.metadata.creation_timestamp
        return self.now - begin if begin else timedelta()

    def age_of(self, thing: CustomObject) -> timedelta:
        """The time since creation."""
        created = thing.metadata.creation_timestamp
        return self.now - created if created else timedelta()

    @cached_property
    def live_jobs(self) -> tuple[Job, ...]:
        """Unfinished Jobs."""
        return tuple(
            each
            for each in self.all(Job)
            if not (is_true(each.status.conditions, "Complete") or is_true(each.status.conditions, "Failed"))
        )


def matches_nodes(flavor: ResourceFlavor, group: NodeGroup) -> bool:
    """Whether nodes have all labels of a flavor."""
    return flavor.spec.node_labels.items() <= group.labels.items()


def check_names(queue: ClusterQueue) -> tuple[str, ...]:
    """The admission checks of a ClusterQueue."""
    strategy = queue.spec.admission_checks_strategy
    return tuple(rule.name for rule in strategy.admission_checks) if strategy else ()


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return dict(groups)


def _sum(lists: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in lists:
        for name, quantity in each.items():
            total[name] = add(total.get(name, 0), to_amount(name, quantity))
    return total


def oldest(facts: ClusterFacts, workloads: Iterable[Workload]) -> timedelta:
    """The age of the oldest Workload."""
    created = (each.metadata.creation_timestamp for each in workloads)
    return max((facts.now - each for each in created if each), default=timedelta())
