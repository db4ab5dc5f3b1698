"""Nodes, flavors and Topologies that change while pods are on them (TAS-4 to TAS-7, TAS-19 to TAS-24, TAS-30)."""

from typing import Any

import pytest

from jobs.topology_builders import HOST
from jobs.topology_world import Places, TopologyWorld, fabric, gang, node, topology_world

TRAIN: Places = {"r1-a": 2, "r1-b": 2}
"""Where a gang of four is placed first."""


async def train_runs(world: TopologyWorld) -> None:
    await world.create(gang("train", 4, required_topology="rack"))
    await world.settle()
    assert await world.running("train") == TRAIN


async def stays(world: TopologyWorld) -> None:
    """The gang keeps its places, and its usage is counted."""
    await world.assert_consistent()
    assert await world.running("train") == TRAIN
    assert await world.evictions() == []


async def submit(world: TopologyWorld, name: str, pods: int) -> Places:
    """The places of another gang in one rack; empty if it waits."""
    await world.create(gang(name, pods, required_topology="rack"))
    await world.settle()
    return await world.places(name)


async def move_to_other_rack(world: TopologyWorld) -> None:
    await world.relabel("r1-a", rack="r2")


async def remove_label(world: TopologyWorld) -> None:
    await world.relabel("r1-a", rack=None)


async def cordon(world: TopologyWorld) -> None:
    await world.set_node("r1-a", {"spec": {"unschedulable": True}})


async def fail_with_running_pods(world: TopologyWorld) -> None:
    await world.set_ready("r1-a", "Unknown")


async def leave_flavor(world: TopologyWorld) -> None:
    await world.relabel("r1-a", tier="b")


CHANGES = [move_to_other_rack, remove_label, cordon, fail_with_running_pods, leave_flavor]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_a_node_that_changes_under_running_pods_keeps_them_and_gets_no_others(change: Any) -> None:
    """The rival would need the capacity of the changed node: r2 has 6 pods of its own, r1 has the 2 of r1-c left."""
    async with topology_world() as world:
        await train_runs(world)
        await change(world)
        await world.settle()
        assert await world.running("train") == TRAIN
        assert await world.evictions() == []
        assert await submit(world, "rival", 6) == {"r2-a": 2, "r2-b": 2, "r2-c": 2}
        assert await submit(world, "small", 2) == {"r1-c": 2}
        assert await submit(world, "third", 1) == {}
        await world.restart()
        await world.settle()
        assert await world.running("train") == TRAIN
        assert await world.places("third") == {}, "a restart counts nothing twice and forgets nothing"


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_a_node_that_changes_before_the_pods_come_is_not_used(change: Any) -> None:
    async with topology_world() as world:
        await change(world)
        await world.settle()
        expected = {"r1-b": 2, "r1-c": 2}
        assert await submit(world, "train", 4) == expected
        assert await world.running("train") == expected
        await world.assert_consistent()


@pytest.mark.parametrize("change", CHANGES[1:], ids=lambda change: change.__name__)
async def test_a_node_that_changes_back_is_used_again(change: Any) -> None:
    async with topology_world() as world:
        await change(world)
        await world.settle()
        assert await submit(world, "wide", 6) != {}
        assert await submit(world, "train", 6) == {}
        await world.relabel("r1-a", rack="r1", tier="a")
        await world.set_node("r1-a", {"spec": {"unschedulable": None}})
        await world.set_ready("r1-a", "True")
        await world.settle()
        assert await world.running("train") == {"r1-a": 2, "r1-b": 2, "r1-c": 2}
        await world.assert_consistent()


async def test_pods_return_to_a_host_that_moved_to_another_rack() -> None:
    """The assignment names hosts, and the host exists."""
    async with topology_world() as world:
        await train_runs(world)
        await world.relabel("r1-a", rack="r2")
        await world.settle()
        await world.evict_pods("r1-a")
        await world.settle()
        assert await world.running("train") == TRAIN
        await world.assert_consistent()


async def test_usage_is_replayed_after_a_restart() -> None:
    """TAS-7, TAS-29: a second gang that would fit only if the first were forgotten waits."""
    async with topology_world() as world:
        await train_runs(world)
        assert await submit(world, "rival", 6) == {"r2-a": 2, "r2-b": 2, "r2-c": 2}
        await world.crash()
        await world.create(gang("third", 3, required_topology="rack"))
        await world.start()
        await world.settle()
        await world.assert_consistent()
        assert await world.places("third") == {}
        await world.end_job("rival")
        await world.settle()
        assert await world.places("third") == {"r2-a": 2, "r2-b": 1}
        await world.assert_consistent()


async def test_levels_of_the_topology_change_under_admitted_workloads() -> None:
    """TAS-4: usage stays, and gangs that wait are tried again."""
    async with topology_world() as world:
        for name in ("r1-a", "r1-b", "r1-c", "r2-a", "r2-b", "r2-c"):
            await world.relabel(name, block="b1")
        await train_runs(world)
        await world.create(gang("wide", 8, required_topology="block"))
        await world.settle()
        assert await world.places("wide") == {}
        await world.merge("Topology", "fabric", fabric("block", "rack", HOST))
        await world.settle()
        assert sum((await world.places("wide")).values()) == 8
        await stays(world)
        await world.merge("Topology", "fabric", fabric("rack", HOST))
        await world.settle()
        await stays(world)
        assert await submit(world, "third", 1) == {}


async def test_labels_of_the_flavor_change_under_admitted_workloads() -> None:
    """TAS-5: nodes that leave the flavor have no capacity, nodes that join it have."""
    async with topology_world() as world:
        await train_runs(world)
        for name in ("r2-a", "r2-b", "r2-c"):
            await world.relabel(name, zone="z")
        await world.merge("ResourceFlavor", "f", {"spec": {"nodeLabels": {"zone": "z"}}})
        await world.settle()
        assert await world.running("train") == TRAIN
        assert await submit(world, "rival", 6) == {"r2-a": 2, "r2-b": 2, "r2-c": 2}
        assert await submit(world, "third", 1) == {}
        await world.merge("ResourceFlavor", "f", {"spec": {"nodeLabels": {"zone": None}}})
        await world.settle()
        assert await world.places("third") == {"r1-c": 1}
        await world.assert_consistent()


async def test_a_topology_that_is_deleted_and_created_again_has_its_usage() -> None:
    """TAS-3, TAS-6, TAS-7: meanwhile nothing is admitted."""
    async with topology_world() as world:
        await train_runs(world)
        await world.merge("Topology", "fabric", {"metadata": {"finalizers": None}})
        await world.delete("Topology", "fabric")
        await world.settle()
        assert await submit(world, "rival", 6) == {}
        await world.create(fabric("rack", HOST))
        await world.settle()
        assert await world.places("rival") == {"r2-a": 2, "r2-b": 2, "r2-c": 2}
        await stays(world)
        assert await submit(world, "third", 3) == {}


async def test_a_host_that_comes_back_under_another_name_is_the_same_host() -> None:
    """TAS-25, TAS-30: usage belongs to the hostname."""
    async with topology_world() as world:
        await train_runs(world)
        await world.delete_node("r1-a")
        await world.create(node("new-name", "r1", labels={HOST: "r1-a"}))
        await world.settle()
        assert sum((await world.running("train")).values()) == 4
        assert await submit(world, "rival", 6) == {"r2-a": 2, "r2-b": 2, "r2-c": 2}
        assert sum((await submit(world, "small", 2)).values()) == 2
        assert await submit(world, "third", 1) == {}
