"""Nodes, flavors and Topologies that change while pods are on them (TAS-4 to TAS-7, TAS-19 to TAS-24, TAS-30)."""

from typing import Any

import pytest

from jobs.topology_builders import HOST
from jobs.topology_harness import Places, TopologyHarness, fabric, gang, node, running_topology_harness

TRAIN: Places = {"r1-a": 2, "r1-b": 2}
"""Where a gang of four is placed first."""


async def train_runs(cluster: TopologyHarness) -> None:
    await cluster.create(gang("train", 4, required_topology="rack"))
    await cluster.settle()
    assert await cluster.running("train") == TRAIN


async def stays(cluster: TopologyHarness) -> None:
    """The gang keeps its places, and its usage is counted."""
    await cluster.assert_consistent()
    assert await cluster.running("train") == TRAIN
    assert await cluster.evictions() == []


async def submit(cluster: TopologyHarness, name: str, pods: int) -> Places:
    """The places of another gang in one rack; empty if it waits."""
    await cluster.create(gang(name, pods, required_topology="rack"))
    await cluster.settle()
    return await cluster.places(name)


async def move_to_other_rack(cluster: TopologyHarness) -> None:
    await cluster.relabel("r1-a", rack="r2")


async def remove_label(cluster: TopologyHarness) -> None:
    await cluster.relabel("r1-a", rack=None)


async def cordon(cluster: TopologyHarness) -> None:
    await cluster.set_node("r1-a", {"spec": {"unschedulable": True}})


async def fail_with_running_pods(cluster: TopologyHarness) -> None:
    await cluster.set_ready("r1-a", "Unknown")


async def leave_flavor(cluster: TopologyHarness) -> None:
    await cluster.relabel("r1-a", tier="b")


async def taint(cluster: TopologyHarness) -> None:
    await cluster.set_node("r1-a", {"spec": {"taints": [{"key": "broken", "effect": "NoSchedule"}]}})


CHANGES = [move_to_other_rack, remove_label, cordon, fail_with_running_pods, leave_flavor, taint]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_a_node_that_changes_under_running_pods_keeps_them_and_gets_no_others(change: Any) -> None:
    """The rival would need the capacity of the changed node: r2 has 6 pods of its own, r1 has the 2 of r1-c left."""
    async with running_topology_harness() as cluster:
        await train_runs(cluster)
        await change(cluster)
        await cluster.settle()
        assert await cluster.running("train") == TRAIN
        assert await cluster.evictions() == []
        assert await submit(cluster, "rival", 6) == {"r2-a": 2, "r2-b": 2, "r2-c": 2}
        assert await submit(cluster, "small", 2) == {"r1-c": 2}
        assert await submit(cluster, "third", 1) == {}
        await cluster.restart()
        await cluster.settle()
        assert await cluster.running("train") == TRAIN
        assert await cluster.places("third") == {}, "a restart counts nothing twice and forgets nothing"


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_a_node_that_changes_before_the_pods_come_is_not_used(change: Any) -> None:
    async with running_topology_harness() as cluster:
        await change(cluster)
        await cluster.settle()
        expected = {"r1-b": 2, "r1-c": 2}
        assert await submit(cluster, "train", 4) == expected
        assert await cluster.running("train") == expected
        await cluster.assert_consistent()


@pytest.mark.parametrize("change", CHANGES[1:], ids=lambda change: change.__name__)
async def test_a_node_that_changes_back_is_used_again(change: Any) -> None:
    async with running_topology_harness() as cluster:
        await change(cluster)
        await cluster.settle()
        assert await submit(cluster, "wide", 6) != {}
        assert await submit(cluster, "train", 6) == {}
        await cluster.relabel("r1-a", rack="r1", tier="a")
        await cluster.set_node("r1-a", {"spec": {"unschedulable": None, "taints": None}})
        await cluster.set_ready("r1-a", "True")
        await cluster.settle()
        assert await cluster.running("train") == {"r1-a": 2, "r1-b": 2, "r1-c": 2}
        await cluster.assert_consistent()


async def test_pods_return_to_a_host_that_moved_to_another_rack() -> None:
    """The assignment names hosts, and the host exists."""
    async with running_topology_harness() as cluster:
        await train_runs(cluster)
        await cluster.relabel("r1-a", rack="r2")
        await cluster.settle()
        await cluster.evict_pods("r1-a")
        await cluster.settle()
        assert await cluster.running("train") == TRAIN
        await cluster.assert_consistent()


async def test_usage_is_replayed_after_a_restart() -> None:
    """TAS-7, TAS-29: a second gang that would fit only if the first were not counted waits."""
    async with running_topology_harness() as cluster:
        await train_runs(cluster)
        assert await submit(cluster, "rival", 6) == {"r2-a": 2, "r2-b": 2, "r2-c": 2}
        await cluster.crash()
        await cluster.create(gang("third", 3, required_topology="rack"))
        await cluster.start()
        await cluster.settle()
        await cluster.assert_consistent()
        assert await cluster.places("third") == {}
        await cluster.end_job("rival")
        await cluster.settle()
        assert await cluster.places("third") == {"r2-a": 2, "r2-b": 1}
        await cluster.assert_consistent()


async def test_levels_of_the_topology_change_under_admitted_workloads() -> None:
    """TAS-4: usage stays, and gangs that wait are tried again."""
    async with running_topology_harness() as cluster:
        for name in ("r1-a", "r1-b", "r1-c", "r2-a", "r2-b", "r2-c"):
            await cluster.relabel(name, block="b1")
        await train_runs(cluster)
        await cluster.create(gang("wide", 8, required_topology="block"))
        await cluster.settle()
        assert await cluster.places("wide") == {}
        await cluster.merge("Topology", "fabric", fabric("block", "rack", HOST))
        await cluster.settle()
        assert sum((await cluster.places("wide")).values()) == 8
        await stays(cluster)
        await cluster.merge("Topology", "fabric", fabric("rack", HOST))
        await cluster.settle()
        await stays(cluster)
        assert await submit(cluster, "third", 1) == {}


async def test_labels_of_the_flavor_change_under_admitted_workloads() -> None:
    """TAS-5: nodes that leave the flavor have no capacity, nodes that join it have."""
    async with running_topology_harness() as cluster:
        await train_runs(cluster)
        for name in ("r2-a", "r2-b", "r2-c"):
            await cluster.relabel(name, zone="z")
        await cluster.merge("ResourceFlavor", "f", {"spec": {"nodeLabels": {"zone": "z"}}})
        await cluster.settle()
        assert await cluster.running("train") == TRAIN
        assert await submit(cluster, "rival", 6) == {"r2-a": 2, "r2-b": 2, "r2-c": 2}
        assert await submit(cluster, "third", 1) == {}
        await cluster.merge("ResourceFlavor", "f", {"spec": {"nodeLabels": {"zone": None}}})
        await cluster.settle()
        assert await cluster.places("third") == {"r1-c": 1}
        await cluster.assert_consistent()


async def test_a_topology_that_is_deleted_and_created_again_has_its_usage() -> None:
    """TAS-3, TAS-6, TAS-7: meanwhile nothing is admitted."""
    async with running_topology_harness() as cluster:
        await train_runs(cluster)
        await cluster.merge("Topology", "fabric", {"metadata": {"finalizers": None}})
        await cluster.delete("Topology", "fabric")
        await cluster.settle()
        assert await submit(cluster, "rival", 6) == {}
        await cluster.create(fabric("rack", HOST))
        await cluster.settle()
        assert await cluster.places("rival") == {"r2-a": 2, "r2-b": 2, "r2-c": 2}
        await stays(cluster)
        assert await submit(cluster, "third", 3) == {}


async def test_a_host_that_comes_back_under_another_name_is_the_same_host() -> None:
    """TAS-25, TAS-30: usage belongs to the hostname."""
    async with running_topology_harness() as cluster:
        await train_runs(cluster)
        await cluster.delete_node("r1-a")
        await cluster.create(node("new-name", "r1", labels={HOST: "r1-a"}))
        await cluster.settle()
        assert sum((await cluster.running("train")).values()) == 4
        assert await submit(cluster, "rival", 6) == {"r2-a": 2, "r2-b": 2, "r2-c": 2}
        assert sum((await submit(cluster, "small", 2)).values()) == 2
        assert await submit(cluster, "third", 1) == {}
