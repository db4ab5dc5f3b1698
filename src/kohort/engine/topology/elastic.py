"""Placement of a workload slice beside the slice that it replaces (TAS-67)."""

from msgspec import structs

from kohort.engine.topology.domain_lists import merged, truncated
from kohort.engine.topology.flavor_domains import FlavorDomains
from kohort.engine.topology.request import CapacityMode, PlacementRequest
from kohort.engine.topology.result import GroupPlacement, PlacementFailure, TopologyDomains
from kohort.engine.topology.usage import NOTHING_ASSUMED, AssumedUsage


def place_elastic(
    flavor: FlavorDomains,
    request: PlacementRequest,
    previous: GroupPlacement | None,
    assumed: AssumedUsage = NOTHING_ASSUMED,
    *,
    mode: CapacityMode = CapacityMode.CURRENT,
) -> GroupPlacement | PlacementFailure:
    """Keep the pods of the previous slice where they are, and place or remove the difference (TAS-67).

    The previous slice's usage must be released, so that its pods count once (Q-12).
    """
    if previous is None or not _exists(flavor, previous):
        return flavor.place(request, assumed, mode=mode)
    workers, leader = previous.workers, previous.leader if request.leader else None
    if request.count < workers.pods:
        workers = truncated(workers, request.count)
    delta = structs.replace(request, count=request.count - workers.pods)
    if leader is not None:
        delta = structs.replace(delta, leader="", leader_per_pod={})
    if not delta.count and not delta.leader:
        return GroupPlacement(workers, leader)
    kept = AssumedUsage.of(assumed)
    flavor.assume(kept, workers, request.per_pod)
    if leader is not None:
        flavor.assume(kept, leader, request.leader_per_pod)
    found = flavor.place(delta, kept, mode=mode)
    if isinstance(found, PlacementFailure):
        return found
    return GroupPlacement(merged(flavor, workers, found.workers), leader or found.leader)


def _exists(flavor: FlavorDomains, previous: GroupPlacement) -> bool:
    """Whether the tree still has every domain of the previous slice."""
    lists: tuple[TopologyDomains | None, ...] = (previous.workers, previous.leader)
    return all(flavor.has_domain(domain.values) for each in lists if each for domain in each.domains)
