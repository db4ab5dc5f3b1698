"""Starts and stops the garbage collector, the namespace controller and namespace defaults."""

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
    """The cleanup controllers of one API server."""

    def __init__(self, client: Client) -> None:
        metadata_client = MetadataClient(client)
        self.monitors = Monitors(client, metadata_client)
        self._recorder = EventRecorder(client, NAME, _INSTANCE)
        self.garbage = GarbageCollector(client, metadata_client, self.monitors, self._recorder)
        self.namespaces = NamespaceController(client, metadata_client, self.monitors)
        self.namespace_defaults = NamespaceDefaults(client, metadata_client, self.monitors)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Starts the monitors, and the controllers once they have synced."""
        self.monitors.start()
        self._tasks = [asyncio.create_task(self._recorder.run()), asyncio.create_task(self._work())]

    async def _work(self) -> None:
        await self.monitors.wait_for_sync()
        self.namespace_defaults.start()
        self.namespaces.start()
        self.garbage.start()

    async def stop(self) -> None:
        """Finishes reconciles in progress and stops the monitors."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(self.namespace_defaults.stop(), self.namespaces.stop(), self.garbage.stop())
        await self.monitors.stop()
        await self._recorder.flush()


@contextlib.asynccontextmanager
async def running_cleanup(client: Client) -> AsyncIterator[CleanupControllers]:
    """Runs the cleanup controllers until the context exits."""
    collector = CleanupControllers(client)
    collector.start()
    try:
        yield collector
    finally:
        await collector.stop()
