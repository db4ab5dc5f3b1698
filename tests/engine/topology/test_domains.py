"""Domain trees, capacity and usage (docs/spec/topology.md sections 4 and 5)."""

from typing import Any

import pytest

from engine.topology.clusters import (
    HOST,
    LEVELS,
    ONE,
    domains,
    failed,
    flavor_of,
    host,
    node,
    request,
    store,
    use,
    workers,
)
from kohort.api.core.nodes import Node, NodeSpec, NodeStatus
from kohort.api.core.objects import StatusCondition
from kohort.api.meta import Taint
from kohort.engine.records import Flavor
from kohort.engine.topology import FlavorDomains, PlacementFailure, PlacementSettings, TopologyStore

RACK = {"b": {"r": {"h1": 2, "h2": 2}}}
DEFAULT = frozenset(("default",))


def capacity(flavor: FlavorDomains) -> int:
    """Pods of one cpu that fit."""
    found = flavor.place(request(10_000, unconstrained=True))
    assert isinstance(found, PlacementFailure)
    return found.fitting


def other(**status: Any) -> Node:
    changed = {
        "allocatable": {"cpu": "4", "pods": "110"},
        "conditions": (StatusCondition(type="Ready", status="True"),),
    }
    labels = {"block": "b", "rack": "r", HOST: "h3"}
    base = node("h3", labels, 4)
    return Node(metadata=base.metadata, spec=status.pop("spec", base.spec), status=NodeStatus(**{**changed, **status}))


@pytest.mark.parametrize(
    "unusable",
    [
        other(conditions=()),
        other(conditions=(StatusCondition(type="Ready", status="Unknown"),)),
        other(spec=NodeSpec(unschedulable=True)),
    ],
)
def test_only_ready_and_schedulable_nodes_have_capacity(unusable: Node) -> None:
    """TAS-19."""
    topologies = store(RACK)
    assert topologies.put_node(unusable) == frozenset()
    assert capacity(flavor_of(topologies)) == 4
    assert topologies.put_node(other()) == DEFAULT
    assert capacity(flavor_of(topologies)) == 8
    assert topologies.put_node(unusable) == DEFAULT
    assert capacity(flavor_of(topologies)) == 4


def test_a_heartbeat_changes_nothing() -> None:
    """TAS-20."""
    topologies = store(RACK)
    topologies.put_node(other())
    tree = flavor_of(topologies).tree
    beat = (StatusCondition(type="Ready", status="True"), StatusCondition(type="MemoryPressure", status="False"))
    assert topologies.put_node(other(conditions=beat)) == frozenset()
    assert flavor_of(topologies).tree is tree


@pytest.mark.parametrize("labels", [{"block": "b", HOST: "h3"}, {"block": "b", "rack": "r", HOST: "h3", "pool": "y"}])
def test_members_have_the_labels_of_the_flavor_and_of_every_level(labels: dict[str, str]) -> None:
    """TAS-21."""
    topologies = TopologyStore(PlacementSettings())
    topologies.put_topology("default", LEVELS)
    topologies.put_flavor(Flavor("default", {"pool": "x"}, (), (), "default"))
    assert topologies.put_node(node("h3", labels, 4)) == frozenset()
    assert topologies.put_node(node("h4", {"block": "b", "rack": "r", HOST: "h4", "pool": "x"}, 3)) == DEFAULT
    assert capacity(flavor_of(topologies)) == 3


def test_nodes_of_one_domain_are_merged() -> None:
    """TAS-22(3), TAS-26: two nodes per rack, and pods outside TAS on one of them."""
    topologies = store({}, ("block", "rack"))
    for name in ("n1", "n2"):
        topologies.put_node(node(name, {"block": "b", "rack": "r", HOST: name}, 4))
    assert workers(flavor_of(topologies).place(request(7, required="rack"))) == {"b/r": 7}
    topologies.set_non_tas_usage("n1", {"cpu": 2000, "pods": 1})
    assert failed(flavor_of(topologies).place(request(7, required="rack"))) == (
        'topology "default" allows to fit only 6 out of 7 pod(s)'
    )


def test_hosts_with_one_hostname_are_one_domain_whose_first_node_is_checked() -> None:
    """TAS-22(2), TAS-22(3)."""
    topologies = store({})
    taint = (Taint(key="x", effect="NoSchedule"),)
    topologies.put_node(node("b-second", {"block": "b", "rack": "r2", HOST: "h"}, 1, taint))
    topologies.put_node(node("a-first", {"block": "b", "rack": "r1", HOST: "h"}, 2))
    flavor = flavor_of(topologies)
    assert workers(flavor.place(request(3, required="rack"))) == {"h": 3}
    assert flavor.path_of(("h",), "rack") == ("b", "r1")


def test_taints_of_nodes_do_not_matter_in_a_topology_without_hosts() -> None:
    """TAS-45."""
    topologies = store({}, ("block", "rack"))
    topologies.put_node(node("n", {"block": "b", "rack": "r", HOST: "n"}, 4, (Taint(key="x", effect="NoSchedule"),)))
    assert workers(flavor_of(topologies).place(request(4, required="rack"))) == {"b/r": 4}


def test_more_allocatable_counts_at_once() -> None:
    """TAS-20, TAS-26."""
    topologies = store(RACK)
    flavor = flavor_of(topologies)
    assert capacity(flavor) == 4
    assert topologies.put_node(host("h1", "b", "r", 5)) == DEFAULT
    assert flavor_of(topologies) is flavor
    assert capacity(flavor) == 7


def test_pods_outside_tas_take_capacity_of_nodes_that_come_later() -> None:
    """TAS-27."""
    topologies = store({})
    assert topologies.set_non_tas_usage("h1", {"cpu": 1500, "pods": 1}) == frozenset()
    topologies.put_node(host("h1", "b", "r", 4))
    assert capacity(flavor_of(topologies)) == 2
    assert topologies.set_non_tas_usage("h1", {"cpu": 1500, "pods": 1}) == frozenset()
    assert topologies.set_non_tas_usage("h1", {}) == DEFAULT
    assert capacity(flavor_of(topologies)) == 4


def test_usage_counts_pods_too() -> None:
    """TAS-29, TAS-32: 110 pods per host, for any requests."""
    flavor = domains({"b": {"r": {"h": 1000}}})
    empty = request(200, per_pod={}, unconstrained=True)
    assert failed(flavor.place(empty)).startswith('topology "default" allows to fit only 110 out of 200 pod(s)')
    flavor.counter(("h",), {}).use(100)
    assert failed(flavor.place(empty)).startswith('topology "default" allows to fit only 10 out of 200 pod(s)')


def test_a_resource_that_nodes_lack_limits_to_none() -> None:
    """TAS-32, TAS-46(3)."""
    flavor = domains(RACK)
    asked = request(1, per_pod={"nvidia.com/gpu": 1, "cpu": 1000, "pods": 1}, unconstrained=True)
    assert failed(flavor.place(asked)) == (
        'topology "default" doesn\'t allow to fit any of 1 pod(s).'
        ' Total nodes: 2; excluded: resource "nvidia.com/gpu": 2'
    )


def test_usage_of_an_absent_domain_counts_when_the_domain_comes() -> None:
    """TAS-4, TAS-30."""
    topologies = store({})
    topologies.put_node(host("h1", "b", "r", 4))
    flavor = flavor_of(topologies)
    counter = flavor.counter(("h2",), ONE)
    counter.use(3)
    assert not flavor.has_domain(("h2",))
    assert capacity(flavor) == 4
    topologies.put_node(host("h2", "b", "r", 4))
    assert capacity(flavor) == 5
    counter.free(3)
    assert capacity(flavor) == 8


def test_usage_of_hosts_outlives_a_change_of_levels() -> None:
    """TAS-4."""
    topologies = store(RACK)
    use(flavor_of(topologies), workers_of(flavor_of(topologies), 3))
    assert topologies.put_topology("default", ("rack", HOST)) == DEFAULT
    flavor = flavor_of(topologies)
    assert flavor.levels == ("rack", HOST)
    assert capacity(flavor) == 1


def workers_of(flavor: FlavorDomains, count: int) -> Any:
    found = flavor.place(request(count, unconstrained=True))
    assert not isinstance(found, PlacementFailure)
    return found.workers


def test_counters_are_equal_by_flavor_domain_and_shape() -> None:
    flavor = domains(RACK)
    counter = flavor.counter(("h1",), ONE)
    assert {counter, flavor.counter(("h1",), dict(reversed(ONE.items())))} == {counter}
    assert counter not in {flavor.counter(("h2",), ONE), flavor.counter(("h1",), {"cpu": 1, "pods": 1})}


@pytest.mark.parametrize("levels", [LEVELS, ("block", "rack")])
def test_flavors_share_hosts_but_no_other_domains(levels: tuple[str, ...]) -> None:
    """TAS-31."""
    topologies = store({}, levels)
    topologies.put_node(host("h1", "b", "r", 4))
    topologies.put_flavor(Flavor("other", {}, (), (), "default"))
    values = ("h1",) if levels == LEVELS else ("b", "r")
    flavor_of(topologies, "other").counter(values, ONE).use(3)
    assert capacity(flavor_of(topologies)) == (1 if levels == LEVELS else 4)


def test_a_flavor_without_its_topology_has_no_domains() -> None:
    """TAS-6."""
    topologies = store(RACK)
    assert topologies.remove_topology("default") == DEFAULT
    assert topologies.flavor("default") is None
    assert topologies.put_node(host("h3", "b", "r", 1)) == frozenset()
    assert topologies.put_topology("default", LEVELS) == DEFAULT
    assert capacity(flavor_of(topologies)) == 5


def test_a_flavor_that_changes_has_other_members() -> None:
    """TAS-5."""
    topologies = store(RACK)
    assert topologies.put_flavor(Flavor("default", {"rack": "r9"}, (), (), "default")) == DEFAULT
    assert failed(flavor_of(topologies).place(request(1, required="rack"))) == "no topology domains at level: rack"
    assert topologies.put_flavor(Flavor("default", {"rack": "r9"}, (), (), "default")) == frozenset()
    assert topologies.remove_flavor("default") == DEFAULT
    assert topologies.flavor("default") is None
    assert topologies.put_flavor(Flavor("plain", {}, (), ())) == frozenset()


def test_a_deleted_node_keeps_its_hostname_while_pods_are_assigned_to_it() -> None:
    """TAS-25, and our choice for Q-10: names of nodes and hostnames may differ."""
    topologies = store({})
    topologies.put_node(node("ip-1", {"block": "b", "rack": "r", HOST: "h1"}, 4))
    topologies.put_node(node("ip-2", {"block": "b", "rack": "r", HOST: "h2"}, 4))
    flavor_of(topologies).counter(("h1",), ONE).use(1)
    for name in ("ip-1", "ip-2"):
        topologies.remove_node(name)
    assert [topologies.hostname(name) for name in ("ip-1", "ip-2", "h9")] == ["h1", "ip-2", "h9"]
