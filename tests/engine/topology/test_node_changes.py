"""Nodes that come, go, move and change: a tree that follows equals one that is built anew, and costs no building."""

from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from engine.topology.clusters import (
    HOST,
    LEVELS,
    ONE,
    failed,
    flavor_of,
    host,
    node,
    placed,
    pods,
    request,
    store,
    workers,
)
from engine.topology.placement_strategies import requests
from kohort.api.core.affinity import (
    Affinity,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from kohort.api.core.nodes import Node, NodeSpec
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.meta import Taint
from kohort.engine.topology import (
    FlavorDomains,
    GroupPlacement,
    NodeMatcher,
    PlacementRequest,
    PlacementSettings,
    SliceLayer,
    TopologyStore,
    node_matcher,
)
from kohort.engine.topology.tree import DomainTree

NAMES = ("n1", "n2", "n3", "n4", "n5")
TAINT = Taint(key="gpu", effect="NoSchedule", value="true")
PREFERS_X = PreferredSchedulingTerm(
    weight=5,
    preference=NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="pool", operator="In", values=("x",)),)),
)
MATCHERS: tuple[NodeMatcher, ...] = (
    NodeMatcher(),
    node_matcher(QuotaPodSpec(containers=(), node_selector={"pool": "x"})),
    node_matcher(
        QuotaPodSpec(
            containers=(),
            affinity=Affinity(NodeAffinity(preferred_during_scheduling_ignored_during_execution=(PREFERS_X,))),
        )
    ),
)
TOPOLOGIES: tuple[tuple[str, ...], ...] = (LEVELS, ("block", "rack"), ("rack", HOST))


def states(name: str) -> st.SearchStrategy[Node]:
    """A node in some state; some are not usable, lack a label, or have the hostname of another."""
    return st.builds(
        lambda block, rack, hostname, pool, cpus, taints, spec: Node(
            metadata=(
                made := node(
                    name, {"block": block, "rack": rack, HOST: hostname, "pool": pool}, {"cpu": str(cpus)}, taints
                )
            ).metadata,
            spec=NodeSpec(taints=made.spec.taints, unschedulable=spec),
            status=made.status,
        ),
        st.sampled_from(("b1", "b2")),
        st.sampled_from(("r1", "r2")),
        st.sampled_from((name, name, name, "n1")),
        st.sampled_from(("x", "x", "y")),
        st.integers(0, 4),
        st.sampled_from(((), (), (TAINT,))),
        st.sampled_from((False, False, True)),
    )


CHANGES = st.sampled_from(NAMES).flatmap(
    lambda name: st.tuples(st.just(name), st.one_of(st.none(), states(name), states(name)))
)
"""A name with the new state; None if the node is deleted."""
SETTINGS = st.builds(PlacementSettings, balances=st.booleans(), prefers_affinity=st.booleans())


def with_topology(levels: tuple[str, ...], settings: PlacementSettings, nodes: dict[str, Node]) -> TopologyStore:
    topologies = store({}, levels, settings)
    for each in nodes.values():
        topologies.put_node(each)
    return topologies


@given(
    st.lists(st.lists(CHANGES, min_size=1, max_size=4), min_size=1, max_size=6),
    st.lists(requests(), min_size=1, max_size=3),
    st.sampled_from(MATCHERS),
    st.sampled_from(TOPOLOGIES),
    SETTINGS,
    st.data(),
)
def test_a_tree_that_follows_its_nodes_equals_a_new_one(
    batches: list[list[tuple[str, Node | None]]],
    asked: list[PlacementRequest],
    matcher: NodeMatcher,
    levels: tuple[str, ...],
    settings: PlacementSettings,
    data: st.DataObject,
) -> None:
    """TAS-20, TAS-22, TAS-45, TAS-115: outcomes with all their figures; usage of a node that is gone waits for it."""
    now = {name: host(name, "b1", "r1", 2) for name in NAMES}
    live = with_topology(levels, settings, now)
    held: list[tuple[str, ...]] = []
    for batch in batches:
        assert flavor_of(live).tree.leaf_of_node.keys() <= set(NAMES)
        for name, state in batch:
            if state is None:
                live.remove_node(name)
                now.pop(name, None)
            else:
                live.put_node(state)
                now[name] = state
        used = data.draw(st.sampled_from([("n1",), ("n2",)] if levels[-1] == HOST else [("b1", "r1"), ("b2", "r1")]))
        flavor_of(live).counter(used, {"cpu": 1000}).use(1)
        held.append(used)
        fresh = with_topology(levels, settings, now)
        for values in held:
            flavor_of(fresh).counter(values, {"cpu": 1000}).use(1)
        within = data.draw(st.sampled_from((None, ("b1",), ("b1", "r1"), ("r1",))))
        for each in asked:
            changed = {"count": each.count, "matcher": matcher}
            made = PlacementRequest(**{**{name: getattr(each, name) for name in each.__struct_fields__}, **changed})
            found = flavor_of(live).place(made, within=within)
            event(type(found).__name__)
            assert found == flavor_of(fresh).place(made, within=within)
        assert_equal_domains(flavor_of(live), flavor_of(fresh))


def assert_equal_domains(live: FlavorDomains, fresh: FlavorDomains) -> None:
    assert live.tree.leaf_of.keys() == fresh.tree.leaf_of.keys()
    for values in fresh.tree.leaf_of:
        assert live.path_of(values, live.levels[-1]) == fresh.path_of(values, fresh.levels[-1])
        counter = fresh.counter(values, {"cpu": 1000})
        assert live.available(counter) == fresh.available(counter)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Flavors whose tree was built, once for each time."""
    found: list[str] = []
    build = FlavorDomains._build

    def recorded(self: FlavorDomains) -> DomainTree:
        found.append(self.name)
        return build(self)

    monkeypatch.setattr(FlavorDomains, "_build", recorded)
    return found


def changed_host(**changes: Any) -> Node:
    labels = {"block": "b", "rack": "r1", HOST: "h1", **changes.pop("labels", {})}
    made = node("h1", labels, 2, changes.pop("taints", ()))
    return Node(metadata=made.metadata, spec=NodeSpec(taints=made.spec.taints, **changes), status=made.status)


TREE = {"b": {"r1": {"h1": 2, "h2": 2}, "r2": {"h3": 2}}}


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({"labels": {"nfd.example.com/cpu-model": "7"}}, True),
        ({"labels": {"pool": "y"}}, True),
        ({"taints": (TAINT,)}, False),
        ({"unschedulable": True}, False),
    ],
)
def test_a_changed_node_that_stays_where_it_is_costs_no_new_tree(
    change: dict[str, Any], fits: bool, built: list[str]
) -> None:
    """Labels, taints and readiness of one of ten thousand nodes change all the time."""
    topologies = store(TREE)
    flavor = flavor_of(topologies)
    asked = request(4, required="rack")
    flavor.place(asked)
    assert built == ["default"]
    for state, can_have in ((changed_host(**change), fits), (changed_host(), True)):
        assert topologies.put_node(state) == frozenset(("default",))
        assert isinstance(flavor.place(asked), GroupPlacement) is can_have
    assert built == ["default"]


def test_a_node_that_is_deleted_and_comes_back_costs_no_new_tree(built: list[str]) -> None:
    topologies = store(TREE)
    flavor = flavor_of(topologies)
    assert flavor.has_domain(("h1",))
    topologies.remove_node("h1")
    assert not flavor.has_domain(("h1",))
    topologies.put_node(host("h1", "b", "r1", 2))
    assert flavor.has_domain(("h1",))
    assert built == ["default"]


def test_a_new_domain_is_in_the_next_tree(built: list[str]) -> None:
    topologies = store(TREE)
    flavor = flavor_of(topologies)
    assert flavor.has_domain(("h1",))
    topologies.put_node(host("h1", "b", "r9", 2))
    assert flavor.path_of(("h1",), "rack") == ("b", "r9")
    assert built == ["default", "default"]


def test_without_any_node_left_there_are_no_domains(built: list[str]) -> None:
    """TAS-51(1)."""
    topologies = store({"b": {"r1": {"h1": 2}}})
    flavor = flavor_of(topologies)
    assert isinstance(flavor.place(request(2, required="rack")), GroupPlacement)
    topologies.remove_node("h1")
    found = flavor.place(request(2, required="rack"))
    assert not isinstance(found, GroupPlacement)
    assert found.message == "no topology domains at level: rack"
    assert built == ["default"]


def test_a_failure_counts_slices_where_there_are_nodes() -> None:
    """TAS-114: the first block has none any more."""
    topologies = store({"b1": {"r1": {"h1": 2}}, "b2": {"r2": {"h2": 2}}})
    flavor = flavor_of(topologies)
    layers = (SliceLayer("block", 8), SliceLayer("rack", 4), SliceLayer(HOST, 2))
    asked = request(8, required="block", layers=layers)
    flavor.place(asked)
    topologies.remove_node("h1")
    assert failed(flavor.place(asked)).endswith(
        "0/1 slice(s) fit on level block; 0/2 slice(s) fit on level rack;"
        " 1/4 slice(s) fit on level kubernetes.io/hostname"
    )


def test_preferences_follow_labels() -> None:
    """TAS-65."""
    topologies = store({"b": {"r": {"h1": 2, "h2": 2}}}, settings=PlacementSettings(prefers_affinity=True))
    flavor = flavor_of(topologies)
    asked = request(2, preferred=HOST, matcher=MATCHERS[2])
    assert workers(flavor.place(asked)) == {"h1": 2}
    topologies.put_node(node("h2", {"block": "b", "rack": "r", HOST: "h2", "pool": "x"}, 2))
    assert workers(flavor.place(asked)) == {"h2": 2}


def test_a_leader_leaves_a_host_that_becomes_tainted() -> None:
    """TAS-46(4): h1 could have the leader only, and no worker."""
    topologies = store({"b": {"r": {"h1": 1, "h2": 6}}})
    flavor = flavor_of(topologies)
    asked = request(3, per_pod={"cpu": 2000}, required="rack", leader="leader", leader_per_pod=ONE)
    assert pods(placed(flavor.place(asked)).leader) == {"h1": 1}
    topologies.put_node(node("h1", {"block": "b", "rack": "r", HOST: "h1"}, 1, (TAINT,)))
    assert failed(flavor.place(asked)).endswith('Total nodes: 2; excluded: taint "gpu=true:NoSchedule": 1')


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_host_of_two_nodes_has_the_path_of_the_first_that_is_left(first: str) -> None:
    """TAS-22(2), TAS-22(3)."""
    topologies = store({})
    for name, rack in (("a", "r1"), ("b", "r2")):
        topologies.put_node(node(name, {"block": "b", "rack": rack, HOST: "h"}, 2))
    flavor = flavor_of(topologies)
    assert workers(flavor.place(request(4, required="rack"))) == {"h": 4}
    topologies.remove_node(first)
    assert flavor.path_of(("h",), "rack") == ("b", "r2" if first == "a" else "r1")
    assert workers(flavor.place(request(2, required="rack"))) == {"h": 2}
    topologies.put_node(node(first, {"block": "b", "rack": "r1" if first == "a" else "r2", HOST: "h"}, 2))
    assert flavor.path_of(("h",), "rack") == ("b", "r1")
    assert workers(flavor.place(request(4, required="rack"))) == {"h": 4}
