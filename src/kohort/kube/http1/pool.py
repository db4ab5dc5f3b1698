"""Connection pool: the connection used last is reused first, so that those of a peak expire after it.

If all connections are in use, requests wait in order; a free connection, or the slot of a closed one, goes to the
first.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable

from kohort.kube.http1.connection import Connection
from kohort.kube.http1.errors import ConnectionClosedError

Dial = Callable[[ssl.SSLContext | None], Awaitable[Connection]]


class Pool:
    """At most `limit` connections to one server."""

    def __init__(self, dial: Dial, limit: int, idle_seconds: float) -> None:
        self._dial = dial
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._loop = asyncio.get_running_loop()
        self._all: set[Connection] = set()
        self._slots = 0
        """Connections that are open or being opened."""
        self._idle: dict[Connection, float] = {}
        """Idle connections and since when; the one used last is the last."""
        self._waiters: deque[asyncio.Future[Connection | None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def kept(self, context: ssl.SSLContext | None) -> Connection | None:
        """An idle connection of this context, if there is one; idle connections of other contexts are closed."""
        while self._idle:
            connection, _ = self._idle.popitem()
            if _fits(connection, context):
                return connection
            connection.abort()
        return None

    async def take(self, context: ssl.SSLContext | None) -> Connection:
        """An idle connection or a new one; waits while all are in use. Raises NoConnectionError."""
        while (connection := self.kept(context)) is None:
            received = await self._acquire()
            if received is None:
                return await self._open(context)
            if _fits(received, context):
                return received
            received.abort()
        return connection

    async def new(self, context: ssl.SSLContext | None) -> Connection:
        """A new connection, for use after kept ones turned out to be closed."""
        while True:
            if self._slots >= self._limit and self._idle:
                self._drop(next(iter(self._idle)))
            received = await self._acquire()
            if received is None:
                return await self._open(context)
            received.abort()

    async def close(self) -> None:
        """Close all connections, also those in use."""
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
        """Close connections that have been idle for too long."""
        while self._idle:
            connection, since = next(iter(self._idle.items()))
            if since + self._idle_seconds > now:
                return
            self._drop(connection)

    # Callbacks of connections

    def freed(self, connection: Connection) -> None:
        """Pass the connection to the first waiter, or keep it."""
        if self._is_closed:
            connection.abort()
        elif (waiter := self._next_waiter()) is not None:
            waiter.set_result(connection)
        else:
            self._idle[connection] = self._loop.time()
            self._schedule_expiration()

    def gone(self, connection: Connection) -> None:
        """Pass its slot to the first waiter."""
        self._all.discard(connection)
        self._idle.pop(connection, None)
        self._release_slot()

    # Slots and waiters

    async def _acquire(self) -> Connection | None:
        """Wait for a connection, or for the slot of a closed one (None)."""
        if self._slots < self._limit:
            self._slots += 1
            return None
        waiter: asyncio.Future[Connection | None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            self._cancel_wait(waiter)
            raise

    def _cancel_wait(self, waiter: "asyncio.Future[Connection | None]") -> None:
        """Cancel the wait; what was passed on meanwhile goes to the next waiter."""
        if waiter.cancelled() or waiter.exception() is not None:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            return
        received = waiter.result()
        if received is None:
            self._release_slot()
        elif received.is_usable:
            self.freed(received)

    async def _open(self, context: ssl.SSLContext | None) -> Connection:
        try:
            connection = await self._dial(context)
        except BaseException:
            self._release_slot()
            raise
        if self._is_closed or not connection.is_usable:
            connection.abort()
            self._release_slot()
            raise _closed()
        self._all.add(connection)
        connection.owner = self
        return connection

    def _release_slot(self) -> None:
        if (waiter := self._next_waiter()) is not None:
            waiter.set_result(None)
        else:
            self._slots -= 1

    def _next_waiter(self) -> "asyncio.Future[Connection | None] | None":
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                return waiter
        return None

    def _drop(self, connection: Connection) -> None:
        del self._idle[connection]
        connection.abort()

    def _schedule_expiration(self) -> None:
        if self._timer is None and self._idle:
            oldest = next(iter(self._idle.values()))
            self._timer = self._loop.call_at(oldest + self._idle_seconds, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.expire(self._loop.time())
        self._schedule_expiration()


def _fits(connection: Connection, context: ssl.SSLContext | None) -> bool:
    return connection.context is context and connection.is_usable


def _closed() -> ConnectionClosedError:
    return ConnectionClosedError("closed")
