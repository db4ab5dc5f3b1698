"""All of the collector, started and stopped as one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from kohort.embedded.garbage_collector.garbage import NAME, GarbageCollector
from kohort.embedded.garbage_collector.metadata_client import MetadataClient
from kohort.embedded.garbage_collector.monitors import Monitors
from kohort.embedded.garbage_collector.namespace_defaults import NamespaceDefaults
from kohort.embedded.garbage_collector.namespaces import NamespaceController
from kohort.kube.client import Client
from kohort.kube.events import EventRecorder

_INSTANCE = "kohort"


class CleanupControllers:
    """Tidies up on one API server, whichever it is."""

    def __init__(self, client: Client) -> None:
        partials = MetadataClient(client)
        self.monitors = Monitors(client, partials)
        self._recorder = EventRecorder(client, NAME, _INSTANCE)
        self.garbage = GarbageCollector(client, partials, self.monitors, self._recorder)
        self.namespaces = NamespaceController(client, partials, self.monitors)
        self.furnishing = NamespaceDefaults(client, partials, self.monitors)
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
async def running_cleanup(client: Client) -> AsyncIterator[CleanupControllers]:
    """A collector at work for as long as the block lasts."""
    collector = CleanupControllers(client)
    collector.start()
    try:
        yield collector
    finally:
        await collector.stop()
