"""The leader crashes or is paused at every write of a backlog.

Runs only when selected by name (`make test-faults`); `test_manager_failover` has a sample of it.
"""

import pytest

from e2e.faults import crashing_after, no_fault
from kohort.controllers import context
from manager.failover_harness import PausedBeforeLeaderCheck, assert_no_workload_lost, running_failover_harness

WRITES = range(600)
"""More than the leader of an undisturbed run sends."""


@pytest.mark.parametrize("writes", WRITES)
async def test_leader_crashes_after_any_write(writes: int) -> None:
    async with running_failover_harness() as load:
        load.here.next_faults = no_fault
        load.start("one", crashing_after(writes))
        load.start("two", no_fault)
        await assert_no_workload_lost(load)


@pytest.mark.parametrize("writes", WRITES)
async def test_leader_is_paused_before_any_write(writes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "LeaderOnlyTransport", PausedBeforeLeaderCheck)
    async with running_failover_harness() as load:
        load.start("one", load.holding_at(writes))
        load.start("two", no_fault)
        await assert_no_workload_lost(load)


@pytest.mark.parametrize("writes", WRITES)
async def test_leader_is_delayed_at_any_write(writes: int) -> None:
    async with running_failover_harness() as load:
        load.start("one", load.holding_at(writes))
        load.start("two", no_fault)
        await assert_no_workload_lost(load)
