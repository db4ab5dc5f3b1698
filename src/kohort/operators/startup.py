"""Starts and stops stand-ins on one set of informers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from kohort.kube.client import Client
from kohort.kube.events import EventRecorder
from kohort.kube.informer import SharedInformerFactory
from kohort.operators.contract import StandIn
from kohort.operators.controller import StandInController


@contextlib.asynccontextmanager
async def running_stand_ins(client: Client, stand_ins: tuple[StandIn, ...]) -> AsyncIterator[None]:
    """Runs stand-ins until the context exits; their kinds must be served."""
    informers = SharedInformerFactory(client)
    recorder = EventRecorder(client, "operator-stand-in", "kohort")
    controllers = [StandInController(client, informers, each, recorder) for each in stand_ins]
    recording = asyncio.create_task(recorder.run())
    informers.start()
    try:
        await informers.wait_for_sync()
        for each in controllers:
            each.start()
        yield
    finally:
        await asyncio.gather(*(each.stop() for each in controllers))
        recording.cancel()
        await asyncio.gather(recording, return_exceptions=True)
        await recorder.flush()
        await informers.stop()
