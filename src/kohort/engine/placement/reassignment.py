"""Placement of pods beside existing ones: after node failures, and of replacing slices (TAS-39, TAS-67, TAS-107)."""

from collections.abc import Mapping

import msgspec

from kohort.api.kueue.v1beta2.workload import PodSetAssignment
from kohort.engine.placement.groups import GangPlacement, LostPods
from kohort.engine.placement.places import domains_of
from kohort.engine.placement.search import PlacedGroup, count_pods
from kohort.engine.records import NO_PLACES
from kohort.engine.topology import (
    AssumedUsage,
    CapacityMode,
    DomainCounter,
    FlavorDomains,
    GroupPlacement,
    PlacementFailure,
    PlacementRequest,
    added_pods,
    merged,
    replace_node,
)


def previous_placement(request: PlacementRequest, assigned: Mapping[str, PodSetAssignment]) -> GroupPlacement | None:
    """The placement of the replaced slice; None if it has no assignment for the workers."""
    workers, leader = assigned.get(request.pod_set), assigned.get(request.leader)
    if workers is None or workers.topology_assignment is None:
        return None
    of_leader = leader.topology_assignment if leader is not None else None
    return GroupPlacement(
        domains_of(workers.topology_assignment), domains_of(of_leader) if of_leader is not None else None
    )


class ElasticPlacement(GangPlacement, frozen=True, kw_only=True):
    """The pods of a slice beside those of the slice that it replaces (TAS-67)."""

    kept: GroupPlacement
    """The pods that stay where they are; the usage of the replaced slice must be released (Q-12)."""

    def keep(self, assumed: AssumedUsage) -> None:
        """Count the pods that stay."""
        for counter, pods in self._counters(self.kept).items():
            assumed.add(counter.key, counter.per_pod, pods)

    def place(self, assumed: AssumedUsage, mode: CapacityMode) -> PlacedGroup | PlacementFailure:
        """Place the pods that are added."""
        kept, request = self.kept, added_pods(self.request, self.kept)
        if not request.count and not request.leader:
            return PlacedGroup(self._by_pod_set(kept), self._counters(kept), NO_PLACES)
        added = self.topology.place(request, assumed, mode=mode)
        if isinstance(added, PlacementFailure):
            return added
        whole = GroupPlacement(merged(self.topology, kept.workers, added.workers), kept.leader or added.leader)
        return PlacedGroup(self._by_pod_set(whole), self._counters(whole), self._counters(added))


class ReplacementPlacement(msgspec.Struct, frozen=True):
    """The pods of one pod set whose nodes failed, beside those that remain (TAS-107)."""

    topology: FlavorDomains
    request: PlacementRequest
    lost: LostPods

    @property
    def pod_set(self) -> str:
        """The pod set."""
        return self.request.pod_set

    def keep(self, assumed: AssumedUsage) -> None:
        """The pods that stay are counted as usage."""

    def place(self, assumed: AssumedUsage, _mode: CapacityMode) -> PlacedGroup | PlacementFailure:
        """Replace one node after the other; nothing is preempted for it, so that current usage counts (TAS-109).

        Each replacement is counted in `assumed`.
        """
        domains = self.lost.existing
        for node in self.lost.nodes:
            found = replace_node(self.topology, self.request, domains, node, assumed)
            if isinstance(found, PlacementFailure):
                return found
            self.topology.assume(assumed, found.added, self.request.per_pod)
            domains = found.domains
        counters: dict[DomainCounter, int] = {}
        count_pods(counters, self.topology, domains, self.request.per_pod)
        return PlacedGroup({self.request.pod_set: domains}, counters, NO_PLACES)
