"""Builders of clusters for topology tests: a tree is a nested mapping that ends in free pods or resources of hosts."""

from collections.abc import Iterator, Mapping
from typing import Any

from kohort.api.core.nodes import Node, NodeSpec, NodeStatus
from kohort.api.core.objects import StatusCondition
from kohort.api.meta import ObjectMeta, Taint
from kohort.engine.placement.reassignment import ElasticPlacement
from kohort.engine.placement.search import PodSetDomains
from kohort.engine.records import Flavor
from kohort.engine.topology import (
    AssumedUsage,
    CapacityMode,
    FlavorDomains,
    GroupPlacement,
    PlacementFailure,
    PlacementRequest,
    PlacementSettings,
    TopologyDomains,
    TopologyStore,
    kept_pods,
)

HOST = "kubernetes.io/hostname"
LEVELS = ("block", "rack", HOST)
Tree = Mapping[str, Any]
ONE = {"cpu": 1000, "pods": 1}


def node(name: str, labels: Mapping[str, str], allocatable: Any, taints: tuple[Taint, ...] = ()) -> Node:
    """A ready node; a number is that many cpus."""
    amounts = {"cpu": str(allocatable)} if isinstance(allocatable, int) else allocatable
    return Node(
        metadata=ObjectMeta(name=name, labels=dict(labels)),
        spec=NodeSpec(taints=taints),
        status=NodeStatus(
            allocatable={"pods": "110", **amounts}, conditions=(StatusCondition(type="Ready", status="True"),)
        ),
    )


def host(name: str, block: str, rack: str, cpus: int) -> Node:
    return node(name, {"block": block, "rack": rack, HOST: name}, cpus)


def nodes(tree: Tree, levels: tuple[str, ...] = LEVELS, path: tuple[str, ...] = ()) -> Iterator[Node]:
    """One node per leaf of the tree, named after the leaf, or after its path where its level is not the host."""
    for value, below in tree.items():
        here = (*path, value)
        if len(here) < len(levels):
            yield from nodes(below, levels, here)
        else:
            name = value if levels[-1] == HOST else "-".join(here)
            yield node(name, {HOST: name, **dict(zip(levels, here, strict=True))}, below)


def store(tree: Tree, levels: tuple[str, ...] = LEVELS, settings: PlacementSettings | None = None) -> TopologyStore:
    """A topology and a flavor, both called default, of all nodes."""
    result = TopologyStore(settings or PlacementSettings())
    result.put_topology("default", levels)
    result.put_flavor(Flavor("default", {}, (), (), "default"))
    for each in nodes(tree, levels):
        result.put_node(each)
    return result


def domains(tree: Tree, levels: tuple[str, ...] = LEVELS, settings: PlacementSettings | None = None) -> FlavorDomains:
    """The domains of flavor default."""
    return flavor_of(store(tree, levels, settings))


def flavor_of(topologies: TopologyStore, name: str = "default") -> FlavorDomains:
    flavor = topologies.flavor(name)
    assert flavor is not None
    return flavor


def request(count: int, **options: Any) -> PlacementRequest:
    return PlacementRequest(**{"pod_set": "main", "count": count, "per_pod": ONE, **options})


def resized(flavor: FlavorDomains, asked: PlacementRequest, previous: GroupPlacement) -> PodSetDomains:
    """Where a slice goes that replaces one with this placement, whose usage is released."""
    kept = kept_pods(flavor, asked, previous)
    assert kept is not None
    slice_placement, assumed = ElasticPlacement(flavor, asked, flavor.prepared(asked), kept=kept), AssumedUsage()
    slice_placement.keep(assumed)
    found = slice_placement.place(assumed, CapacityMode.CURRENT)
    assert not isinstance(found, PlacementFailure), found.message
    return found.domains


def placed(outcome: GroupPlacement | PlacementFailure) -> GroupPlacement:
    assert isinstance(outcome, GroupPlacement), outcome.message
    return outcome


def failed(outcome: object) -> str:
    assert isinstance(outcome, PlacementFailure), outcome
    return outcome.message


def pods(found: TopologyDomains | None) -> dict[str, int]:
    """Pods by the values of their domain."""
    assert found is not None
    return {"/".join(domain.values): domain.pods for domain in found.domains}


def workers(outcome: GroupPlacement | PlacementFailure) -> dict[str, int]:
    return pods(placed(outcome).workers)


def use(flavor: FlavorDomains, found: TopologyDomains, per_pod: Mapping[str, int] = ONE) -> None:
    """Count the pods of an assignment."""
    for domain in found.domains:
        flavor.counter(domain.values, per_pod).use(domain.pods)
