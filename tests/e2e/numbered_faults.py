"""The connection of one manager to its server: faults for each request by its number, and for each watch."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import cast

from kit.faults import FaultInjectingResponse, ForwardedResponse, Rejection, RequestFault, StreamFault
from kit.manager_transport import ManagerTransport
from kohort.kube.clock import Clock, within
from kohort.kube.errors import LostResponseError
from kohort.kube.transport import Request, Response, Transport

UNAVAILABLE = Rejection(503)
READS = frozenset({"GET", "HEAD"})


def is_watch(request: Request) -> bool:
    return ("watch", "1") in request.query


def is_write(request: Request) -> bool:
    return request.method not in READS


def plural_of(request: Request) -> str:
    """The resource that a list or a watch is of."""
    return request.path.rpartition("/")[2]


@dataclass
class WatchDelays:
    """Delays and repetitions of watch events."""

    late: dict[str, float] = field(default_factory=dict)
    """Seconds by which the events of a resource come after those of others."""
    copies: int = 1
    """How often each piece of a watch arrives."""


async def _no_action(_request: Request) -> None:
    pass


class NumberedFaultTransport(ManagerTransport):
    """Numbers requests and injects faults into some; blocks when its manager crashes or is paused."""

    def __init__(self, inner: Transport, clock: Clock) -> None:
        super().__init__(inner, clock)
        self.requests: list[Request] = []
        self.faults: dict[int, RequestFault | Rejection] = {}
        """Faults by number of the request."""
        self.before: dict[int, Callable[[], None]] = {}
        """Actions right before the request of a number is sent."""
        self.when_written: dict[int, Callable[[], None]] = {}
        """Actions right before the write of a number is sent."""
        self.unreadable: set[str] = set()
        """Resources whose reads fail, while writes succeed."""
        self.delays = WatchDelays()
        self.watches: list[DelayedResponse] = []
        """Open watches."""
        self.writes = 0
        """Number of writes that were sent."""
        self.fault_count = 0
        """Number of injected faults."""
        self.under_way = 0
        """Requests other than watches without a response yet."""
        self.on_write: Callable[[Request], None] = lambda request: None
        """Observer of each write that is sent."""
        self.before_write: Callable[[Request], Awaitable[None]] = _no_action
        """Action right before a write reaches the server."""
        self.resumed = asyncio.Event()
        """Cleared while the manager is paused: nothing passes in either direction, and nothing is lost."""
        self.resumed.set()

    async def send(self, request: Request, timeout: float) -> Response:
        number = len(self.requests)
        self.requests.append(request)
        if number in self.before:
            self.before.pop(number)()
        if is_write(request):
            self._count()
        await self.unless_crashed()
        if not is_write(request) and plural_of(request) in self.unreadable:
            return UNAVAILABLE.response()
        if not self.resumed.is_set():
            await self._until_resumed(timeout)
        if is_write(request):
            self.on_write(request)
            await self.before_write(request)
        return await self._ask(number, request, timeout)

    def _count(self) -> None:
        """Count a write, and run what is planned for it."""
        if self.writes >= self.crash_after:
            self.is_crashed = True
            self.fault_count += 1
            return
        if self.writes in self.when_written:
            self.when_written.pop(self.writes)()
            self.fault_count += 1
        self.writes += 1

    async def _until_resumed(self, timeout: float) -> None:
        """A request of a paused manager waits until its timeout."""
        try:
            await within(self.clock, timeout, self.resumed.wait())
        except TimeoutError:
            raise LostResponseError(f"no answer in {timeout:g} s") from None

    async def _ask(self, number: int, request: Request, timeout: float) -> Response:
        if number in self.faults:
            self.fail_next(self.faults.pop(number))
            self.fault_count += 1
        self.under_way += 1
        try:
            response = await super().send(request, timeout)
        finally:
            self.under_way -= 1
        if not is_watch(request):
            return response
        watch = DelayedResponse(cast("FaultInjectingResponse", response), self, plural_of(request))
        self.watches.append(watch)
        return watch

    def interrupt_watches(self, how: StreamFault | None, plural: str = "") -> None:
        """End or stall the open watches of a resource, or of all."""
        for watch in [each for each in self.watches if not plural or each.plural == plural]:
            watch.interrupt(how)
            self.fault_count += 1

    @property
    def has_stalled(self) -> bool:
        """Whether an open watch is stalled."""
        return any(watch.is_stalled for watch in self.watches)


class DelayedResponse(ForwardedResponse):
    """A watch whose events arrive late, or more than once."""

    def __init__(self, inner: FaultInjectingResponse, transport: NumberedFaultTransport, plural: str) -> None:
        super().__init__(inner)
        self._stream = inner
        self._transport = transport
        self.plural = plural
        self.is_stalled = False

    def interrupt(self, how: StreamFault | None) -> None:
        self.is_stalled = how is None
        self._stream.end_with(how)

    async def close(self) -> None:
        if self in self._transport.watches:
            self._transport.watches.remove(self)
        await self._inner.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        delays = self._transport.delays
        async for chunk in self._inner.chunks():
            if delays.late.get(self.plural):
                await self._transport.clock.sleep(delays.late[self.plural])
                self._transport.fault_count += 1
            await self._transport.unless_crashed()
            await self._transport.resumed.wait()
            for _ in range(delays.copies):
                yield chunk
