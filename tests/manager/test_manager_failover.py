"""Two managers under load, in virtual time: whenever the leader crashes or is held up, the other one continues.

In the server's whole history nothing is admitted twice, no quota is exceeded, and no follower writes anything.
"""

import pytest

from e2e.faults import crashing_after
from kohort.controllers import context
from manager.failover_harness import PausedBeforeLeaderCheck, assert_no_workload_lost, running_failover_harness


async def test_leaders_that_crash_again_and_again() -> None:
    async with running_failover_harness() as load:
        load.here.next_faults = crashing_after(97)
        load.start("one", crashing_after(19))
        load.start("two", crashing_after(47))
        await assert_no_workload_lost(load)
        assert len(load.here.processes) > 4


async def test_a_leader_whose_process_is_paused_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "LeaderOnlyTransport", PausedBeforeLeaderCheck)
    async with running_failover_harness() as load:
        load.start("one", load.holding_at(45))
        load.start("two", load.holding_at(2))
        await assert_no_workload_lost(load)
        assert [each.transport.fault_count for each in load.here.processes] == [1, 1]


async def test_a_leader_whose_writes_are_delayed() -> None:
    async with running_failover_harness() as load:
        load.start("one", load.holding_at(45))
        load.start("two", load.holding_at(2))
        await assert_no_workload_lost(load)
        assert [each.transport.fault_count for each in load.here.processes] == [1, 1]
