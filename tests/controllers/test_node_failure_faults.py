"""Whatever happens to a write or a manager, a failed node is listed once, and nothing is lost (TAS-105, TAS-106)."""

from contextlib import AsyncExitStack

import pytest

from controllers.houses import House
from controllers.stages import Manager, Stage, stage
from controllers.topologies import (
    admit,
    delete_node,
    evicted,
    flavor,
    node,
    topology,
    topology_pod,
    unhealthy,
)
from kit.faults import Rejection, RequestFault, StreamFault
from kohort.api.codec import encode
from kohort.controllers.topology.node_controller import running_node_failure_controller
from kohort.controllers.topology.pod_failures import fail_pod
from kohort.controllers.topology.pods import PODS
from kohort.kube.errors import StatusError

FAULTS: dict[str, RequestFault | Rejection] = {
    "never sent": RequestFault.UNREACHABLE,
    "answer lost": RequestFault.LOST_RESPONSE,
    "silence": RequestFault.NO_RESPONSE,
    "conflict": Rejection(409),
    "too many": Rejection(429, retry_after=1),
    "broken": Rejection(500),
    "away": Rejection(503),
}


async def opened(scene: Stage) -> Manager:
    """Two nodes, a Workload on both, and a manager with the node controller."""
    await scene.open(topology(), flavor(), node("n1"), node("n2"))
    await admit(scene, "w", "n1", "n2")
    return await led(scene)


async def led(scene: Stage) -> Manager:
    manager = await scene.start()
    await manager.stack.enter_async_context(running_node_failure_controller(manager.world))
    await scene.later(2)
    return manager


async def phase(home: House, name: str) -> str:
    found = await home.cluster.get(f"/api/v1/namespaces/default/pods/{name}")
    return str(found["status"]["phase"])


@pytest.mark.parametrize("name", FAULTS)
async def test_a_write_that_fails_is_repeated_until_the_node_is_listed(name: str) -> None:
    async with stage() as scene:
        manager = await opened(scene)
        manager.wire.faults = {len(manager.wire.writes): FAULTS[name]}
        await delete_node(scene, "n1")
        await scene.later(90)
        assert not manager.wire.faults
        assert await unhealthy(scene, "w") == ["n1"]
        assert await evicted(scene, "w") is None


@pytest.mark.parametrize("name", FAULTS)
async def test_an_eviction_that_fails_is_repeated_and_counted_once(name: str) -> None:
    async with stage() as scene:
        manager = await opened(scene)
        await delete_node(scene, "n1")
        await scene.later(2)
        manager.wire.faults = {len(manager.wire.writes): FAULTS[name]}
        await delete_node(scene, "n2")
        await scene.later(90)
        assert not manager.wire.faults
        assert await evicted(scene, "w") is not None
        found = await scene.get("Workload", "w")
        (counted,) = found["status"]["schedulingStats"]["evictions"]
        assert (counted["reason"], counted["count"]) == ("NodeFailures", 1)


async def test_a_fault_at_one_workload_does_not_delay_another() -> None:
    async with stage() as scene:
        manager = await opened(scene)
        await admit(scene, "x", "n1")
        await scene.later(1)
        start = len(manager.wire.writes)
        manager.wire.faults = {start: Rejection(500), **{start + 2 + number: Rejection(500) for number in range(7)}}
        await delete_node(scene, "n1")
        await scene.later(0.3)
        assert sorted([await unhealthy(scene, "w"), await unhealthy(scene, "x")]) == [[], ["n1"]]
        await scene.later(10)
        assert [await unhealthy(scene, "w"), await unhealthy(scene, "x")] == [["n1"], ["n1"]]


@pytest.mark.parametrize("written", [0, 1])
async def test_the_next_manager_finishes_what_a_crash_left(written: int) -> None:
    """Of two Workloads on the node, none or one was written when the process ended."""
    async with stage() as scene:
        first = await opened(scene)
        await admit(scene, "x", "n1")
        await scene.later(1)
        first.wire.last = len(first.wire.writes) + written
        await delete_node(scene, "n1")
        await scene.later(2)
        assert len(await unhealthy(scene, "w") + await unhealthy(scene, "x")) == written
        await scene.crash(first)
        await led(scene)
        assert [await unhealthy(scene, "w"), await unhealthy(scene, "x")] == [["n1"], ["n1"]]
        assert await evicted(scene, "w") is None


async def test_a_watch_that_breaks_loses_no_failure() -> None:
    async with stage() as scene:
        manager = await opened(scene)
        manager.wire.blocked |= {"nodes", "pods"}
        manager.wire.end_streams(StreamFault.RESET)
        await delete_node(scene, "n1")
        await scene.later(20)
        assert await unhealthy(scene, "w") == [], "nothing is decided on outdated nodes"
        manager.wire.blocked.clear()
        await scene.later(20)
        assert await unhealthy(scene, "w") == ["n1"]


async def test_a_replica_that_does_not_lead_writes_nothing() -> None:
    async with stage() as scene, AsyncExitStack() as stack:
        await scene.open(topology(), flavor(), node("n1"))
        await admit(scene, "w", "n1", "gone")
        follower = await scene.start(leads=lambda: False)
        await stack.enter_async_context(running_node_failure_controller(follower.world))
        await scene.later(20)
        assert await unhealthy(scene, "w") == []
        assert follower.wire.writes == []


async def test_a_pod_that_was_scheduled_meanwhile_is_not_failed() -> None:
    """The write names the state that was judged."""
    async with stage() as scene:
        manager = await opened(scene)
        recorder = manager.world.recorder("x")
        await scene.create(topology_pod("late", "w", selects="n1"))
        place = "/api/v1/namespaces/default/pods/late"
        seen = PODS.read(encode(await scene.cluster.get(place)))
        await scene.cluster.merge(f"{place}/status", {"status": {"phase": "Running"}})
        with pytest.raises(StatusError) as refused:
            await fail_pod(manager.world.client, recorder, seen, scene.clock.wall())
        assert refused.value.is_conflict
        assert await phase(scene, "late") == "Running"
