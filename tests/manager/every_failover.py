"""The leader dies, stands still or is held up at every write of a backlog.

Runs only when asked for by name, `pytest tests/manager/every_failover.py`; `test_manager_failover` has a spread of it.
"""

import pytest

from journeys.mishaps import dying, nothing
from kohort.controllers import context
from manager.rivals import HeldUpFirst, all_goes_well, rivals

WRITES = range(600)
"""More than the leader of an undisturbed run sends."""


@pytest.mark.parametrize("writes", WRITES)
async def test_a_leader_that_dies_after_any_write(writes: int) -> None:
    async with rivals() as load:
        load.here.next_life = nothing
        load.start("one", dying(writes))
        load.start("two", nothing)
        await all_goes_well(load)


@pytest.mark.parametrize("writes", WRITES)
async def test_a_leader_that_stands_still_before_any_write(writes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "LeaderOnlyTransport", HeldUpFirst)
    async with rivals() as load:
        load.start("one", load.holding_at(writes))
        load.start("two", nothing)
        await all_goes_well(load)


@pytest.mark.parametrize("writes", WRITES)
async def test_a_leader_that_is_held_up_at_any_write(writes: int) -> None:
    async with rivals() as load:
        load.start("one", load.holding_at(writes))
        load.start("two", nothing)
        await all_goes_well(load)
