"""The work of placements, counted: it depends on what changed and what is taken, not on the size of the cluster.

`make bench` has the seconds.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from benchmarks.topology import KINDS, ONE_POD, cluster, flavor_of, nearly_full, request
from hypothesis import given
from hypothesis import strategies as st

from engine.topology.clusters import LEVELS, host
from engine.topology.topology_scenario_builder import RACK, TopologyScenarioBuilder, required
from kohort.api.kueue.v1beta2 import ResourceFlavor, Topology
from kohort.api.kueue.v1beta2.flavors import ResourceFlavorSpec, TopologyLevel, TopologySpec
from kohort.api.meta import ObjectMeta
from kohort.engine.cycle_context import EngineCycleContext
from kohort.engine.engine import Engine
from kohort.engine.events import NodeUsageChanged, ObjectUpserted
from kohort.engine.records import WorkloadInfo
from kohort.engine.settings import EngineSettings
from kohort.engine.topology import FlavorDomains, GroupPlacement, PlacementRequest
from kohort.engine.topology.counts import DomainCounts
from kohort.engine.topology.levels import LevelCounts
from kohort.engine.topology.order import DomainOrder
from kohort.engine.topology.parameters import PlacementProfile
from kohort.engine.topology.tree import DomainTree
from kohort.engine.usage_request import UsageRequest

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hosts whose pods were counted."""
    hosts: list[int] = []
    count = DomainCounts._count_leaf

    def recorded(self: DomainCounts, leaf: int) -> bool:
        hosts.append(leaf)
        return count(self, leaf)

    monkeypatch.setattr(DomainCounts, "_count_leaf", recorded)
    return hosts


@pytest.mark.parametrize("kind", KINDS)
def test_a_placement_counts_the_hosts_that_changed_since_the_last_one(kind: str, counted: list[int]) -> None:
    """Not the others, of which nine in ten are full."""
    domains = flavor_of(nearly_full(960))
    found = domains.place(request(64, kind))
    assert isinstance(found, GroupPlacement)
    assert len(counted) == 960
    counted.clear()
    assert domains.place(request(64, kind)) == found
    assert counted == []
    for domain in found.workers.domains:
        domains.counter(domain.values, ONE_POD).use(domain.pods)
    domains.place(request(64, kind))
    assert len(counted) == len(found.workers.domains) < 12


def test_an_equal_request_is_searched_again_only_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    search = FlavorDomains._place

    def recorded(self: FlavorDomains, *arguments: Any) -> Any:
        searched.append(self.name)
        return search(self, *arguments)

    monkeypatch.setattr(FlavorDomains, "_place", recorded)
    domains = flavor_of(cluster(32))
    found = [domains.place(request(8, "unconstrained")) for _ in range(2)]
    assert len(searched) == 1
    assert isinstance(found[0], GroupPlacement)
    (taken,) = found[0].workers.domains
    counter = domains.counter(taken.values, ONE_POD)
    counter.use(taken.pods)
    assert domains.place(request(8, "unconstrained")) != found[0]
    counter.free(taken.pods)
    assert domains.place(request(8, "unconstrained")) == found[0] == found[1]
    assert len(searched) == 3
    assert domains.place(request(9, "unconstrained")) != found[0]


def test_a_gang_is_prepared_once_and_again_after_a_change_of_its_flavor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workloads with equal specs share their pod sets, and so do the cycles in which one is evaluated."""
    prepared: list[str] = []
    prepare = FlavorDomains.prepared

    def recorded(self: FlavorDomains, asked: PlacementRequest) -> Any:
        prepared.append(self.name)
        return prepare(self, asked)

    monkeypatch.setattr(FlavorDomains, "prepared", recorded)
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
    builder.tas_queue("q", 8)
    for name in ("first", "second", "third"):
        builder.gang(name, 4, request=required(RACK))
        builder.turn()
    builder.finish("ns/first")
    assert builder.turn().reserved == ["second"]
    assert prepared == ["tas"]
    builder.node("h1", 4, taints=[{"key": "gpu", "effect": "NoSchedule"}])
    builder.finish("ns/second")
    assert builder.turn().reserved == []
    builder.flavor(
        "tas",
        topologyName="default",
        nodeLabels={"pool": "tas"},
        tolerations=[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    )
    assert builder.turn().reserved == ["third"]
    assert prepared == ["tas", "tas"]


def test_victims_are_searched_once_if_there_are_none_for_the_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    """SCH-522, TAS-77: more is needed for pods with places than for their quota."""
    searched: list[UsageRequest] = []
    search = EngineCycleContext.find_targets

    def recorded(self: EngineCycleContext, workload: Any, queue: Any, asked: UsageRequest) -> Any:
        searched.append(asked)
        return search(self, workload, queue, asked)

    monkeypatch.setattr(EngineCycleContext, "find_targets", recorded)
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 8}}})
    builder.tas_queue("q", 4, preemption={"withinClusterQueue": "LowerPriority"})
    builder.gang("first", 4, request=required(RACK))
    builder.turn()
    builder.gang("second", 4, request=required(RACK))
    builder.turn()
    assert [asked.search for asked in searched] == [None]
    builder.gang("high", 4, priority=1, request=required(RACK))
    builder.turn()
    assert [asked.search is None for asked in searched[1:3]] == [True, False]


def test_a_search_for_quota_alone_releases_no_more_than_its_victims(monkeypatch: pytest.MonkeyPatch) -> None:
    """TAS-77: nodes have capacity for the pods, so that no search has to free any."""
    released: list[str] = []
    release = WorkloadInfo.release

    def recorded(self: WorkloadInfo) -> None:
        released.append(self.key.name)
        release(self)

    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 30}}})
    builder.tas_queue("q", 20, preemption={"withinClusterQueue": "LowerPriority"})
    for number in range(20):
        builder.gang(f"w{number}", 1, request=required(RACK))
    builder.turn()
    monkeypatch.setattr(WorkloadInfo, "release", recorded)
    builder.gang("high", 1, priority=1, request=required(RACK))
    assert len(builder.once().evicted) == 1
    assert len(set(released)) == 1


def test_a_reader_far_behind_counts_everything_once(counted: list[int]) -> None:
    """The log of changes is bounded."""
    domains = flavor_of(cluster(32))
    domains.place(request(8, "unconstrained"))
    counter = domains.counter(("node-00007",), ONE_POD)
    for _ in range(100):
        counter.use(1)
        counter.free(1)
    counted.clear()
    domains.place(request(8, "unconstrained"))
    assert sorted(counted) == list(range(32))


def test_nodes_and_their_usage_are_taken_in_without_building_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes come by thousands when a manager starts; the tree is built by the first placement that needs it."""
    built: list[str] = []
    build = FlavorDomains._build

    def recorded(self: FlavorDomains) -> DomainTree:
        built.append(self.name)
        return build(self)

    monkeypatch.setattr(FlavorDomains, "_build", recorded)
    engine = Engine(EngineSettings())
    levels = tuple(TopologyLevel(node_label=level) for level in LEVELS)
    engine.apply(ObjectUpserted(Topology(metadata=ObjectMeta(name="t"), spec=TopologySpec(levels=levels))), NOW)
    for name in ("a", "b"):
        spec = ResourceFlavorSpec(topology_name="t")
        engine.apply(ObjectUpserted(ResourceFlavor(metadata=ObjectMeta(name=name), spec=spec)), NOW)
    built.clear()
    for number in range(50):
        engine.apply(ObjectUpserted(host(f"h{number}", "b", "r", 4)), NOW)
        engine.apply(NodeUsageChanged(f"h{number}", {"cpu": 1000, "pods": 1}), NOW)
        engine.apply(NodeUsageChanged(f"h{number}", {}), NOW)
    assert built == []
    domains = engine.store.topology.flavor("a")
    assert domains is not None
    assert domains.has_domain(("h49",))
    assert built == ["a"]


def counts(pods: list[int], leaders: list[int]) -> LevelCounts:
    return LevelCounts(pods, pods, leaders, pods, pods, [0] * len(pods))


@given(
    st.lists(st.integers(0, 4), min_size=20, max_size=40),
    st.lists(st.tuples(st.integers(0, 19), st.integers(0, 4), st.integers(0, 1)), max_size=20),
    st.sampled_from(PlacementProfile),
)
def test_an_order_that_follows_changes_equals_a_fresh_one(
    pods: list[int], changes: list[tuple[int, int, int]], profile: PlacementProfile
) -> None:
    """TAS-48, TAS-49."""
    level = counts(pods, [0] * len(pods))
    order = DomainOrder(level, profile)
    for domain, count, leader in changes:
        level.pods[domain], level.leaders[domain] = count, leader
        order.update([domain])
    assert order.keys == DomainOrder(level, profile).keys
