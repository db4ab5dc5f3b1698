"""After a failure of any write or manager, a failed node is listed once, and nothing is lost (TAS-105, TAS-106)."""

from contextlib import AsyncExitStack

import pytest

from controllers.scheduling_harness import SchedulingHarness, SchedulingReplica, running_scheduling_harness
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
from kit.manager import ManagerHarness
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


async def opened(harness: SchedulingHarness) -> SchedulingReplica:
    """Two nodes, a Workload on both, and a manager with the node controller."""
    await harness.create_active(topology(), flavor(), node("n1"), node("n2"))
    await admit(harness, "w", "n1", "n2")
    return await led(harness)


async def led(harness: SchedulingHarness) -> SchedulingReplica:
    manager = await harness.start()
    await manager.stack.enter_async_context(running_node_failure_controller(manager.context))
    await harness.advance(2)
    return manager


async def phase(harness: ManagerHarness, name: str) -> str:
    found = await harness.server.get(f"/api/v1/namespaces/default/pods/{name}")
    return str(found["status"]["phase"])


@pytest.mark.parametrize("name", FAULTS)
async def test_a_write_that_fails_is_repeated_until_the_node_is_listed(name: str) -> None:
    async with running_scheduling_harness() as harness:
        manager = await opened(harness)
        manager.transport.faults = {len(manager.transport.writes): FAULTS[name]}
        await delete_node(harness, "n1")
        await harness.advance(90)
        assert not manager.transport.faults
        assert await unhealthy(harness, "w") == ["n1"]
        assert await evicted(harness, "w") is None


@pytest.mark.parametrize("name", FAULTS)
async def test_an_eviction_that_fails_is_repeated_and_counted_once(name: str) -> None:
    async with running_scheduling_harness() as harness:
        manager = await opened(harness)
        await delete_node(harness, "n1")
        await harness.advance(2)
        manager.transport.faults = {len(manager.transport.writes): FAULTS[name]}
        await delete_node(harness, "n2")
        await harness.advance(90)
        assert not manager.transport.faults
        assert await evicted(harness, "w") is not None
        found = await harness.get("Workload", "w")
        (counted,) = found["status"]["schedulingStats"]["evictions"]
        assert (counted["reason"], counted["count"]) == ("NodeFailures", 1)


async def test_a_fault_at_one_workload_does_not_delay_another() -> None:
    async with running_scheduling_harness() as harness:
        manager = await opened(harness)
        await admit(harness, "x", "n1")
        await harness.advance(1)
        start = len(manager.transport.writes)
        manager.transport.faults = {
            start: Rejection(500),
            **{start + 2 + number: Rejection(500) for number in range(7)},
        }
        await delete_node(harness, "n1")
        await harness.advance(0.3)
        assert sorted([await unhealthy(harness, "w"), await unhealthy(harness, "x")]) == [[], ["n1"]]
        await harness.advance(10)
        assert [await unhealthy(harness, "w"), await unhealthy(harness, "x")] == [["n1"], ["n1"]]


@pytest.mark.parametrize("written", [0, 1])
async def test_the_next_manager_finishes_what_a_crash_left(written: int) -> None:
    """Of two Workloads on the node, none or one was written when the process ended."""
    async with running_scheduling_harness() as harness:
        first = await opened(harness)
        await admit(harness, "x", "n1")
        await harness.advance(1)
        first.transport.crash_after = len(first.transport.writes) + written
        await delete_node(harness, "n1")
        await harness.advance(2)
        assert len(await unhealthy(harness, "w") + await unhealthy(harness, "x")) == written
        await harness.crash(first)
        await led(harness)
        assert [await unhealthy(harness, "w"), await unhealthy(harness, "x")] == [["n1"], ["n1"]]
        assert await evicted(harness, "w") is None


async def test_a_watch_that_breaks_loses_no_failure() -> None:
    async with running_scheduling_harness() as harness:
        manager = await opened(harness)
        manager.transport.unreadable |= {"nodes", "pods"}
        manager.transport.end_streams(StreamFault.RESET)
        await delete_node(harness, "n1")
        await harness.advance(20)
        assert await unhealthy(harness, "w") == [], "nothing is decided on outdated nodes"
        manager.transport.unreadable.clear()
        await harness.advance(20)
        assert await unhealthy(harness, "w") == ["n1"]


async def test_a_replica_that_does_not_lead_writes_nothing() -> None:
    async with running_scheduling_harness() as harness, AsyncExitStack() as stack:
        await harness.create_active(topology(), flavor(), node("n1"))
        await admit(harness, "w", "n1", "gone")
        follower = await harness.start(leads=lambda: False)
        await stack.enter_async_context(running_node_failure_controller(follower.context))
        await harness.advance(20)
        assert await unhealthy(harness, "w") == []
        assert follower.transport.writes == []


async def test_a_pod_that_was_scheduled_meanwhile_is_not_failed() -> None:
    """The write names the state that was judged."""
    async with running_scheduling_harness() as harness:
        manager = await opened(harness)
        recorder = manager.context.recorder("x")
        await harness.create(topology_pod("late", "w", selects="n1"))
        place = "/api/v1/namespaces/default/pods/late"
        seen = PODS.read(encode(await harness.server.get(place)))
        await harness.server.merge(f"{place}/status", {"status": {"phase": "Running"}})
        with pytest.raises(StatusError) as refused:
            await fail_pod(manager.context.client, recorder, seen, harness.clock.wall())
        assert refused.value.is_conflict
        assert await phase(harness, "late") == "Running"
