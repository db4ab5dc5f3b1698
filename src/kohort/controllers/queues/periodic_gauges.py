"""Walks over whole queues for gauges that nobody keeps: the more seldom, the more workloads a queue has.

Between two walks such a gauge is a little old; after the last change it is walked for once more.
"""

from collections.abc import Callable
from typing import Final

from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues.throttle import INTERVAL, UpdateThrottle
from kohort.controllers.server_load import ServerLoad
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.workqueue import WorkQueue

EVERY: Final = 15.0
"""Most seconds between two walks over the same queue; Prometheus asks every 15 to 60."""
PER_SECOND: Final = 100
"""Workloads of one queue that are walked over in a second, on average."""


def interval_of(workloads: int) -> float:
    """Seconds between two walks over a queue with so many workloads."""
    return min(max(INTERVAL, workloads / PER_SECOND), EVERY)


class PeriodicGauges:
    """Lets queues be walked over, each in its time."""

    def __init__(self, context: ControllerContext, walk: Callable[[str], None]) -> None:
        self._walk = walk
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, "surveys")
        self._pace = UpdateThrottle(self._queue, context.clock, ServerLoad())
        self._controller = Controller("surveys", self._queue, self._look, context.clock)

    def start(self) -> None:
        """Begin to walk."""
        self._controller.start()

    async def stop(self) -> None:
        """Begin no other walk."""
        await self._controller.stop()

    def book(self, place: ObjectKey, workloads: int) -> None:
        """Something changed in a queue, which has so many workloads."""
        self._pace.book(place, interval_of(workloads))

    def forget(self, place: ObjectKey) -> None:
        """The queue is gone."""
        self._pace.forget(place)

    async def _look(self, place: ObjectKey) -> RequeueAfter | None:
        self._pace.begin(place)
        self._walk(place.name)
        return None
