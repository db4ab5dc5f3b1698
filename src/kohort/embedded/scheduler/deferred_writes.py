"""Writes that can wait: each about one thing, the newest wish about it counts, tried until done or pointless."""

from collections.abc import Awaitable, Callable
from typing import Final

from kohort.kube.clock import Clock
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.metrics import MetricsSink
from kohort.kube.workqueue import WorkQueue

WORKERS: Final = 16

Errand = Callable[[], Awaitable[None]]


class DeferredWrites:
    """Does errands, several at a time; as many may wait as there are things to write about."""

    def __init__(self, name: str, clock: Clock, metrics: MetricsSink) -> None:
        self._wanted: dict[str, Errand] = {}
        queue = WorkQueue[str](clock, name, metrics=metrics)
        self._queue = queue
        self._controller = Controller(name, queue, self._do, clock, metrics)

    def send(self, about: str, errand: Errand) -> None:
        """Have something written."""
        self._wanted[about] = errand
        self._queue.add(about)

    def cancel(self, about: str) -> None:
        """Have something not written after all, if there is time."""
        self._wanted.pop(about, None)

    def start(self) -> None:
        """Begin to work."""
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Finish what has begun."""
        await self._controller.stop()

    async def _do(self, about: str) -> RequeueAfter | None:
        errand = self._wanted.get(about)
        if errand is None:
            return None
        try:
            await errand()
        except StatusError as error:
            if not error.is_not_found:
                raise
        if self._wanted.get(about) is errand:
            del self._wanted[about]
        return None
