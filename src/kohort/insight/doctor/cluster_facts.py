"""A snapshot as the checks look at it: what many of them ask is worked out once.

Every index costs one pass over the objects, so that 100,000 Workloads cost one sweep per question.
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
Place = tuple[str, str]
"""Namespace and name."""

_ELSEWHERE = (MULTIKUEUE_CONTROLLER, PROVISIONING_CONTROLLER)
"""Controllers whose checks promise nodes that are not here, or not yet."""


class NodeGroup(NamedTuple):
    """Nodes that no flavor can tell apart."""

    nodes: tuple[Node, ...]
    labels: Mapping[str, str]
    """Those labels that any flavor asks for."""
    allocatable: Mapping[str, int]
    """Of all of them together, in internal units."""


class PendingRequest(NamedTuple):
    """A Workload that waits."""

    workload: Workload
    queue: str
    """The ClusterQueue that it waits for."""
    pod_sets: tuple[PodSetDemand, ...]


@dataclass(frozen=True)
class ClusterFacts:
    """A cluster at one moment."""

    snapshot: Snapshot

    @property
    def now(self) -> datetime:
        """When the cluster was looked at."""
        return self.snapshot.taken

    def all(self, kind: type[T]) -> Collection[T]:
        """All objects of a kind that were read."""
        return self.snapshot.of(kind).values()

    # By name

    @cached_property
    def cluster_queues(self) -> dict[str, ClusterQueue]:
        """By name."""
        return {each.metadata.name: each for each in self.all(ClusterQueue)}

    @cached_property
    def local_queues(self) -> dict[Place, LocalQueue]:
        """By namespace and name."""
        return {(each.metadata.namespace, each.metadata.name): each for each in self.all(LocalQueue)}

    @cached_property
    def flavors(self) -> dict[str, ResourceFlavor]:
        """By name."""
        return {each.metadata.name: each for each in self.all(ResourceFlavor)}

    @cached_property
    def checks(self) -> dict[str, AdmissionCheck]:
        """By name."""
        return {each.metadata.name: each for each in self.all(AdmissionCheck)}

    @cached_property
    def cohorts(self) -> dict[str, Cohort]:
        """Those that exist as objects, by name."""
        return {each.metadata.name: each for each in self.all(Cohort)}

    @cached_property
    def topologies(self) -> frozenset[str]:
        """Their names."""
        return frozenset(each.metadata.name for each in self.all(Topology))

    @cached_property
    def namespaces(self) -> dict[str, Namespace]:
        """By name."""
        return {each.metadata.name: each for each in self.all(Namespace)}

    # Queues

    @cached_property
    def queues_of_namespace(self) -> dict[str, list[LocalQueue]]:
        """The LocalQueues of each namespace."""
        return _grouped((each.metadata.namespace, each) for each in self.all(LocalQueue))

    @cached_property
    def feeders(self) -> dict[str, list[LocalQueue]]:
        """The LocalQueues that point to each ClusterQueue."""
        return _grouped((each.spec.cluster_queue or "", each) for each in self.all(LocalQueue))

    def cluster_queue_of(self, workload: Workload) -> ClusterQueue | None:
        """The ClusterQueue behind a Workload's LocalQueue."""
        local = self.local_queues.get((workload.metadata.namespace, workload.spec.queue_name or ""))
        return self.cluster_queues.get(local.spec.cluster_queue or "") if local else None

    @cached_property
    def forest(self) -> Hierarchy:
        """The cohort trees with their sums, nobody using anything."""
        forest = Hierarchy()
        for cohort in self.all(Cohort):
            quotas = quotas_of(cohort.spec.resource_groups)
            forest.set_cohort(cohort.metadata.name, cohort.spec.parent_name, quotas)
        for queue in self.all(ClusterQueue):
            forest.set_queue(queue.metadata.name, queue.spec.cohort_name, quotas_of(queue.spec.resource_groups))
        forest.refresh()
        return forest

    def most(self, queue: str, of: FlavorResource) -> int:
        """The most that a ClusterQueue could ever have of a flavor-resource, borrowing included (SCH-412)."""
        return self.forest.queues[queue].cell(of).potential

    @cached_property
    def quota_owners(self) -> dict[str, list[ClusterQueue | Cohort]]:
        """Who has quota in each flavor."""
        owners: list[ClusterQueue | Cohort] = [*self.all(ClusterQueue), *self.all(Cohort)]
        return _grouped(
            (flavor.name, owner) for owner in owners for group in owner.spec.resource_groups for flavor in group.flavors
        )

    def expects_nodes(self, queue: ClusterQueue) -> bool:
        """Whether its pods run elsewhere, or on nodes that are made for them: what is here now says little."""
        return any(self._controller(name) in _ELSEWHERE for name in check_names(queue))

    def _controller(self, check: str) -> str:
        found = self.checks.get(check)
        return found.spec.controller_name if found is not None and found.spec is not None else ""

    # Nodes

    @cached_property
    def node_groups(self) -> tuple[NodeGroup, ...]:
        """Nodes in groups that no flavor's nodeLabels tell apart."""
        asked = sorted({key for flavor in self.all(ResourceFlavor) for key in flavor.spec.node_labels})
        groups: dict[tuple[str | None, ...], list[Node]] = defaultdict(list)
        for node in self.all(Node):
            groups[tuple(node.metadata.labels.get(key) for key in asked)].append(node)
        return tuple(
            NodeGroup(
                tuple(nodes),
                {key: value for key, value in zip(asked, values, strict=True) if value is not None},
                _sum(node.status.allocatable for node in nodes),
            )
            for values, nodes in groups.items()
        )

    def nodes_of(self, flavor: ResourceFlavor) -> tuple[NodeGroup, ...]:
        """The groups of nodes that have a flavor's labels."""
        return tuple(group for group in self.node_groups if stands_for(flavor, group))

    # Workloads

    @cached_property
    def unfinished(self) -> tuple[Workload, ...]:
        """Workloads that have not come to their end."""
        return tuple(each for each in self.all(Workload) if not is_true(each.status.conditions, FINISHED))

    @cached_property
    def waiting(self) -> tuple[Workload, ...]:
        """Those without quota that nobody has deactivated."""
        return tuple(
            each for each in self.unfinished if each.spec.active and not is_true(each.status.conditions, QUOTA_RESERVED)
        )

    @cached_property
    def holding(self) -> tuple[Workload, ...]:
        """Those with quota."""
        return tuple(each for each in self.unfinished if is_true(each.status.conditions, QUOTA_RESERVED))

    @cached_property
    def running(self) -> tuple[Workload, ...]:
        """Those that were admitted and are not on their way out."""
        return tuple(
            each
            for each in self.holding
            if is_true(each.status.conditions, ADMITTED) and not is_true(each.status.conditions, EVICTED)
        )

    @cached_property
    def waiting_in(self) -> dict[Place, list[Workload]]:
        """Those that wait, by LocalQueue."""
        return _grouped(((each.metadata.namespace, each.spec.queue_name or ""), each) for each in self.waiting)

    @cached_property
    def running_in(self) -> dict[str, list[Workload]]:
        """Those that run, by ClusterQueue."""
        return _grouped((each.status.admission.cluster_queue, each) for each in self.running if each.status.admission)

    @cached_property
    def settings(self) -> EngineSettings:
        """By which the manager decides; one and the same, so that what follows from it is remembered."""
        return self.snapshot.settings

    @cached_property
    def asking(self) -> tuple[PendingRequest, ...]:
        """Everybody who waits in a ClusterQueue that exists, and what is asked for."""
        found = ((each, self.cluster_queue_of(each)) for each in self.waiting)
        return tuple(
            PendingRequest(workload, queue.metadata.name, asked)
            for workload, queue in found
            if queue is not None and (asked := self._demand_of(workload))
        )

    def _demand_of(self, workload: Workload) -> tuple[PodSetDemand, ...]:
        """What its pod sets ask for, as the manager counts it; nothing where that makes no sense."""
        surroundings = self._surroundings.of(workload.metadata.namespace)
        try:
            return demands(workload, self.settings.requests, surroundings, self.settings.gates)
        except ApiError:
            return ()

    def usage_of(self, workload: Workload) -> dict[FlavorResource, int]:
        """What it holds of each flavor-resource."""
        usage: dict[FlavorResource, int] = {}
        for pod_set in admitted_usage(workload, self.settings.gates):
            for resource, amount in pod_set.amounts.items():
                if flavor := pod_set.flavors.get(resource):
                    of = FlavorResource(flavor, resource)
                    usage[of] = add(usage.get(of, 0), amount)
        return usage

    @cached_property
    def _surroundings(self) -> EnvironmentCache:
        found = EnvironmentCache()
        for limits in self.all(LimitRange):
            found.put_limit_range(limits)
        for runtime in self.all(RuntimeClass):
            found.put_runtime_class(runtime)
        return found

    def since(self, workload: Workload, condition: str) -> timedelta:
        """For how long a condition has been as it is; since the Workload was made, where it has none."""
        found = find(workload.status.conditions, condition)
        begin = found.last_transition_time if found else workload.metadata.creation_timestamp
        return self.now - begin if begin else timedelta()

    def age_of(self, thing: CustomObject) -> timedelta:
        """How long ago it was made."""
        made = thing.metadata.creation_timestamp
        return self.now - made if made else timedelta()

    @cached_property
    def live_jobs(self) -> tuple[Job, ...]:
        """Jobs that have not come to their end."""
        return tuple(
            each
            for each in self.all(Job)
            if not (is_true(each.status.conditions, "Complete") or is_true(each.status.conditions, "Failed"))
        )


def stands_for(flavor: ResourceFlavor, group: NodeGroup) -> bool:
    """Whether nodes have all the labels that a flavor names."""
    return flavor.spec.node_labels.items() <= group.labels.items()


def check_names(queue: ClusterQueue) -> tuple[str, ...]:
    """The admission checks that a ClusterQueue names."""
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
    """The age of the oldest of them."""
    made = (each.metadata.creation_timestamp for each in workloads)
    return max((facts.now - each for each in made if each), default=timedelta())
