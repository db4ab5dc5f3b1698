"""What every built-in controller is made of: a queue of keys, workers that reconcile them, and a voice for events."""

import asyncio
from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

from kohort.kube.client import Client
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.events import EventRecorder
from kohort.kube.workqueue import USUAL_LIMITS, RetryLimits, WorkQueue

K = TypeVar("K")

_INSTANCE = "kohort"


class BuiltinController(ABC, Generic[K]):
    """A controller; subclasses subscribe to informers and say how a key is reconciled."""

    NAME: ClassVar[str]
    WORKERS: ClassVar[int] = 4
    """Keys that are worked on at a time."""
    LIMITS: ClassVar[RetryLimits] = USUAL_LIMITS
    """How patiently keys come back that failed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._clock = client.clock
        self._recorder = EventRecorder(client, self.NAME, _INSTANCE)
        self._queue = WorkQueue[K](client.clock, self.NAME, self.LIMITS, client.metrics)
        self._controller = Controller(self.NAME, self._queue, self.reconcile, client.clock, client.metrics)
        self._voice: asyncio.Task[None] | None = None

    @abstractmethod
    async def reconcile(self, key: K) -> RequeueAfter | None:
        """Look at the world and make it right."""

    def start(self) -> None:
        """Begin to work; the informers have to be live."""
        self._voice = asyncio.create_task(self._recorder.run())
        self._controller.start(self.WORKERS)

    async def stop(self) -> None:
        """Finish what has begun, and say what is still unsaid."""
        await self._controller.stop()
        if self._voice is not None:
            self._voice.cancel()
            await asyncio.gather(self._voice, return_exceptions=True)
            await self._recorder.flush()
