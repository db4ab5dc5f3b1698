import asyncio
import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.fake_apiserver import FakeApiServer
from kit.faults import FaultInjectingTransport, Rejection, RequestFault
from kit.virtual_time import VirtualClock
from kohort.api.meta import ObjectKey
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.leader_election import LeaderCallbacks, LeaderElector, LeaseTimes

LEASE = ObjectKey("kohort-system", "manager")


class Candidate:
    """A replica with a network of its own."""

    def __init__(self, name: str, api: FakeApiServer, clock: VirtualClock) -> None:
        self.network = FaultInjectingTransport(api, clock)
        self.reported: list[str] = []
        callbacks = LeaderCallbacks(lambda: self.reported.append("acquired"), lambda: self.reported.append("lost"))
        client = Client(self.network, clock=clock, random=Random(name))  # noqa: S311
        self.election = LeaderElector(client, LEASE, name, callbacks)
        self.task = asyncio.create_task(self.election.run())

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class ElectionFixture:
    def __init__(self) -> None:
        self.api = FakeApiServer()
        self.clock = VirtualClock()
        self.one = Candidate("one", self.api, self.clock)
        self.two = Candidate("two", self.api, self.clock)

    @property
    def leaders(self) -> list[str]:
        return [name for name in ("one", "two") if getattr(self, name).election.is_leader]

    async def advance(self, seconds: int) -> None:
        """In small steps, each of which must find at most one leader."""
        for _ in range(seconds * 2):
            await self.clock.advance(0.5)
            assert len(self.leaders) <= 1

    def lease(self) -> dict[str, object]:
        spec: dict[str, object] = self.api.state("leases")[LEASE]["spec"]
        return spec

    async def stop(self) -> None:
        for candidate in (self.one, self.two):
            candidate.network.reconnect()
            await candidate.stop()


async def test_one_of_two_leads_and_keeps_leading() -> None:
    race = ElectionFixture()
    await race.advance(60)
    assert race.leaders == ["one"]
    assert race.one.reported == ["acquired"]
    assert race.two.reported == []
    assert race.two.election.leader == "one"
    assert race.lease()["holderIdentity"] == "one"
    assert race.lease()["leaseDurationSeconds"] == 15
    await race.stop()


async def test_a_leader_that_stops_releases_its_lease_at_once() -> None:
    race = ElectionFixture()
    await race.advance(10)
    await race.one.stop()
    assert race.one.reported == ["acquired", "lost"]
    assert race.lease()["holderIdentity"] == ""
    await race.advance(4)
    assert race.leaders == ["two"]
    assert race.lease()["leaseTransitions"] == 1
    await race.stop()


async def test_a_renewal_that_lands_late_does_not_keep_the_lease_from_being_handed_back() -> None:
    race = ElectionFixture()
    await race.advance(10)
    conflict = StatusError(409, "Conflict", "the object has been modified")
    race.one.network.fail_next(RequestFault.NONE, Rejection(409, body=json.dumps(conflict.to_status()).encode()))
    await race.one.stop()
    assert race.lease()["holderIdentity"] == ""
    await race.advance(4)
    assert race.leaders == ["two"]
    await race.stop()


async def test_a_leader_without_network_stops_leading_before_another_starts() -> None:
    race = ElectionFixture()
    await race.advance(10)
    race.one.network.disconnect()
    await race.advance(11)
    assert race.one.reported == ["acquired", "lost"]
    assert race.leaders == []
    await race.advance(20)
    assert race.leaders == ["two"]
    await race.stop()


async def test_a_leader_whose_request_hangs_is_reported_in_time() -> None:
    race = ElectionFixture()
    await race.advance(10)
    race.one.network.fail_next(*[RequestFault.NO_RESPONSE] * 20)
    await race.advance(13)
    assert race.one.reported == ["acquired", "lost"]
    await race.stop()


async def test_is_leader_is_false_the_moment_the_right_has_run_out() -> None:
    race = ElectionFixture()
    await race.advance(10)
    race.clock._now += 11  # the event loop was held up: nothing ran, but time passed
    assert not race.one.election.is_leader
    await race.stop()


async def test_a_stop_without_network_has_a_time_limit() -> None:
    race = ElectionFixture()
    await race.advance(10)
    race.one.network.disconnect()
    stopping = asyncio.create_task(race.one.stop())
    await race.clock.advance(11)
    await asyncio.wait_for(stopping, 60)
    assert race.one.reported == ["acquired", "lost"]
    await race.two.stop()


@pytest.mark.parametrize("times", [(10, 10, 2), (15, 10, 10), (15, 10, 0)])
def test_times_that_make_no_sense_are_refused(times: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="duration > renew deadline > retry"):
        LeaseTimes(*times)


moves = st.one_of(
    st.tuples(st.sampled_from(["one", "two"]), st.sampled_from(["disconnect", "reconnect"])),
    st.tuples(
        st.sampled_from(["one", "two"]),
        st.sampled_from(
            [
                RequestFault.LOST_RESPONSE,
                RequestFault.NO_RESPONSE,
                RequestFault.UNREACHABLE,
                Rejection(500),
                Rejection(409),
            ]
        ),
    ),
    st.tuples(st.just("time"), st.integers(1, 12)),
)


@given(st.lists(moves, max_size=8))
def test_after_any_faults_there_are_never_two_leaders_and_finally_one(
    story: list[tuple[str, object]],
) -> None:
    async def play() -> None:
        race = ElectionFixture()
        for who, what in story:
            if isinstance(what, int):
                await race.advance(what)
            elif isinstance(what, str):
                getattr(getattr(race, who).network, what)()
            else:
                getattr(race, who).network.fail_next(what, what)
        for candidate in (race.one, race.two):
            candidate.network.reconnect()
            candidate.network.queued_faults.clear()
        await race.advance(30)
        assert len(race.leaders) == 1
        await race.stop()

    asyncio.run(asyncio.wait_for(play(), 60))
