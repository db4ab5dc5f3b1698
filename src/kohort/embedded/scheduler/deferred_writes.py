"""Asynchronous writes with one pending write per key: the newest replaces older ones; retried until it succeeds."""

from collections.abc import Awaitable, Callable
from typing import Final

from kohort.kube.clock import Clock
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.metrics import MetricsSink
from kohort.kube.workqueue import WorkQueue

WORKERS: Final = 16

_Write = Callable[[], Awaitable[None]]


class DeferredWrites:
    """Executes writes concurrently; one write per key may be pending."""

    def __init__(self, name: str, clock: Clock, metrics: MetricsSink) -> None:
        self._pending: dict[str, _Write] = {}
        queue = WorkQueue[str](clock, name, metrics=metrics)
        self._queue = queue
        self._controller = Controller(name, queue, self._do, clock, metrics)

    def send(self, key: str, write: _Write) -> None:
        """Queues a write, replacing a pending one with the same key."""
        self._pending[key] = write
        self._queue.add(key)

    def cancel(self, key: str) -> None:
        """Drops the pending write of a key unless it has started."""
        self._pending.pop(key, None)

    def start(self) -> None:
        """Starts the workers."""
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Finishes the writes in flight."""
        await self._controller.stop()

    async def _do(self, key: str) -> RequeueAfter | None:
        write = self._pending.get(key)
        if write is None:
            return None
        try:
            await write()
        except StatusError as error:
            if not error.is_not_found:
                raise
        if self._pending.get(key) is write:
            del self._pending[key]
        return None
