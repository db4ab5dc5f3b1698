"""After a failure of any write, or of the watch, the end is the same: nothing lost, nothing twice, no quota over."""

import pytest

from controllers.lifecycle_scenario import LifecycleScenario, quota_holders, started_manager
from controllers.scheduling_harness import has_conditions, running_scheduling_harness
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_workload
from kit.faults import Rejection, RequestFault, StreamFault

FAULTS: dict[str, RequestFault | Rejection] = {
    "never sent": RequestFault.UNREACHABLE,
    "answer lost": RequestFault.LOST_RESPONSE,
    "silence": RequestFault.NO_RESPONSE,
    "conflict": Rejection(409),
    "gone": Rejection(410),
    "too many": Rejection(429, retry_after=1),
    "broken": Rejection(500),
    "away": Rejection(503),
    "too late": Rejection(504),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_at_every_write_changes_nothing_in_the_end(name: str) -> None:
    async with running_scheduling_harness() as harness:
        manager = await started_manager(harness)
        expected = await LifecycleScenario(harness, "clean").play()
        writes = len(manager.transport.writes)
        assert writes >= 8
        manager.transport.faults = {2 * number + writes: FAULTS[name] for number in range(writes)}
        flow = LifecycleScenario(harness, "x")
        assert await flow.play() == expected
        assert len(manager.transport.faults) <= 2, "a lost answer is an answer: some need no repetition"
        assert quota_holders(manager)[flow.name("q")] == [flow.name("low")]
        assert len(manager.writer) == 0


async def test_a_response_lost_at_any_write_changes_nothing_in_the_end() -> None:
    async with running_scheduling_harness() as harness:
        manager = await started_manager(harness)
        expected = await LifecycleScenario(harness, "clean").play()
        for number in range(len(manager.transport.writes)):
            manager.transport.faults = {len(manager.transport.writes) + number: RequestFault.LOST_RESPONSE}
            flow = LifecycleScenario(harness, f"{number}x")
            assert await flow.play() == expected, f"write {number}"
            assert not manager.transport.faults, "the fault happened"
            assert quota_holders(manager)[flow.name("q")] == [flow.name("low")]
            assert len(manager.writer) == 0


async def test_requests_to_a_server_that_fails_for_a_long_time_are_repeated_until_one_succeeds() -> None:
    async with running_scheduling_harness() as harness:
        manager = await started_manager(harness)
        expected = await LifecycleScenario(harness, "clean").play()
        start = len(manager.transport.writes)
        manager.transport.faults = {start + number: Rejection(503) for number in range(25)}
        assert await LifecycleScenario(harness, "x").play() == expected
        assert not manager.transport.faults


@pytest.mark.parametrize("how", [StreamFault.RESET, StreamFault.MID_FRAME, StreamFault.GARBAGE])
async def test_watches_that_break_at_every_write_change_nothing_in_the_end(how: StreamFault) -> None:
    async with running_scheduling_harness() as harness:
        manager = await started_manager(harness)
        expected = await LifecycleScenario(harness, "clean").play()

        async def cut() -> None:
            manager.transport.end_streams(how)

        manager.transport.before.extend([cut] * len(manager.transport.writes))
        assert await LifecycleScenario(harness, "x").play() == expected
        assert len(manager.transport.before) <= 1


async def test_a_server_that_is_away_for_a_while_finds_everything_as_it_should_be() -> None:
    async with running_scheduling_harness() as harness:
        manager = await started_manager(harness)
        expected = await LifecycleScenario(harness, "clean").play()
        flow = LifecycleScenario(harness, "x")

        async def down() -> None:
            manager.transport.disconnect()

        manager.transport.before.append(down)
        await harness.create_active(make_cluster_queue("other"), make_local_queue("other", "other"))
        await harness.create(make_workload("w", "other"))
        await harness.advance(20)
        assert not (await harness.states())["w"]["queue"]
        manager.transport.reconnect()
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")
        assert await flow.play() == expected


@pytest.mark.parametrize("blind", ["localqueues", "clusterqueues", "resourceflavors", "namespaces"])
async def test_nothing_is_done_while_one_watch_is_down(blind: str) -> None:
    async with running_scheduling_harness() as harness:
        manager = await started_manager(harness)
        await harness.create_active(make_cluster_queue("q", "4"), make_local_queue("lq", "q"))
        await harness.create(make_workload("running", "lq", maximumExecutionTimeSeconds=20))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "running")
        manager.transport.unreadable.add(blind)
        manager.transport.end_streams(StreamFault.RESET)
        await harness.advance(2)
        written = len(manager.transport.writes)
        await harness.create(make_workload("new", "lq"))
        await harness.advance(25)
        assert len(manager.transport.writes) == written
        manager.transport.unreadable.clear()
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "new")
        await harness.wait_for(has_conditions(Evicted="True"), "Workload", "running")
