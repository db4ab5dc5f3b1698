"""The worked examples of docs/spec/topology.md section 18, as golden tests."""

import pytest

from engine.topology.clusters import (
    HOST,
    ONE,
    domains,
    failed,
    flavor_of,
    host,
    node,
    placed,
    pods,
    request,
    resized,
    store,
    use,
    workers,
)
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.kueue.slices import Domain
from kohort.api.meta import Taint
from kohort.engine.records import Flavor
from kohort.engine.topology import (
    FailedNode,
    GroupPlacement,
    NodeReplacement,
    PlacementSettings,
    SliceLayer,
    TopologyDomains,
    node_matcher,
    replace_node,
)

T = {
    "b1": {"r1": {"h1": 2, "h2": 2}, "r2": {"h3": 4, "h4": 2, "h5": 1}},
    "b2": {"r3": {"h6": 3, "h7": 3}},
}
U = {
    "b1": {"r1": {"h1": 5, "h2": 3}, "r2": {"h3": 4, "h4": 4}},
    "b2": {"r3": {"h5": 7, "h6": 2}},
}
V = {
    "b1": {"r1": {"h1": 4, "h2": 4, "h3": 3}, "r2": {"h4": 4, "h5": 2, "h6": 2}},
    "b2": {"r3": {"h7": 4, "h8": 4}, "r4": {"h9": 4, "h10": 4}},
}


def test_ex_1_the_tightest_rack_is_taken() -> None:
    """EX-1; TAS-50, TAS-51(3)."""
    assert workers(domains(T).place(request(5, required="rack"))) == {"h6": 3, "h7": 2}


def test_ex_2_no_rack_is_large_enough() -> None:
    """EX-2; TAS-51(5), TAS-113."""
    assert failed(domains(T).place(request(8, required="rack"))) == (
        'topology "default" allows to fit only 7 out of 8 pod(s)'
    )


def test_ex_3_a_preferred_request_climbs_one_level() -> None:
    """EX-3; TAS-51(6), TAS-52(2)."""
    assert workers(domains(T).place(request(9, preferred="rack"))) == {"h1": 2, "h2": 2, "h3": 4, "h5": 1}


def test_ex_4_a_preferred_request_that_no_block_can_have_is_spread() -> None:
    """EX-4; TAS-51(7)."""
    assert workers(domains(T).place(request(14, preferred="rack"))) == {"h1": 2, "h2": 2, "h3": 4, "h6": 3, "h7": 3}


def test_ex_5_an_unconstrained_request_takes_the_smallest_host_that_suffices() -> None:
    """EX-5; TAS-51(4)."""
    assert workers(domains(T).place(request(4, unconstrained=True))) == {"h3": 4}


def test_ex_6_an_unconstrained_request_fills_the_gaps() -> None:
    """EX-6; TAS-44, TAS-51(7d)."""
    asked = request(6, unconstrained=True)
    assert workers(domains(T).place(asked)) == {"h1": 2, "h2": 2, "h4": 1, "h5": 1}
    best_fit = domains(T, settings=PlacementSettings(mixes_profiles=False))
    assert workers(best_fit.place(asked)) == {"h1": 2, "h3": 4}


def test_ex_7_slices_of_hosts_in_a_required_block() -> None:
    """EX-7; TAS-51, TAS-52(2)."""
    asked = request(10, required="block", layers=(SliceLayer(HOST, 2),))
    assert workers(domains(U).place(asked)) == {"h2": 2, "h3": 4, "h4": 4}


def test_ex_8_slices_of_racks_in_a_preferred_block() -> None:
    """EX-8; TAS-52(3)."""
    asked = request(12, preferred="block", layers=(SliceLayer("rack", 3),))
    assert workers(domains(U).place(asked)) == {"h1": 3, "h2": 3, "h3": 4, "h4": 2}


def test_ex_9_slices_alone_start_at_the_highest_level() -> None:
    """EX-9; TAS-43, TAS-51(4)."""
    asked = request(12, layers=(SliceLayer("rack", 4),))
    assert workers(domains(U).place(asked)) == {"h1": 5, "h2": 3, "h3": 4}


LAYERS = (SliceLayer("block", 8), SliceLayer("rack", 4), SliceLayer(HOST, 2))


def test_ex_10_layers_of_slices() -> None:
    """EX-10; TAS-47(1), TAS-57, TAS-58, TAS-59."""
    asked = request(16, required="block", layers=LAYERS)
    assert workers(domains(V).place(asked)) == {"h1": 4, "h2": 2, "h3": 2, "h4": 4, "h5": 2, "h6": 2}


def test_ex_10_a_failure_counts_slices_per_layer() -> None:
    """EX-10; TAS-114."""
    tree = {"b1": {"r1": {"h1": 4, "h2": 2}, "r2": {"h3": 3, "h4": 3}}, "b2": {"r3": {"h5": 4, "h6": 1}}}
    assert failed(domains(tree).place(request(16, required="block", layers=LAYERS))) == (
        'topology "default" doesn\'t allow to fit; 1/2 slice(s) fit on level block;'
        " 2/4 slice(s) fit on level rack; 5/8 slice(s) fit on level kubernetes.io/hostname"
    )


PAIR = {"r1": {"h1": 8, "h2": 7}, "r2": {"h3": 6, "h4": 6}}
LEADER = {
    "per_pod": {"cpu": 2000, "pods": 1},
    "leader": "leader",
    "leader_per_pod": {"cpu": 3000, "pods": 1},
    "required": "rack",
}


def test_ex_11_the_leader_is_placed_where_it_costs_no_worker_that_is_needed() -> None:
    """EX-11; TAS-46(4), TAS-47(3), TAS-53."""
    found = placed(domains(PAIR, ("rack", HOST)).place(request(6, **LEADER)))
    assert pods(found.leader) == {"h2": 1}
    assert pods(found.workers) == {"h1": 4, "h2": 2}


def test_ex_11_a_failure_reports_capacity_next_to_the_leader() -> None:
    """EX-11; our choice for Q-4: Kueue reports 7 out of 7, without the leader."""
    assert failed(domains(PAIR, ("rack", HOST)).place(request(7, **LEADER))) == (
        'topology "default" allows to fit only 6 out of 7 pod(s)'
    )


def test_ex_15_a_topology_without_hosts_names_domains_by_path() -> None:
    """EX-15; TAS-22(4), TAS-55."""
    tree = {"b1": {"r1": 5, "r2": 3}, "b2": {"r1": 6, "r3": 2}}
    found = placed(domains(tree, ("block", "rack")).place(request(7, preferred="rack"))).workers
    assert found.levels == ("block", "rack")
    assert pods(found) == {"b1/r1": 5, "b1/r2": 2}


def test_ex_13_a_failed_node_is_replaced_in_the_same_rack() -> None:
    """EX-13; TAS-46(1), TAS-107, TAS-108."""
    topologies = store(T)
    flavor = flavor_of(topologies)
    asked = request(5, required="rack")
    existing = placed(flavor.place(asked)).workers
    use(flavor, existing)
    topologies.remove_node("h7")
    topologies.put_node(host("h8", "b2", "r3", 2))
    found = replace_node(flavor, asked, existing, FailedNode("h7", "h7"))
    assert isinstance(found, NodeReplacement)
    assert pods(found.domains) == {"h6": 3, "h8": 2}
    assert pods(found.added) == {"h8": 2}


def test_ex_13_a_failed_node_without_replacement() -> None:
    """EX-13; TAS-115: nodes outside the mandatory domain are counted as excluded."""
    topologies = store(T)
    flavor = flavor_of(topologies)
    asked = request(5, required="rack")
    existing = placed(flavor.place(asked)).workers
    use(flavor, existing)
    topologies.remove_node("h7")
    topologies.put_node(host("h8", "b2", "r3", 1))
    assert failed(replace_node(flavor, asked, existing, FailedNode("h7", "h7"))) == (
        'topology "default" allows to fit only 1 out of 2 pod(s).'
        ' Total nodes: 7; excluded: resource "cpu": 1, topologyDomain: 5'
    )


def assigned(**hosts: int) -> TopologyDomains:
    return TopologyDomains((HOST,), tuple(Domain((name,), count) for name, count in hosts.items()))


@pytest.mark.parametrize("main", [{"preferred": "block"}, {}])
def test_ex_14_the_rest_of_a_slice_keeps_replacements_in_its_rack(main: dict[str, str]) -> None:
    """EX-14; TAS-108; without a main topology Kueue fails, and we place without one (Q-13)."""
    topologies = store({"b1": {"r1": {"h1": 5, "h2": 4}, "r2": {"h3": 5, "h4": 9}}})
    flavor = flavor_of(topologies)
    existing = assigned(h1=2, h2=2, h3=4)
    use(flavor, existing)
    topologies.remove_node("h2")
    asked = request(8, layers=(SliceLayer("rack", 4),), **main)
    found = replace_node(flavor, asked, existing, FailedNode("h2", "h2"))
    assert isinstance(found, NodeReplacement)
    assert pods(found.domains) == {"h1": 4, "h3": 4}


def test_ex_14_a_whole_slice_may_move_to_another_rack() -> None:
    """EX-14; TAS-108: the request is not `required`."""
    topologies = store({"b1": {"r1": {"h1": 2, "h2": 2}, "r2": {"h3": 4}, "r3": {"h4": 4}}})
    flavor = flavor_of(topologies)
    existing = assigned(h1=2, h2=2, h3=4)
    use(flavor, existing)
    topologies.remove_node("h3")
    asked = request(8, preferred="block", layers=(SliceLayer("rack", 4),))
    found = replace_node(flavor, asked, existing, FailedNode("h3", "h3"))
    assert isinstance(found, NodeReplacement)
    assert pods(found.domains) == {"h1": 2, "h2": 2, "h4": 4}


def test_ex_16_causes_of_exclusions() -> None:
    """EX-16; TAS-45, TAS-46(3), TAS-115."""
    topologies = store({})
    labels = {"block": "b1", "rack": "r1", "pool": "x"}
    tainted = (Taint(key="gpu", effect="NoSchedule", value="true"),)
    topologies.put_node(node("n1", {**labels, HOST: "n1"}, 8, tainted))
    topologies.put_node(node("n2", {"block": "b1", "rack": "r1", HOST: "n2"}, 8))
    topologies.put_node(node("n3", {**labels, HOST: "n3"}, 1))
    matcher = node_matcher(QuotaPodSpec(containers=(), node_selector={"pool": "x"}))
    asked = request(4, per_pod={"cpu": 2000, "pods": 1}, required="rack", matcher=matcher)
    assert failed(flavor_of(topologies).place(asked)) == (
        'topology "default" doesn\'t allow to fit any of 4 pod(s). Total nodes: 3;'
        ' excluded: nodeSelector: 1, resource "cpu": 1, taint "gpu=true:NoSchedule": 1'
    )


def test_ex_17_flavors_share_the_usage_of_hosts() -> None:
    """EX-17; TAS-31; the gate switches it off."""
    for shares, outcome in ((True, "allows to fit only 2 out of 4 pod(s)"), (False, "")):
        topologies = store({"b": {"r": {"h1": 8}}}, settings=PlacementSettings(shares_hosts=shares))
        topologies.put_flavor(Flavor("other", {}, (), (), "default"))
        flavor_of(topologies, "other").counter(("h1",), ONE).use(6)
        found = flavor_of(topologies).place(request(4, unconstrained=True))
        assert outcome in failed(found) if outcome else workers(found) == {"h1": 4}


def test_ex_20_an_elastic_workload_grows_next_to_its_pods() -> None:
    """EX-20; TAS-67; the old slice's usage is released, so that it counts once (Q-12)."""
    flavor = domains({"b": {"r": {"h1": 2, "h2": 3, "h3": 3}}})
    previous = GroupPlacement(assigned(h1=2, h2=2))
    assert pods(resized(flavor, request(5, unconstrained=True), previous)["main"]) == {"h1": 2, "h2": 3}


def test_ex_20_an_elastic_workload_shrinks_from_the_end() -> None:
    """EX-20; TAS-67."""
    flavor = domains({"b": {"r": {"h1": 2, "h2": 3, "h3": 3}}})
    previous = GroupPlacement(assigned(h1=2, h2=2))
    assert pods(resized(flavor, request(3, unconstrained=True), previous)["main"]) == {"h1": 2, "h2": 1}


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (10, {"h3": 5, "h4": 5}),
        (16, {"h1": 6, "h3": 5, "h4": 5}),
        (30, {"h1": 6, "h2": 6, "h3": 5, "h4": 4, "h6": 9}),
    ],
)
def test_ex_12_balanced_placement(count: int, expected: dict[str, int]) -> None:
    """EX-12; TAS-60, TAS-61, TAS-62, TAS-63, TAS-64; the last one fits no block, and is placed as without the gate."""
    tree = {"b1": {"r1": {"h1": 6, "h2": 6}, "r2": {"h3": 5, "h4": 5, "h5": 2}}, "b2": {"r3": {"h6": 9, "h7": 3}}}
    balanced = domains(tree, settings=PlacementSettings(balances=True))
    assert workers(balanced.place(request(count, preferred="rack"))) == expected
    if count == 10:
        assert workers(domains(tree).place(request(count, preferred="rack"))) == {"h1": 6, "h2": 4}
