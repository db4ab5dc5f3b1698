"""Placement of the pods of a failed node, beside those that remain (TAS-107, TAS-108)."""

from collections import defaultdict

import msgspec
from msgspec import structs

from kohort.engine.topology.domain_lists import merged
from kohort.engine.topology.flavor_domains import FlavorDomains
from kohort.engine.topology.request import PlacementRequest, SliceLayer
from kohort.engine.topology.result import PlacementFailure, TopologyDomains
from kohort.engine.topology.tree import DomainPath
from kohort.engine.topology.usage import NOTHING_ASSUMED, AssumedUsage


class FailedNode(msgspec.Struct, frozen=True):
    """A node that a workload lost."""

    name: str
    hostname: str
    """Its value in assignments (Q-10)."""


class NodeReplacement(msgspec.Struct, frozen=True):
    """An assignment without the failed node."""

    domains: TopologyDomains
    added: TopologyDomains
    """The part of it that is new."""


def replace_node(
    flavor: FlavorDomains,
    request: PlacementRequest,
    existing: TopologyDomains,
    failed: FailedNode,
    assumed: AssumedUsage = NOTHING_ASSUMED,
) -> NodeReplacement | PlacementFailure:
    """Place the pods of a failed node anew; usage must still have the other pods of the workload (TAS-107).

    The request is that of the whole pod set.
    """
    remaining = tuple([domain for domain in existing.domains if domain.values[-1] != failed.hostname])
    rest = structs.replace(existing, domains=remaining)
    lost = existing.pods - rest.pods
    stale = next((domain for domain in remaining if not flavor.has_domain(domain.values)), None)
    if stale is not None:
        return _failure(
            flavor,
            "Cannot replace the node, because the existing topologyAssignment is invalid,"
            f" as it contains the stale domain {stale.values[0]}",
        )
    if not lost:
        return _failure(flavor, f"cannot find replacement assignment for unhealthy node: {failed.name}")
    part = structs.replace(request, count=lost, leader="", leader_per_pod={})
    within = _mandatory_domain(flavor, part, rest)
    found = flavor.place(_regrouped(part), assumed, within=within)
    if isinstance(found, PlacementFailure):
        return found
    return NodeReplacement(merged(flavor, rest, found.workers), found.workers)


def _failure(flavor: FlavorDomains, problem: str) -> PlacementFailure:
    return PlacementFailure(topology=flavor.topology, problem=problem)


def _breaks_slices(request: PlacementRequest) -> bool:
    """Whether the lost pods are part of a slice only."""
    return bool(request.layers) and request.layers[0].size > 0 and request.count % request.layers[0].size != 0


def _mandatory_domain(flavor: FlavorDomains, request: PlacementRequest, rest: TopologyDomains) -> DomainPath | None:
    """The path of the domain in which lost pods must be placed; None where any will do (TAS-108)."""
    if not rest.domains:
        return None
    if _breaks_slices(request):
        layer = next(each for each in reversed(request.layers) if request.count % each.size)
        return _incomplete_slice(flavor, request.count, rest, layer)
    if request.required in flavor.levels:
        return flavor.path_of(rest.domains[0].values, request.required)
    return None


def _incomplete_slice(flavor: FlavorDomains, lost: int, rest: TopologyDomains, layer: SliceLayer) -> DomainPath | None:
    """The first domain of the layer's level whose remaining pods and the lost ones are whole slices."""
    if layer.topology not in flavor.levels:
        return None
    pods: dict[DomainPath, int] = defaultdict(int)
    for domain in rest.domains:
        pods[flavor.path_of(domain.values, layer.topology)] += domain.pods
    return next((path for path in sorted(pods) if (pods[path] + lost) % layer.size == 0), None)


def _regrouped(request: PlacementRequest) -> PlacementRequest:
    """Part of a slice keeps the innermost grouping that it can have; without any, only the domain binds (Q-13)."""
    if not _breaks_slices(request):
        return request
    layers = [layer for layer in request.layers if request.count % layer.size == 0][-1:]
    has_level = request.required or request.preferred or layers
    return structs.replace(request, layers=tuple(layers), unconstrained=request.unconstrained or not has_level)
