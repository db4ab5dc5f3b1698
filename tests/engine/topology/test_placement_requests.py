"""Requests that do not suit a topology, and preferences (TAS-43, TAS-57, TAS-65)."""

from typing import Any

import pytest

from engine.topology.clusters import HOST, domains, failed, flavor_of, node, placed, pods, request, store, workers
from kohort.api.core.affinity import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.meta import Taint, Toleration
from kohort.engine.topology import CapacityMode, NodeMatcher, PlacementSettings, SliceLayer, TopologyStore, node_matcher

TREE = {"b1": {"r1": {"h1": 4, "h2": 4}}, "b2": {"r2": {"h3": 4}}}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "topology level not specified"),
        ({"required": "zone"}, "no requested topology level: zone"),
        ({"preferred": "zone"}, "no requested topology level: zone"),
        ({"layers": (SliceLayer("zone", 2),)}, "no requested topology level for slices: zone"),
        (
            {"required": "rack", "layers": (SliceLayer("block", 2),)},
            "podset slice topology block is above the podset topology rack",
        ),
        (
            {"required": "rack", "layers": (SliceLayer("rack", 0),)},
            "slice topology requested, but slice size not provided",
        ),
        (
            {"layers": (SliceLayer("rack", 4), SliceLayer("zone", 2))},
            "no requested topology level for additional slice layer: zone",
        ),
        (
            {"layers": (SliceLayer("rack", 4), SliceLayer("block", 2))},
            "additional slice layer topology block must be at a lower level than rack",
        ),
        (
            {"layers": (SliceLayer("rack", 4), SliceLayer(HOST, 3))},
            "additional slice layer size 3 must evenly divide parent layer size 4",
        ),
        ({"layers": (SliceLayer("rack", 3),)}, "pod count 4 is not a multiple of the slice size 3 on level rack"),
    ],
)
def test_a_request_that_does_not_suit_the_topology_fails_with_the_reason(options: dict[str, Any], problem: str) -> None:
    """TAS-43, TAS-57; whole slices are our choice for Q-1."""
    described = f"{problem} (flavor default; levels of Topology default: block, rack, {HOST})"
    assert failed(domains(TREE).place(request(4, **options))) == described


def test_an_implicit_request_is_unconstrained() -> None:
    """TAS-35, TAS-43."""
    assert workers(domains(TREE).place(request(9, is_implicit=True))) == {"h1": 4, "h2": 4, "h3": 1}


def test_a_topology_without_nodes_has_no_domains() -> None:
    """TAS-51(1)."""
    assert failed(domains({}).place(request(1, preferred="rack"))) == "no topology domains at level: rack"


def test_an_empty_cluster_is_what_no_workload_uses() -> None:
    """TAS-76: pods outside TAS still count."""
    topologies = store(TREE)
    flavor = flavor_of(topologies)
    flavor.counter(("h1",), {"cpu": 1000, "pods": 1}).use(4)
    topologies.set_non_tas_usage("h2", {"cpu": 4000, "pods": 1})
    asked = request(8, unconstrained=True)
    assert "only 4 out of 8" in failed(flavor.place(asked))
    assert workers(flavor.place(asked, mode=CapacityMode.EMPTY)) == {"h1": 4, "h3": 4}


def test_a_toleration_admits_tainted_nodes() -> None:
    """TAS-45: of the pod or of its flavor; PreferNoSchedule is ignored."""
    topologies = store({})
    labels = {"block": "b", "rack": "r", HOST: "h"}
    taints = (Taint(key="gpu", effect="NoExecute"), Taint(key="soft", effect="PreferNoSchedule"))
    topologies.put_node(node("h", labels, 4, taints))
    flavor = flavor_of(topologies)
    assert 'taint "gpu:NoExecute": 1' in failed(flavor.place(request(1, unconstrained=True)))
    tolerant = node_matcher(QuotaPodSpec(containers=()), (Toleration(key="gpu", operator="Exists"),))
    assert workers(flavor.place(request(1, unconstrained=True, matcher=tolerant))) == {"h": 1}


def term(label: str, value: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key=label, operator="In", values=(value,)),))


def affine(required: tuple[str, str] | None = None, preferred: tuple[tuple[int, str, str], ...] = ()) -> NodeMatcher:
    selector = NodeSelector(node_selector_terms=(term(*required),)) if required else None
    terms = tuple(PreferredSchedulingTerm(weight=weight, preference=term(*rest)) for weight, *rest in preferred)
    affinity = NodeAffinity(
        required_during_scheduling_ignored_during_execution=selector,
        preferred_during_scheduling_ignored_during_execution=terms,
    )
    return node_matcher(QuotaPodSpec(containers=(), affinity=Affinity(node_affinity=affinity)))


def test_required_affinity_excludes_nodes() -> None:
    """TAS-45(3)."""
    asked = request(5, required="block", matcher=affine(("rack", "r2")))
    assert failed(domains(TREE).place(asked)) == (
        'topology "default" allows to fit only 4 out of 5 pod(s). Total nodes: 3; excluded: affinity: 2'
    )


HOSTS = {
    "h1": ("r1", 4, "x"),
    "h2": ("r1", 4, "x"),
    "h3": ("r2", 4, "y"),
    "h4": ("r3", 5, "x"),
    "h5": ("r3", 4, "y"),
}


def pools(*, respects: bool) -> TopologyStore:
    """Racks r1, r2 and r3 with 8, 4 and 9 cpus; h3 and h5 are in pool y."""
    topologies = store({}, settings=PlacementSettings(prefers_affinity=respects))
    for name, (rack, cpus, pool) in HOSTS.items():
        topologies.put_node(node(name, {"block": "b", "rack": rack, HOST: name, "pool": pool}, cpus))
    return topologies


PREFERS_Y = affine(preferred=((10, "pool", "y"), (1, "pool", "x")))


@pytest.mark.parametrize(
    ("count", "options", "expected"),
    [
        (3, {"required": "rack"}, {"h5": 3}),
        (9, {"required": "rack"}, {"h4": 5, "h5": 4}),
        (8, {"unconstrained": True}, {"h3": 4, "h5": 4}),
        (2, {"unconstrained": True}, {"h3": 2}),
        (5, {"unconstrained": True}, {"h4": 5}),
    ],
)
def test_preferred_nodes_come_before_tight_ones(count: int, options: Any, expected: dict[str, int]) -> None:
    """TAS-65: r3 scores 11, r2 10 and r1 2."""
    flavor = flavor_of(pools(respects=True))
    assert workers(flavor.place(request(count, matcher=PREFERS_Y, **options))) == expected


def test_a_required_level_is_searched_beyond_the_preferred_domain() -> None:
    """TAS-65."""
    topologies = pools(respects=True)
    flavor = flavor_of(topologies)
    flavor.counter(("h4",), {"cpu": 1000, "pods": 1}).use(5)
    assert workers(flavor.place(request(7, required="rack", matcher=PREFERS_Y))) == {"h1": 4, "h2": 3}


def test_preferred_nodes_matter_only_with_the_gate() -> None:
    """TAS-65: off by default."""
    asked = request(3, required="rack", matcher=PREFERS_Y)
    assert workers(flavor_of(pools(respects=False)).place(asked)) == {"h3": 3}


def test_a_leader_and_workers_that_are_spread() -> None:
    """TAS-51(7b): the leader's domain first, then the others by what they can have."""
    tree = {"b1": {"r1": {"h1": 4}}, "b2": {"r2": {"h2": 6}}, "b3": {"r3": {"h3": 3}}}
    leader = {"leader": "leader", "leader_per_pod": {"cpu": 3500, "pods": 1}}
    found = placed(domains(tree).place(request(8, preferred="block", **leader)))
    assert pods(found.leader) == {"h2": 1}
    assert pods(found.workers) == {"h1": 4, "h2": 2, "h3": 2}


def test_a_leader_that_fits_on_no_node() -> None:
    """TAS-51(7c)."""
    leader = {"leader": "leader", "leader_per_pod": {"cpu": 9000, "pods": 1}}
    found = domains(TREE).place(request(2, preferred="block", **leader))
    assert failed(found) == 'topology "default" doesn\'t allow to fit any of 2 pod(s)'
