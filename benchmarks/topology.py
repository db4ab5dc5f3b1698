"""CPU of placements by topology: large gangs, clusters that are nearly full, and searches for victims."""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from benchmarks.measure import Measurement
from benchmarks.racks import sample_node
from kohort.api.core.nodes import HOSTNAME, Node
from kohort.api.markers import ResourceList
from kohort.engine.records import Flavor
from kohort.engine.topology import (
    FlavorDomains,
    GroupPlacement,
    PlacementRequest,
    PlacementSettings,
    SliceLayer,
    TopologyStore,
)

LEVELS = ("block", "rack", HOSTNAME)
HOSTS_PER_RACK, RACKS_PER_BLOCK, PODS_PER_HOST = 16, 25, 8
ONE_POD: Mapping[str, int] = {"cpu": 8000, "memory": 32 << 30, "nvidia.com/gpu": 1, "pods": 1}
KINDS: Mapping[str, dict[str, Any]] = {
    "required block": {"required": "block"},
    "preferred rack": {"preferred": "rack"},
    "unconstrained": {"unconstrained": True},
    "slices of 64 per rack": {"preferred": "block", "layers": (SliceLayer("rack", 64),)},
    "leader, unconstrained": {
        "unconstrained": True,
        "leader": "leader",
        "leader_per_pod": {"cpu": 8000, "nvidia.com/gpu": 1, "pods": 1},
    },
}
GANG, VICTIMS = 1024, 700
PREEMPTOR = 5696
"""Pods: slices of 64, and more than the candidates have."""
LIMIT_MS, SEARCH_LIMIT_MS = 50.0, 500.0


def figures() -> Iterator[Measurement]:
    """Every figure of the suite."""
    empty = cluster(10_000)
    yield _limit("build the tree of 10,000 nodes / limit", _milliseconds(lambda: flavor_of(empty).tree), 200.0)
    for kind in KINDS:
        domains, gang = flavor_of(empty), request(GANG, kind)
        cold = _milliseconds(partial(domains.place, gang))
        yield _limit(f"{kind}: 1,024 pods on 10,000 nodes, first / limit", cold, LIMIT_MS)
        yield _limit(f"{kind}: the same again / limit", placement_ms(domains, gang, 20), LIMIT_MS)
    few, many = (flavor_of(nearly_full(nodes)) for nodes in (1_000, 10_000))
    for kind in KINDS:
        gang = request(64, kind)
        ours, peer = (placement_ms(domains, gang, 100) for domains in (many, few))
        yield Measurement(f"{kind}, 90% full: 10,000 / 1,000 nodes", ours, peer, ours / peer, 2.0, "ms")
    for change, states in NODE_CHANGES.items():
        ours, peer = (node_change_ms(nodes, states) for nodes in (10_000, 1_000))
        yield Measurement(f"a node {change}, then 64 pods: 10,000 / 1,000 nodes", ours, peer, ours / peer, 2.0, "ms")
    for kind in KINDS:
        yield _limit(f"{kind}: {VICTIMS} candidates on 2,000 nodes / limit", victim_search_ms(kind), SEARCH_LIMIT_MS)


def cluster(nodes: int) -> TopologyStore:
    """Equal nodes in racks and blocks."""
    store = TopologyStore(PlacementSettings())
    store.put_topology("default", LEVELS)
    store.put_flavor(Flavor("default", {}, (), (), "default"))
    for number in range(nodes):
        store.put_node(_node(number))
    return store


def nearly_full(nodes: int) -> TopologyStore:
    """The same with free capacity in every tenth rack only."""
    store = cluster(nodes)
    for number in range(nodes):
        if number // HOSTS_PER_RACK % 10:
            flavor_of(store).counter((_name(number),), ONE_POD).use(PODS_PER_HOST)
    return store


def flavor_of(store: TopologyStore) -> FlavorDomains:
    flavor = store.flavor("default")
    assert flavor is not None
    return flavor


def request(pods: int, kind: str) -> PlacementRequest:
    return PlacementRequest(pod_set="workers", count=pods, per_pod=ONE_POD, **KINDS[kind])


def placement_ms(domains: FlavorDomains, gang: PlacementRequest, rounds: int) -> float:
    """CPU of a placement whose usage is counted, and released before the next one; the least of some rounds."""
    return min(_milliseconds(lambda: _place_and_release(domains, gang)) for _ in range(rounds))


def node_change_ms(nodes: int, states: tuple[Node, Node]) -> float:
    """CPU of a placement after a node changed; the least of some rounds."""
    store, gang = cluster(nodes), request(64, "required block")
    domains = flavor_of(store)

    def change(state: Node) -> None:
        store.put_node(state)
        assert isinstance(domains.place(gang), GroupPlacement)

    change(states[0])
    return min(_milliseconds(partial(change, state)) for state in states * 20)


def victim_search_ms(kind: str) -> float:
    """CPU of a search on a full cluster: after each candidate's release the preemptor is placed again, in vain."""
    nodes = 2_000
    store = cluster(nodes)
    domains = flavor_of(store)
    holders = [domains.counter((_name(number),), ONE_POD) for number in range(nodes)]
    for holder in holders:
        holder.use(PODS_PER_HOST)
    gang = request(PREEMPTOR, kind)
    domains.place(gang)

    def search() -> None:
        for number in range(VICTIMS):
            holders[number * 2].free(PODS_PER_HOST)
            assert not isinstance(domains.place(gang), GroupPlacement)
        for number in range(VICTIMS):
            holders[number * 2].use(PODS_PER_HOST)

    return min(_milliseconds(search) for _ in range(3))


def _place_and_release(domains: FlavorDomains, gang: PlacementRequest) -> None:
    found = domains.place(gang)
    assert isinstance(found, GroupPlacement)
    held = [(domains.counter(domain.values, gang.per_pod), domain.pods) for domain in found.workers.domains]
    for counter, pods in held:
        counter.use(pods)
    for counter, pods in held:
        counter.free(pods)


def _node(number: int, ready: str = "True", **more_labels: str) -> Node:
    rack = number // HOSTS_PER_RACK
    labels = {"block": f"b{rack // RACKS_PER_BLOCK:03}", "rack": f"r{rack:04}", HOSTNAME: _name(number), **more_labels}
    allocatable: ResourceList = {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": str(PODS_PER_HOST), "pods": "110"}
    return sample_node(_name(number), labels, allocatable, ready)


def _name(number: int) -> str:
    return f"node-{number:05}"


NODE_CHANGES: Mapping[str, tuple[Node, Node]] = {
    "gets a label": (_node(500), _node(500, pool="a")),
    "stops or starts being ready": (_node(500), _node(500, "False")),
}


def _milliseconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return (time.process_time() - begin) * 1000


def _limit(name: str, milliseconds: float, limit: float) -> Measurement:
    return Measurement(name, milliseconds, limit, milliseconds / limit, 1.0, "ms")
