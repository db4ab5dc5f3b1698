"""Controllers: workers that take keys from a queue and reconcile them.

An error is logged here, once, and the key requeued with backoff. Stopping waits for running reconciles.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kohort.api.errors import ApiError
from kohort.kube.clock import Clock, within
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.metrics import NO_METRICS, MetricsSink
from kohort.kube.workqueue import ShutDownError, WorkQueue

log = logging.getLogger(__name__)

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """The result of a successful reconcile that has to run again later."""

    after: float
    priority: int = 0


Reconcile = Callable[[K], Awaitable[RequeueAfter | None]]
GRACE = 30.0
"""Seconds that running reconciles get to finish when the controller stops."""


class Controller(Generic[K]):
    """A work queue, a reconcile function, and the workers that connect them."""

    def __init__(
        self, name: str, queue: WorkQueue[K], reconcile: Reconcile[K], clock: Clock, metrics: MetricsSink = NO_METRICS
    ) -> None:
        self.name = name
        self.queue = queue
        self._reconcile = reconcile
        self._clock = clock
        self._metrics = metrics
        self._workers: list[asyncio.Task[None]] = []

    def start(self, workers: int = 1) -> None:
        """Start the workers; each handles one key at a time."""
        self._workers = [asyncio.create_task(self._work()) for _ in range(workers)]

    async def stop(self, grace: float = GRACE) -> None:
        """Take no more keys, wait for running reconciles, and cancel them after `grace` seconds."""
        self.queue.shut_down()
        try:
            await within(self._clock, grace, self._finish())
        except TimeoutError:
            log.warning("%s: reconciles cancelled after %g s", self.name, grace)
        self._workers = []

    async def _finish(self) -> None:
        await asyncio.gather(*self._workers)

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDownError:
                return
            try:
                await self._one(key)
            finally:
                self.queue.done(key)

    async def _one(self, key: K) -> None:
        start = self._clock.now()
        try:
            result = await self._reconcile(key)
        except Exception as error:
            self._failed(key, error)
            outcome = "error"
        else:
            self._succeeded(key, result)
            outcome = "requeue" if result else "success"
        labels = {"controller": self.name, "result": outcome}
        self._metrics.observe("reconcile_seconds", self._clock.now() - start, labels)

    def _succeeded(self, key: K, result: RequeueAfter | None) -> None:
        self.queue.forget(key)
        if result is not None:
            self.queue.add_after(key, result.after, result.priority)

    def _failed(self, key: K, error: Exception) -> None:
        wait = self.queue.retry(key)
        if isinstance(error, StatusError) and error.is_conflict:
            log.debug("%s %s: conflict, requeueing after %.3g s", self.name, key, wait)
        elif isinstance(error, KubeError | ApiError):
            log.warning("%s %s: reconcile failed, requeueing after %.3g s: %s", self.name, key, wait, error)
        else:
            log.error("%s %s: reconcile failed, requeueing after %.3g s", self.name, key, wait, exc_info=error)
