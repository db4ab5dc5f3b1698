"""Limits the rate of reconciles per object: soon after an event, then at most once per interval (API-106).

Workloads come in thousands, and each changes the status of its queues. Events within a short time are handled
together; on a busy server the interval grows with the number of changing objects.
"""

from typing import Final, Generic, TypeVar

from kohort.controllers.server_load import ServerLoad
from kohort.kube.clock import Clock
from kohort.kube.workqueue import WorkQueue

K = TypeVar("K")

BATCH_SECONDS: Final = 0.1
"""Seconds within which consequences of an event, such as an admission, join it in one write."""
INTERVAL: Final = 1.0
"""Seconds between two reconciles of an object while the server is not busy."""
UNTHROTTLED_OBJECTS: Final = 10
"""Changing objects up to which the interval does not grow with their number."""
MAX_SLOWDOWN: Final = 60.0
"""The maximum factor by which the interval grows."""


class UpdateThrottle(Generic[K]):
    """Adds keys to a work queue with a delay, each at most once until it is reconciled."""

    def __init__(self, queue: WorkQueue[K], clock: Clock, server_load: ServerLoad) -> None:
        self._queue = queue
        self._clock = clock
        self._server_load = server_load
        self._last_started: dict[K, float] = {}
        self._scheduled: set[K] = set()

    def schedule(self, key: K, interval: float = INTERVAL) -> None:
        """Schedule a key, `interval` seconds after its last reconcile."""
        if key in self._scheduled:
            return
        self._scheduled.add(key)
        now, interval = self._clock.now(), interval * self._slowdown()
        due = max(now + BATCH_SECONDS, self._last_started.get(key, -interval) + interval)
        self._queue.add_after(key, due - now)

    def _slowdown(self) -> float:
        """The factor by which the interval grows: 1 while the server is not busy."""
        return min(
            1 + (self._server_load.factor - 1) * max(len(self._scheduled) / UNTHROTTLED_OBJECTS, 1), MAX_SLOWDOWN
        )

    def started(self, key: K) -> None:
        """Record the start of a reconcile; later events schedule another one."""
        self._scheduled.discard(key)
        self._last_started[key] = self._clock.now()

    def forget(self, key: K) -> None:
        """Remove a deleted object."""
        self._scheduled.discard(key)
        self._last_started.pop(key, None)
