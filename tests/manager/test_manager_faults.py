"""Two managers under load whose server fails them in every way; and a write's time is no longer than its right."""

from itertools import cycle

import pytest

from journeys.mishaps import CUTS, FAULTS, failing, spoiling
from kohort.kube.transport import Request, Response
from kohort.manager.fencing import FencedTransport
from manager.rivals import all_goes_well, rivals

MOST = 3000
"""Requests of one manager."""


async def test_every_ninth_request_fails_in_another_way() -> None:
    faults = failing(dict(zip(range(0, MOST, 9), cycle(FAULTS.values()), strict=False)))
    async with rivals() as load:
        load.start("one", faults)
        load.start("two", faults)
        await all_goes_well(load)
        assert sum(each.wire.mishaps for each in load.here.lives) > 20


async def test_watches_break_off_all_the_time() -> None:
    cuts = spoiling(dict(zip(range(60, MOST, 151), cycle(CUTS.values()), strict=False)))
    async with rivals() as load:
        load.start("one", cuts)
        load.start("two", cuts)
        await all_goes_well(load)
        assert sum(each.wire.mishaps for each in load.here.lives) > 20


class Asked:
    """A transport that keeps in mind how much time it was given."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def send(self, request: Request, timeout: float) -> Response:
        self.seconds.append(timeout)
        raise NotImplementedError

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(("method", "seconds"), [("GET", 30.0), ("PATCH", 4.0), ("POST", 4.0), ("DELETE", 4.0)])
async def test_a_write_has_no_more_time_than_its_sender_leads(method: str, seconds: float) -> None:
    asked = Asked()
    with pytest.raises(NotImplementedError):
        await FencedTransport(asked, lambda: 4.0).send(Request(method, "/x"), 30.0)
    assert asked.seconds == [seconds]
