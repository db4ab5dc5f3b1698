"""Two managers under load, in virtual time: whenever the leader dies or is held up, the other one goes on.

In the server's whole history nothing is admitted twice, no quota is exceeded, and who does not lead writes nothing.
"""

import pytest

from journeys.mishaps import dying
from kohort.controllers import context
from manager.rivals import HeldUpFirst, all_goes_well, rivals


async def test_leaders_that_die_again_and_again() -> None:
    async with rivals() as load:
        load.here.next_life = dying(97)
        load.start("one", dying(19))
        load.start("two", dying(47))
        await all_goes_well(load)
        assert len(load.here.lives) > 4


async def test_a_leader_whose_process_stands_still_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "LeaderOnlyTransport", HeldUpFirst)
    async with rivals() as load:
        load.start("one", load.holding_at(45))
        load.start("two", load.holding_at(2))
        await all_goes_well(load)
        assert [each.wire.mishaps for each in load.here.lives] == [1, 1]


async def test_a_leader_whose_writes_are_held_up_on_the_way() -> None:
    async with rivals() as load:
        load.start("one", load.holding_at(45))
        load.start("two", load.holding_at(2))
        await all_goes_well(load)
        assert [each.wire.mishaps for each in load.here.lives] == [1, 1]
