"""Managers that die between two writes, and managers that must stop leading: the next one finds its way."""

import asyncio

from controllers.lifecycle_scenario import LifecycleScenario, quota_holders, started_manager
from controllers.scheduling_harness import (
    SchedulingHarness,
    SchedulingReplica,
    has_conditions,
    reserved_cpus,
    running_scheduling_harness,
)
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.faults import Rejection
from kohort.api.meta import ObjectKey


async def play_and_restart(harness: SchedulingHarness, flow: LifecycleScenario, writes: int) -> dict[str, object]:
    """The flow, during which the manager dies after so many writes, and another takes its place."""
    manager = harness.managers[0]
    manager.transport.crash_after = len(manager.transport.writes) + writes
    playing = asyncio.create_task(flow.play())
    while not playing.done() and len(manager.transport.writes) < manager.transport.crash_after:
        await asyncio.sleep(0)
    if not playing.done():
        await harness.crash(manager)
        await harness.start()
    return await playing


async def test_a_crash_between_any_two_writes_changes_nothing_in_the_end() -> None:
    async with running_scheduling_harness() as harness:
        manager = await started_manager(harness)
        expected = await LifecycleScenario(harness, "clean").play()
        for writes in range(1, len(manager.transport.writes)):
            flow = LifecycleScenario(harness, f"{writes}x")
            assert await play_and_restart(harness, flow, writes) == expected, f"after {writes}"
            assert quota_holders(harness.managers[0])[flow.name("q")] == [flow.name("low")]


async def test_the_old_leader_writes_nothing_once_it_leads_no_more() -> None:
    async with running_scheduling_harness() as harness:
        leader = "old"
        old = await harness.start(leads=lambda: leader == "old")
        new = await harness.start(leads=lambda: leader == "new")
        await harness.create_active(make_resource_flavor(), make_cluster_queue("q", "2"), make_local_queue("lq", "q"))
        await harness.create(make_workload("a", "lq"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "a")
        assert not new.transport.writes
        leader = "new"
        written = len(old.transport.writes)
        await harness.create(make_workload("b", "lq"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "b")
        await harness.create(make_workload("c", "lq"))
        await harness.wait_for(has_conditions(QuotaReserved="False"), "Workload", "c")
        await harness.advance(5)
        assert len(old.transport.writes) == written
        assert reserved_cpus(await harness.workloads(), "q") == 2


async def start_until_first_write(harness: SchedulingHarness) -> SchedulingReplica:
    """Start a manager that loses the lease right before its first write."""
    leading = True
    manager = await harness.start(leads=lambda: leading)

    async def lose() -> None:
        nonlocal leading
        leading = False

    manager.transport.before.append(lose)
    return manager


async def test_a_leader_that_loses_the_lease_while_it_writes_undoes_its_decisions() -> None:
    async with running_scheduling_harness() as harness:
        manager = await start_until_first_write(harness)
        await harness.create_active(make_resource_flavor(), make_cluster_queue("q", "4"), make_local_queue("lq", "q"))
        await harness.create(*(make_workload(f"w{number}", "lq") for number in range(4)))
        await harness.advance(5)
        admitted = [name for name, each in (await harness.states()).items() if each["queue"]]
        assert len(admitted) == len(manager.transport.writes) == 1
        assert set(manager.context.engine.store.queues["q"].holders) == {
            ObjectKey("default", name) for name in admitted
        }
        assert len(manager.writer) == 0


async def test_a_failed_write_is_not_repeated_by_a_manager_that_lost_the_lease() -> None:
    async with running_scheduling_harness() as harness:
        manager = await start_until_first_write(harness)
        manager.transport.faults[0] = Rejection(503)
        await harness.create_active(make_resource_flavor(), make_cluster_queue("q"), make_local_queue("lq", "q"))
        await harness.create(make_workload("w", "lq"))
        await harness.advance(10)
        assert len(manager.transport.writes) == 1
        assert not (await harness.states())["w"]["queue"]
        assert not manager.context.engine.store.queues["q"].holders


async def test_quick_changes_of_leader_admit_nothing_twice() -> None:
    async with running_scheduling_harness() as harness:
        leader = 0
        managers = [await harness.start(leads=lambda: leader == 0), await harness.start(leads=lambda: leader == 1)]
        await harness.create_active(make_resource_flavor(), make_cluster_queue("q", "5"), make_local_queue("lq", "q"))
        for number in range(30):
            await harness.create(make_workload(f"w{number}", "lq"))
            leader = number % 2
            await harness.clock.advance(0.05)
            assert reserved_cpus(await harness.workloads(), "q") <= 5
            if number % 3 == 0:
                running = [name for name, each in (await harness.states()).items() if "Admitted" in each["conditions"]]
                ends = [name for name in running if "Finished" not in (await harness.states())[name]["conditions"]]
                await harness.finish(ends[0]) if ends else None
        leader = 0
        await harness.advance(15)
        assert reserved_cpus(await harness.workloads(), "q") == 5
        for manager in managers:
            assert len(manager.context.engine.store.queues["q"].holders) == 5
        assert len(await harness.events("QuotaReserved")) <= 30
