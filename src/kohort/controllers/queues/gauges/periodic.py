"""Periodic updates of gauges that need an iteration over a whole queue; less often for larger queues.

Such a gauge lags behind a little; the last change of a queue always triggers an update.
"""

from collections.abc import Callable
from typing import Final

from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues.throttle import INTERVAL, UpdateThrottle
from kohort.controllers.server_load import ServerLoad
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.workqueue import WorkQueue

MAX_INTERVAL: Final = 15.0
"""Maximum seconds between two updates of a queue; Prometheus usually scrapes every 15 to 60."""
WORKLOADS_PER_SECOND: Final = 100
"""Workloads of one queue to iterate over per second, on average."""


def interval_of(workloads: int) -> float:
    """Seconds between two updates of a queue with this many workloads."""
    return min(max(INTERVAL, workloads / WORKLOADS_PER_SECOND), MAX_INTERVAL)


class PeriodicGauges:
    """Schedules updates of queues."""

    def __init__(self, context: ControllerContext, update: Callable[[str], None]) -> None:
        self._update = update
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, "periodic-gauges")
        self._throttle = UpdateThrottle(self._queue, context.clock, ServerLoad())
        self._controller = Controller("periodic-gauges", self._queue, self._reconcile, context.clock)

    def start(self) -> None:
        """Start updating."""
        self._controller.start()

    async def stop(self) -> None:
        """Stop updating."""
        await self._controller.stop()

    def schedule(self, key: ObjectKey, workloads: int) -> None:
        """Schedule an update of a changed queue with this many workloads."""
        self._throttle.schedule(key, interval_of(workloads))

    def forget(self, key: ObjectKey) -> None:
        """Remove a deleted queue."""
        self._throttle.forget(key)

    async def _reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        self._throttle.started(key)
        self._update(key.name)
        return None
