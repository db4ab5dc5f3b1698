"""All of the collector, started and stopped as one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from kohort.embedded.collector.furnishing import Furnishing
from kohort.embedded.collector.garbage import NAME, GarbageCollector
from kohort.embedded.collector.monitors import Monitors
from kohort.embedded.collector.namespaces import Namespaces
from kohort.embedded.collector.partial import Partials
from kohort.kube.client import Client
from kohort.kube.events import EventRecorder

_INSTANCE = "kohort"


class Collector:
    """Tidies up on one API server, whichever it is."""

    def __init__(self, client: Client) -> None:
        partials = Partials(client)
        self.monitors = Monitors(client, partials)
        self._recorder = EventRecorder(client, NAME, _INSTANCE)
        self.garbage = GarbageCollector(client, partials, self.monitors, self._recorder)
        self.namespaces = Namespaces(client, partials, self.monitors)
        self.furnishing = Furnishing(client, partials, self.monitors)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin; work starts as soon as the caches are live."""
        self.monitors.start()
        self._tasks = [asyncio.create_task(self._recorder.run()), asyncio.create_task(self._work())]

    async def _work(self) -> None:
        await self.monitors.wait_live()
        self.furnishing.start()
        self.namespaces.start()
        self.garbage.start()

    async def stop(self) -> None:
        """Finish what has begun, then let go of everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(self.furnishing.stop(), self.namespaces.stop(), self.garbage.stop())
        await self.monitors.stop()
        await self._recorder.flush()


@contextlib.asynccontextmanager
async def collecting(client: Client) -> AsyncIterator[Collector]:
    """A collector at work for as long as the block lasts."""
    collector = Collector(client)
    collector.start()
    try:
        yield collector
    finally:
        await collector.stop()
