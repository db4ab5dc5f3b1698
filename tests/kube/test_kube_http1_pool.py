"""Kept connections: never more than the limit, first come first served, none lost, none used without an end."""

import asyncio
import ssl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.virtual_time import settle
from kohort.kube.http1.connection import Connection
from kohort.kube.http1.errors import ConnectionClosedError, NoConnectionError
from kohort.kube.http1.pool import Pool
from kube.sockets import ConnectionHarness, ok_response

IDLE = 60.0


class PoolFixture:
    """A pool of connections without a server."""

    def __init__(self, limit: int = 2) -> None:
        self.pool = Pool(self.dial, limit, IDLE)
        self.lines: dict[Connection, ConnectionHarness] = {}
        self.dials_fail = False

    async def dial(self, context: ssl.SSLContext | None) -> Connection:
        await asyncio.sleep(0)
        if self.dials_fail:
            raise NoConnectionError("connection refused")
        line = ConnectionHarness(context)
        self.lines[line.connection] = line
        return line.connection

    @property
    def open(self) -> int:
        return sum(not line.connection.lost.done() for line in self.lines.values())

    async def use(self, connection: Connection) -> None:
        """Send a request, and receive the response."""
        asking = asyncio.create_task(connection.send(b"GET / HTTP/1.1\r\n\r\n", "GET", float("inf")))
        await asyncio.sleep(0)
        self.lines[connection].send(ok_response(b"hello"))
        await asking

    def taker(self, context: ssl.SSLContext | None = None) -> "asyncio.Task[Connection]":
        return asyncio.create_task(self.pool.take(context))


async def test_the_connection_used_last_is_taken_first() -> None:
    exchange = PoolFixture()
    first, second = await exchange.pool.take(None), await exchange.pool.take(None)
    await exchange.use(second)
    await exchange.use(first)
    assert exchange.pool.kept(None) is first
    assert await exchange.pool.take(None) is second
    assert exchange.pool.kept(None) is None


async def test_no_more_than_the_limit_and_the_longest_waiting_caller_is_next() -> None:
    exchange = PoolFixture(limit=2)
    held = [await exchange.pool.take(None) for _ in range(2)]
    takers = [exchange.taker() for _ in range(3)]
    await settle()
    assert (exchange.open, [taker.done() for taker in takers]) == (2, [False] * 3)
    await exchange.use(held[0])
    late = exchange.taker()
    await settle()
    assert [taker.done() for taker in (*takers, late)] == [True, False, False, False]
    assert takers[0].result() is held[0]
    held[1].abort()
    await settle()
    assert takers[1].result() not in held
    await exchange.use(held[0])
    await exchange.use(takers[1].result())
    await settle()
    assert (takers[2].result(), late.result(), exchange.open) == (held[0], takers[1].result(), 2)


async def test_a_cancelled_waiter_blocks_no_other() -> None:
    exchange = PoolFixture(limit=1)
    held = await exchange.pool.take(None)
    takers = [exchange.taker() for _ in range(3)]
    await settle()
    takers[0].cancel()
    await settle()
    exchange.pool.freed(held)
    takers[1].cancel()  # at the very moment at which it was handed the connection
    await settle()
    assert (takers[1].cancelled(), takers[2].result()) == (True, held)


async def test_a_slot_of_a_cancelled_waiter_is_passed_to_the_next() -> None:
    exchange = PoolFixture(limit=1)
    held = await exchange.pool.take(None)
    takers = [exchange.taker() for _ in range(2)]
    await settle()
    exchange.pool.gone(held)
    takers[0].cancel()
    await settle()
    assert takers[1].result() is not held


async def test_a_connection_that_ends_before_its_next_use_is_replaced() -> None:
    exchange = PoolFixture(limit=1)
    held = await exchange.pool.take(None)
    taker = exchange.taker()
    await settle()
    exchange.pool.freed(held)
    held.abort()
    await settle()
    assert taker.result() is not held


async def test_a_dial_that_fails_frees_its_slot() -> None:
    exchange = PoolFixture(limit=1)
    exchange.dials_fail = True
    takers = [exchange.taker() for _ in range(3)]
    await settle()
    assert [type(taker.exception()) for taker in takers] == [NoConnectionError] * 3
    exchange.dials_fail = False
    assert (await exchange.pool.take(None)).is_usable


async def test_what_lies_idle_for_long_ends_and_what_does_not_stays() -> None:
    exchange = PoolFixture()
    loop = asyncio.get_running_loop()
    first, second = await exchange.pool.take(None), await exchange.pool.take(None)
    await exchange.use(first)
    between = loop.time()
    await exchange.use(second)
    exchange.pool.expire(between + IDLE - 1)
    assert (first.is_usable, second.is_usable) == (True, True)
    exchange.pool.expire(between + IDLE)
    assert (first.is_usable, second.is_usable) == (False, True)
    assert exchange.pool.kept(None) is second
    exchange.pool.expire(between + 2 * IDLE)
    assert second.is_usable


async def test_idle_connections_end_by_themselves() -> None:
    exchange = PoolFixture()
    exchange.pool = Pool(exchange.dial, 2, 0.0)
    await exchange.use(await exchange.pool.take(None))
    async with asyncio.timeout(60):
        while exchange.open:
            await asyncio.sleep(0)


async def test_another_context_gets_another_connection() -> None:
    exchange = PoolFixture(limit=1)
    old, new = ssl.create_default_context(), ssl.create_default_context()
    kept = await exchange.pool.take(old)
    await exchange.use(kept)
    made = await exchange.pool.take(new)
    assert (made.context, kept.is_usable) == (new, False)


async def test_a_new_connection_replaces_an_idle_one() -> None:
    exchange = PoolFixture(limit=1)
    kept = await exchange.pool.take(None)
    await exchange.use(kept)
    made = await exchange.pool.new(None)
    assert (made is kept, kept.is_usable, exchange.open) == (False, False, 1)


async def test_a_connection_with_unsolicited_data_is_not_kept() -> None:
    exchange = PoolFixture()
    kept = await exchange.pool.take(None)
    await exchange.use(kept)
    exchange.lines[kept].send(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert exchange.pool.kept(None) is None


async def test_closing_ends_connections_and_hopes() -> None:
    exchange = PoolFixture(limit=1)
    held = await exchange.pool.take(None)
    waiting = exchange.taker()
    await settle()
    await exchange.pool.close()
    assert exchange.open == 0
    assert not held.is_usable
    with pytest.raises(ConnectionClosedError):
        await waiting


async def test_closing_while_dialling_leaves_nothing_open() -> None:
    exchange = PoolFixture()
    dialling = exchange.taker()
    await asyncio.sleep(0)
    await exchange.pool.close()
    with pytest.raises(ConnectionClosedError):
        await dialling
    await settle()
    assert exchange.open == 0


class PoolStress:
    """Clients that take connections and release them in every possible way."""

    def __init__(self, limit: int) -> None:
        self.exchange = PoolFixture(limit)
        self.limit = limit
        self.takers: list[asyncio.Task[Connection]] = []

    async def step(self, what: str, which: int) -> None:
        if what == "settle":
            await settle()
        elif what == "take":
            self.takers.append(self.exchange.taker())
        elif self.takers:
            await self._leave(what, self.takers.pop(which % len(self.takers)))
        self.check()

    async def _leave(self, how: str, taker: "asyncio.Task[Connection]") -> None:
        if not taker.done():
            taker.cancel()
        elif how == "use" and taker.result().is_usable:
            await self.exchange.use(taker.result())
        else:
            taker.result().abort()

    def check(self) -> None:
        held = [taker.result() for taker in self.takers if taker.done()]
        assert len(held) == len(set(held))
        assert self.exchange.open <= self.limit

    async def end(self) -> None:
        """All that still wait get one, as soon as those before are through."""
        while self.takers:
            await settle()
            assert self.takers[0].done()
            await self.step("use", 0)


steps = st.tuples(st.sampled_from(["take", "take", "use", "break", "settle"]), st.integers(0, 9))


@settings(deadline=None)
@given(st.integers(1, 3), st.lists(steps, max_size=40))
def test_under_any_load_every_waiter_is_served(limit: int, steps: list[tuple[str, int]]) -> None:
    async def run() -> None:
        turmoil = PoolStress(limit)
        for what, which in steps:
            await turmoil.step(what, which)
        await turmoil.end()
        await turmoil.exchange.pool.close()

    asyncio.run(asyncio.wait_for(run(), 60))
