"""What a workload slice keeps of the slice that it replaces (TAS-67)."""

from msgspec import structs

from kohort.engine.topology.domain_lists import truncated
from kohort.engine.topology.flavor_domains import FlavorDomains
from kohort.engine.topology.request import PlacementRequest
from kohort.engine.topology.result import GroupPlacement, TopologyDomains


def kept_pods(
    flavor: FlavorDomains, request: PlacementRequest, previous: GroupPlacement | None
) -> GroupPlacement | None:
    """The pods of the previous slice that stay where they are; None if all pods must be placed anew."""
    if previous is None or not _exists(flavor, previous):
        return None
    workers = previous.workers
    if request.count < workers.pods:
        workers = truncated(workers, request.count)
    return GroupPlacement(workers, previous.leader if request.leader else None)


def added_pods(request: PlacementRequest, kept: GroupPlacement) -> PlacementRequest:
    """The request for the pods beyond those that stay."""
    added = structs.replace(request, count=request.count - kept.workers.pods)
    return added if kept.leader is None else structs.replace(added, leader="", leader_per_pod={})


def _exists(flavor: FlavorDomains, previous: GroupPlacement) -> bool:
    """Whether the tree still has every domain of the previous slice."""
    lists: tuple[TopologyDomains | None, ...] = (previous.workers, previous.leader)
    return all(flavor.has_domain(domain.values) for each in lists if each for domain in each.domains)
