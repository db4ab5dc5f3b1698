"""Replacement of failed nodes, elastic workloads, and groups beside each other (TAS-41, TAS-67, TAS-107, TAS-108)."""

from engine.topology.clusters import (
    HOST,
    ONE,
    domains,
    failed,
    flavor_of,
    host,
    placed,
    pods,
    request,
    resized,
    store,
    use,
)
from kohort.api.kueue.slices import Domain
from kohort.engine.topology import (
    AssumedUsage,
    FailedNode,
    GroupPlacement,
    NodeReplacement,
    SliceLayer,
    TopologyDomains,
    kept_pods,
    replace_node,
)

TREE = {"b": {"r1": {"h1": 4, "h2": 4}, "r2": {"h3": 4, "h4": 4}}}
H1 = FailedNode("h1", "h1")


def assigned(**hosts: int) -> TopologyDomains:
    return TopologyDomains((HOST,), tuple(Domain((name,), count) for name, count in hosts.items()))


def test_a_stale_assignment_is_not_replaced() -> None:
    """TAS-107(2)."""
    asked = request(3, preferred="rack")
    assert failed(replace_node(domains(TREE), asked, assigned(h1=1, h9=2), H1)) == (
        "Cannot replace the node, because the existing topologyAssignment is invalid,"
        " as it contains the stale domain h9"
    )


def test_a_node_without_pods_is_not_replaced() -> None:
    """TAS-107(4)."""
    asked = request(3, preferred="rack")
    assert failed(replace_node(domains(TREE), asked, assigned(h2=3), H1)) == (
        "cannot find replacement assignment for unhealthy node: h1"
    )


def test_a_whole_assignment_may_move_anywhere() -> None:
    """TAS-108: nothing is left of it."""
    topologies = store(TREE)
    flavor = flavor_of(topologies)
    topologies.remove_node("h1")
    flavor.counter(("h2",), ONE).use(2)
    found = replace_node(flavor, request(4, required="rack"), assigned(h1=4), H1)
    assert isinstance(found, NodeReplacement)
    assert pods(found.domains) == {"h3": 4}


def test_replacements_of_an_inner_layer_stay_in_its_domain() -> None:
    """TAS-108: two pods lost of slices of 8 per block and 4 per rack; pairs stay on one host."""
    topologies = store({"b": {"r1": {"h1": 2, "h2": 2, "h5": 3}, "r2": {"h3": 4, "h4": 4}}})
    flavor = flavor_of(topologies)
    existing = assigned(h1=2, h2=2, h3=4)
    use(flavor, existing)
    topologies.remove_node("h1")
    layers = (SliceLayer("block", 8), SliceLayer("rack", 4), SliceLayer(HOST, 2))
    found = replace_node(flavor, request(8, required="block", layers=layers), existing, H1)
    assert isinstance(found, NodeReplacement)
    assert pods(found.domains) == {"h2": 2, "h3": 4, "h5": 2}


def test_of_two_inner_layers_the_finer_one_groups_the_replacements() -> None:
    """TAS-108, Q-24: four pods of a rack go to two racks, two to each."""
    topologies = store({"b": {"r1": {"h1": 4}, "r2": {"h2": 4}, "r3": {"h3": 2}, "r4": {"h4": 2}}})
    flavor = flavor_of(topologies)
    existing = assigned(h1=4, h2=4)
    use(flavor, existing)
    topologies.remove_node("h1")
    layers = (SliceLayer("block", 8), SliceLayer("rack", 4), SliceLayer(HOST, 2))
    found = replace_node(flavor, request(8, required="block", layers=layers), existing, H1)
    assert isinstance(found, NodeReplacement)
    assert pods(found.domains) == {"h2": 4, "h3": 2, "h4": 2}


def test_an_elastic_workload_with_a_stale_assignment_is_placed_anew() -> None:
    """TAS-67."""
    asked, flavor = request(4, unconstrained=True), domains(TREE)
    assert kept_pods(flavor, asked, GroupPlacement(assigned(h9=2))) is None
    leader = request(4, unconstrained=True, leader="leader", leader_per_pod=ONE)
    assert kept_pods(flavor, leader, GroupPlacement(assigned(h1=2), assigned(h9=1))) is None


def test_the_leader_of_an_elastic_workload_stays() -> None:
    """TAS-67: its pod and the old workers take their capacity once."""
    asked = request(5, unconstrained=True, leader="leader", leader_per_pod={"cpu": 2000, "pods": 1})
    previous = GroupPlacement(assigned(h1=1), assigned(h1=1))
    flavor = domains({"b": {"r": {"h1": 4, "h2": 3}}})
    found = resized(flavor, asked, previous)
    assert pods(found["leader"]) == {"h1": 1}
    assert pods(found["main"]) == {"h1": 2, "h2": 3}


def test_an_elastic_workload_of_the_same_size_keeps_its_placement() -> None:
    """TAS-67."""
    previous = GroupPlacement(assigned(h2=1, h4=3))
    assert resized(domains(TREE), request(4, unconstrained=True), previous) == {"main": previous.workers}


def test_a_later_group_sees_what_an_earlier_one_takes() -> None:
    """TAS-31, TAS-41."""
    topologies = store({"b": {"r": {"h1": 4, "h2": 3}}})
    flavor, assumed = flavor_of(topologies), AssumedUsage()
    first = placed(flavor.place(request(3, unconstrained=True), assumed))
    flavor.assume(assumed, first.workers, ONE)
    second = placed(flavor.place(request(3, unconstrained=True), assumed))
    assert (pods(first.workers), pods(second.workers)) == ({"h2": 3}, {"h1": 3})
    assert placed(flavor.place(request(3, unconstrained=True))) == first
    topologies.put_node(host("h3", "b", "r", 3))
    assert placed(flavor.place(request(3, unconstrained=True), assumed)).workers == assigned(h3=3)
