"""The way of one manager to its server: every request is numbered, and each of them, and every watch, can go wrong."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from kit.faults import FaultInjectingResponse, FaultInjectingTransport, Rejection, RequestFault, StreamFault
from kohort.kube.clock import Clock, within
from kohort.kube.errors import LostResponseError
from kohort.kube.transport import Request, Response, Transport

AWAY = Rejection(503)
READS = frozenset({"GET", "HEAD"})


def is_watch(request: Request) -> bool:
    return ("watch", "1") in request.query


def is_write(request: Request) -> bool:
    return request.method not in READS


def plural_of(request: Request) -> str:
    """The resource that a list or a watch is of."""
    return request.path.rpartition("/")[2]


@dataclass
class Bends:
    """How watches show less than the truth, though in the end all of it."""

    late: dict[str, float] = field(default_factory=dict)
    """Seconds by which the events of a resource come after those of others."""
    copies: int = 1
    """How often each piece of a watch arrives."""


async def _let_be(_request: Request) -> None:
    pass


class Wire(FaultInjectingTransport):
    """Numbers requests, lets some of them fail, and falls silent when its manager dies or is held up."""

    def __init__(self, inner: Transport, clock: Clock) -> None:
        super().__init__(inner, clock)
        self.requests: list[Request] = []
        self.faults: dict[int, RequestFault | Rejection] = {}
        """What happens to the request of a number."""
        self.before: dict[int, Callable[[], None]] = {}
        """What happens right before the request of a number is sent."""
        self.when_written: dict[int, Callable[[], None]] = {}
        """What happens right before the write of a number is sent."""
        self.blind: set[str] = set()
        """Resources that can't be read for now, though everything can be written."""
        self.bends = Bends()
        self.watches: list[Bent] = []
        """Those that are open."""
        self.writes = 0
        """Writes that were let through."""
        self.last = float("inf")
        """So many writes are let through; then the manager is dead."""
        self.is_dead = False
        self.fault_count = 0
        """How often something went wrong as it should."""
        self.under_way = 0
        """Requests that wait for their answer, watches apart."""
        self.on_write: Callable[[Request], None] = lambda request: None
        """Who looks at each write that is sent."""
        self.meddle: Callable[[Request], Awaitable[None]] = _let_be
        """Who does something right before a write reaches the server."""
        self.thawed = asyncio.Event()
        """Cleared while nothing gets through, in either direction, and nothing is lost either."""
        self.thawed.set()

    async def send(self, request: Request, timeout: float) -> Response:
        number = len(self.requests)
        self.requests.append(request)
        if number in self.before:
            self.before.pop(number)()
        if is_write(request):
            self._count()
        await self.unless_dead()
        if not is_write(request) and plural_of(request) in self.blind:
            return AWAY.response()
        if not self.thawed.is_set():
            await self._until_thawed(timeout)
        if is_write(request):
            self.on_write(request)
            await self.meddle(request)
        return await self._ask(number, request, timeout)

    def _count(self) -> None:
        """One more write, and what is to happen with it."""
        if self.writes >= self.last:
            self.is_dead = True
            self.fault_count += 1
            return
        if self.writes in self.when_written:
            self.when_written.pop(self.writes)()
            self.fault_count += 1
        self.writes += 1

    async def _until_thawed(self, timeout: float) -> None:
        """A request that is held up waits to be sent, until whoever asked gives it up."""
        try:
            await within(self.clock, timeout, self.thawed.wait())
        except TimeoutError:
            raise LostResponseError(f"no answer in {timeout:g} s") from None

    async def unless_dead(self) -> None:
        """Nothing of a dead process gets through, ever."""
        if self.is_dead:
            await asyncio.Event().wait()

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
        watch = Bent(cast("FaultInjectingResponse", response), self, plural_of(request))
        self.watches.append(watch)
        return watch

    def spoil(self, how: StreamFault | None, plural: str = "") -> None:
        """End the open watches of a resource, or all, or let them be silent for ever."""
        for watch in [each for each in self.watches if not plural or each.plural == plural]:
            watch.spoil(how)
            self.fault_count += 1

    @property
    def has_stalled(self) -> bool:
        """Whether somebody still listens to a watch that says nothing any more."""
        return any(watch.is_stalled for watch in self.watches)


class Bent:
    """A watch whose events come late, or more than once."""

    def __init__(self, inner: FaultInjectingResponse, wire: Wire, plural: str) -> None:
        self._inner = inner
        self._wire = wire
        self.plural = plural
        self.is_stalled = False

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    def spoil(self, how: StreamFault | None) -> None:
        self.is_stalled = how is None
        self._inner.end_with(how)

    async def read(self) -> bytes:
        return await self._inner.read()

    async def close(self) -> None:
        if self in self._wire.watches:
            self._wire.watches.remove(self)
        await self._inner.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        bends = self._wire.bends
        async for chunk in self._inner.chunks():
            if bends.late.get(self.plural):
                await self._wire.clock.sleep(bends.late[self.plural])
                self._wire.fault_count += 1
            await self._wire.unless_dead()
            await self._wire.thawed.wait()
            for _ in range(bends.copies):
                yield chunk
