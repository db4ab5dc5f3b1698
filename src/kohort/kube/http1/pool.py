"""Connections that are kept: the one used last is taken first, so that those of a busy hour fade away after it.

Whoever finds all of them in use waits in line; a connection or the room of one that ended is handed to the first in it.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable

from kohort.kube.http1.connection import Connection
from kohort.kube.http1.errors import ConnectionClosedError

Dial = Callable[[ssl.SSLContext | None], Awaitable[Connection]]


class Pool:
    """At most so many connections to one server."""

    def __init__(self, dial: Dial, limit: int, idle_seconds: float) -> None:
        self._dial = dial
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._loop = asyncio.get_running_loop()
        self._all: set[Connection] = set()
        self._rooms = 0
        """Connections that are open or being opened."""
        self._idle: dict[Connection, float] = {}
        """Since when; the one used last is the last."""
        self._waiters: deque[asyncio.Future[Connection | None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def kept(self, context: ssl.SSLContext | None) -> Connection | None:
        """A connection that lies idle, if there is one of this context; others of older contexts end here."""
        while self._idle:
            connection, _ = self._idle.popitem()
            if _fits(connection, context):
                return connection
            connection.abort()
        return None

    async def take(self, context: ssl.SSLContext | None) -> Connection:
        """A connection that was kept, or a new one; waits while all are in use. Raises NoConnectionError."""
        while (connection := self.kept(context)) is None:
            handed = await self._turn()
            if handed is None:
                return await self._made(context)
            if _fits(handed, context):
                return handed
            handed.abort()
        return connection

    async def new(self, context: ssl.SSLContext | None) -> Connection:
        """A connection that nobody has used, for where kept ones have proved dead."""
        while True:
            if self._rooms >= self._limit and self._idle:
                self._drop(next(iter(self._idle)))
            handed = await self._turn()
            if handed is None:
                return await self._made(context)
            handed.abort()

    async def close(self) -> None:
        """End all connections, also those in use."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(_closed())
        ending = [connection.lost for connection in self._all]
        for connection in list(self._all):
            connection.abort()
        await asyncio.gather(*ending)

    def expire(self, now: float) -> None:
        """End what has lain idle for too long."""
        while self._idle:
            connection, since = next(iter(self._idle.items()))
            if since + self._idle_seconds > now:
                return
            self._drop(connection)

    # What connections tell

    def freed(self, connection: Connection) -> None:
        """Hand it to the first in line, or keep it."""
        if self._is_closed:
            connection.abort()
        elif (waiter := self._first()) is not None:
            waiter.set_result(connection)
        else:
            self._idle[connection] = self._loop.time()
            self._watch()

    def gone(self, connection: Connection) -> None:
        """Hand its room to the first in line."""
        self._all.discard(connection)
        self._idle.pop(connection, None)
        self._leave()

    # Rooms and those who wait for one

    async def _turn(self) -> Connection | None:
        """Wait in line for a connection, or, told by None, for the room of one."""
        if self._rooms < self._limit:
            self._rooms += 1
            return None
        waiter: asyncio.Future[Connection | None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            self._step_out(waiter)
            raise

    def _step_out(self, waiter: "asyncio.Future[Connection | None]") -> None:
        """Leave the line; what was handed over at the last moment goes to the next."""
        if waiter.cancelled() or waiter.exception() is not None:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            return
        handed = waiter.result()
        if handed is None:
            self._leave()
        elif handed.is_usable:
            self.freed(handed)

    async def _made(self, context: ssl.SSLContext | None) -> Connection:
        try:
            connection = await self._dial(context)
        except BaseException:
            self._leave()
            raise
        if self._is_closed or not connection.is_usable:
            connection.abort()
            self._leave()
            raise _closed()
        self._all.add(connection)
        connection.keeper = self
        return connection

    def _leave(self) -> None:
        if (waiter := self._first()) is not None:
            waiter.set_result(None)
        else:
            self._rooms -= 1

    def _first(self) -> "asyncio.Future[Connection | None] | None":
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                return waiter
        return None

    def _drop(self, connection: Connection) -> None:
        del self._idle[connection]
        connection.abort()

    def _watch(self) -> None:
        if self._timer is None and self._idle:
            oldest = next(iter(self._idle.values()))
            self._timer = self._loop.call_at(oldest + self._idle_seconds, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.expire(self._loop.time())
        self._watch()


def _fits(connection: Connection, context: ssl.SSLContext | None) -> bool:
    return connection.context is context and connection.is_usable


def _closed() -> ConnectionClosedError:
    return ConnectionClosedError("closed")
