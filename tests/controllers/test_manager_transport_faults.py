"""Whatever happens to any write, or to the watch, the end is the same: nothing lost, nothing twice, no quota over."""

import pytest

from controllers.flows import Flow, holders, opened
from controllers.stages import says, stage
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
    async with stage() as scene:
        manager = await opened(scene)
        expected = await Flow(scene, "clean").play()
        writes = len(manager.wire.writes)
        assert writes >= 8
        manager.wire.faults = {2 * number + writes: FAULTS[name] for number in range(writes)}
        flow = Flow(scene, "x")
        assert await flow.play() == expected
        assert len(manager.wire.faults) <= 2, "a lost answer is an answer: some need no repetition"
        assert holders(manager)[flow.name("q")] == [flow.name("low")]
        assert len(manager.writer) == 0


async def test_an_answer_lost_at_any_write_changes_nothing_in_the_end() -> None:
    async with stage() as scene:
        manager = await opened(scene)
        expected = await Flow(scene, "clean").play()
        for number in range(len(manager.wire.writes)):
            manager.wire.faults = {len(manager.wire.writes) + number: RequestFault.LOST_RESPONSE}
            flow = Flow(scene, f"{number}x")
            assert await flow.play() == expected, f"write {number}"
            assert not manager.wire.faults, "the fault happened"
            assert holders(manager)[flow.name("q")] == [flow.name("low")]
            assert len(manager.writer) == 0


async def test_a_server_that_fails_for_a_long_time_is_asked_again_until_it_answers() -> None:
    async with stage() as scene:
        manager = await opened(scene)
        expected = await Flow(scene, "clean").play()
        start = len(manager.wire.writes)
        manager.wire.faults = {start + number: Rejection(503) for number in range(25)}
        assert await Flow(scene, "x").play() == expected
        assert not manager.wire.faults


@pytest.mark.parametrize("how", [StreamFault.RESET, StreamFault.MID_FRAME, StreamFault.GARBAGE])
async def test_watches_that_break_at_every_write_change_nothing_in_the_end(how: StreamFault) -> None:
    async with stage() as scene:
        manager = await opened(scene)
        expected = await Flow(scene, "clean").play()

        async def cut() -> None:
            manager.wire.end_streams(how)

        manager.wire.before.extend([cut] * len(manager.wire.writes))
        assert await Flow(scene, "x").play() == expected
        assert len(manager.wire.before) <= 1


async def test_a_server_that_is_away_for_a_while_finds_everything_as_it_should_be() -> None:
    async with stage() as scene:
        manager = await opened(scene)
        expected = await Flow(scene, "clean").play()
        flow = Flow(scene, "x")

        async def down() -> None:
            manager.wire.disconnect()

        manager.wire.before.append(down)
        await scene.open(make_cluster_queue("other"), make_local_queue("other", "other"))
        await scene.create(make_workload("w", "other"))
        await scene.later(20)
        assert not (await scene.states())["w"]["queue"]
        manager.wire.reconnect()
        await scene.until(says(Admitted="True"), "Workload", "w")
        assert await flow.play() == expected


@pytest.mark.parametrize("blind", ["localqueues", "clusterqueues", "resourceflavors", "namespaces"])
async def test_nothing_is_done_while_one_watch_is_down(blind: str) -> None:
    async with stage() as scene:
        manager = await opened(scene)
        await scene.open(make_cluster_queue("q", "4"), make_local_queue("lq", "q"))
        await scene.create(make_workload("running", "lq", maximumExecutionTimeSeconds=20))
        await scene.until(says(Admitted="True"), "Workload", "running")
        manager.wire.blocked.add(blind)
        manager.wire.end_streams(StreamFault.RESET)
        await scene.later(2)
        written = len(manager.wire.writes)
        await scene.create(make_workload("new", "lq"))
        await scene.later(25)
        assert len(manager.wire.writes) == written
        manager.wire.blocked.clear()
        await scene.until(says(Admitted="True"), "Workload", "new")
        await scene.until(says(Evicted="True"), "Workload", "running")
