"""Base class of the built-in controllers: work queue, workers and event recorder."""

import asyncio
from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

from kohort.kube.client import Client
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.events import EventRecorder
from kohort.kube.workqueue import DEFAULT_RETRY_LIMITS, RetryLimits, WorkQueue

K = TypeVar("K")

_INSTANCE = "kohort"


class BuiltinController(ABC, Generic[K]):
    """A controller; subclasses subscribe to informers and implement `reconcile`."""

    NAME: ClassVar[str]
    WORKERS: ClassVar[int] = 4
    """Number of concurrent workers."""
    LIMITS: ClassVar[RetryLimits] = DEFAULT_RETRY_LIMITS
    """Backoff and rate limit of failed keys."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._clock = client.clock
        self._recorder = EventRecorder(client, self.NAME, _INSTANCE)
        self._queue = WorkQueue[K](client.clock, self.NAME, self.LIMITS, client.metrics)
        self._controller = Controller(self.NAME, self._queue, self.reconcile, client.clock, client.metrics)
        self._recorder_task: asyncio.Task[None] | None = None

    @abstractmethod
    async def reconcile(self, key: K) -> RequeueAfter | None:
        """Reconciles one object."""

    def start(self) -> None:
        """Starts the workers; the informers must have synced."""
        self._recorder_task = asyncio.create_task(self._recorder.run())
        self._controller.start(self.WORKERS)

    async def stop(self) -> None:
        """Finishes reconciles in progress and flushes recorded events."""
        await self._controller.stop()
        if self._recorder_task is not None:
            self._recorder_task.cancel()
            await asyncio.gather(self._recorder_task, return_exceptions=True)
            await self._recorder.flush()
