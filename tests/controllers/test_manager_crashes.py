"""Managers that die between two writes, and managers that must stop leading: the next one finds its way."""

import asyncio

from controllers.flows import Flow, holders, opened
from controllers.stages import Stage, says, stage, used
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.faults import Rejection
from kohort.api.meta import ObjectKey


async def play_and_restart(scene: Stage, flow: Flow, writes: int) -> dict[str, object]:
    """The flow, during which the manager dies after so many writes, and another takes its place."""
    manager = scene.managers[0]
    manager.wire.last = len(manager.wire.writes) + writes
    playing = asyncio.create_task(flow.play())
    while not playing.done() and len(manager.wire.writes) < manager.wire.last:
        await asyncio.sleep(0)
    if not playing.done():
        await scene.crash(manager)
        await scene.start()
    return await playing


async def test_a_crash_between_any_two_writes_changes_nothing_in_the_end() -> None:
    async with stage() as scene:
        manager = await opened(scene)
        expected = await Flow(scene, "clean").play()
        for writes in range(1, len(manager.wire.writes)):
            flow = Flow(scene, f"{writes}x")
            assert await play_and_restart(scene, flow, writes) == expected, f"after {writes}"
            assert holders(scene.managers[0])[flow.name("q")] == [flow.name("low")]


async def test_the_old_leader_writes_nothing_once_it_leads_no_more() -> None:
    async with stage() as scene:
        leader = "old"
        old = await scene.start(leads=lambda: leader == "old")
        new = await scene.start(leads=lambda: leader == "new")
        await scene.open(make_resource_flavor(), make_cluster_queue("q", "2"), make_local_queue("lq", "q"))
        await scene.create(make_workload("a", "lq"))
        await scene.until(says(Admitted="True"), "Workload", "a")
        assert not new.wire.writes
        leader = "new"
        written = len(old.wire.writes)
        await scene.create(make_workload("b", "lq"))
        await scene.until(says(Admitted="True"), "Workload", "b")
        await scene.create(make_workload("c", "lq"))
        await scene.until(says(QuotaReserved="False"), "Workload", "c")
        await scene.later(5)
        assert len(old.wire.writes) == written
        assert used(await scene.workloads(), "q") == 2


async def test_a_leader_that_loses_the_lease_while_it_writes_gives_back_what_it_decided() -> None:
    async with stage() as scene:
        leading = True
        manager = await scene.start(leads=lambda: leading)

        async def lose() -> None:
            nonlocal leading
            leading = False

        manager.wire.before.append(lose)
        await scene.open(make_resource_flavor(), make_cluster_queue("q", "4"), make_local_queue("lq", "q"))
        await scene.create(*(make_workload(f"w{number}", "lq") for number in range(4)))
        await scene.later(5)
        admitted = [name for name, each in (await scene.states()).items() if each["queue"]]
        assert len(admitted) == len(manager.wire.writes) == 1
        assert set(manager.world.engine.store.queues["q"].holders) == {ObjectKey("default", name) for name in admitted}
        assert len(manager.writer) == 0


async def test_a_write_that_failed_is_not_repeated_by_who_lost_the_lease_meanwhile() -> None:
    async with stage() as scene:
        leading = True
        manager = await scene.start(leads=lambda: leading)

        async def lose() -> None:
            nonlocal leading
            leading = False

        manager.wire.before.append(lose)
        manager.wire.faults[0] = Rejection(503)
        await scene.open(make_resource_flavor(), make_cluster_queue("q"), make_local_queue("lq", "q"))
        await scene.create(make_workload("w", "lq"))
        await scene.later(10)
        assert len(manager.wire.writes) == 1
        assert not (await scene.states())["w"]["queue"]
        assert not manager.world.engine.store.queues["q"].holders


async def test_leaders_that_follow_each_other_quickly_admit_nobody_twice() -> None:
    async with stage() as scene:
        leader = 0
        managers = [await scene.start(leads=lambda: leader == 0), await scene.start(leads=lambda: leader == 1)]
        await scene.open(make_resource_flavor(), make_cluster_queue("q", "5"), make_local_queue("lq", "q"))
        for number in range(30):
            await scene.create(make_workload(f"w{number}", "lq"))
            leader = number % 2
            await scene.clock.advance(0.05)
            assert used(await scene.workloads(), "q") <= 5
            if number % 3 == 0:
                running = [name for name, each in (await scene.states()).items() if "Admitted" in each["conditions"]]
                ends = [name for name in running if "Finished" not in (await scene.states())[name]["conditions"]]
                await scene.finish(ends[0]) if ends else None
        leader = 0
        await scene.later(15)
        assert used(await scene.workloads(), "q") == 5
        for manager in managers:
            assert len(manager.world.engine.store.queues["q"].holders) == 5
        assert len(await scene.events("QuotaReserved")) <= 30
