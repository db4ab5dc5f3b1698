"""Starts and stops all built-in controllers on one set of informers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.cronjobs.controller import CronJobController
from kohort.embedded.controllers.deployments.controller import DeploymentController
from kohort.embedded.controllers.disruption.controller import DisruptionController
from kohort.embedded.controllers.jobs.controller import JobController
from kohort.embedded.controllers.node_lifecycle import NodeLifecycle
from kohort.embedded.controllers.pod_cleanup import PodCleanup
from kohort.embedded.controllers.replicasets.controller import ReplicaSetController
from kohort.embedded.controllers.stale_disruptions import StaleDisruptions
from kohort.embedded.controllers.statefulsets.controller import StatefulSetController
from kohort.embedded.controllers.taint_eviction import TaintEviction
from kohort.embedded.controllers.ttl import ExpiredJobs
from kohort.kube.client import Client
from kohort.kube.informer import SharedInformerFactory

Make = Callable[[Client, SharedInformerFactory], BuiltinController[Any]]

ALL: tuple[Make, ...] = (
    JobController,
    CronJobController,
    ExpiredJobs,
    ReplicaSetController,
    DeploymentController,
    StatefulSetController,
    DisruptionController,
    StaleDisruptions,
    NodeLifecycle,
    TaintEviction,
    PodCleanup,
)


class BuiltinControllers:
    """The built-in controllers of one API server."""

    def __init__(self, client: Client, makes: tuple[Make, ...] = ALL) -> None:
        self.informers = SharedInformerFactory(client)
        self._controllers = [make(client, self.informers) for make in makes]
        self._working: list[BuiltinController[Any]] = []
        self._starting: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts the informers, and the controllers once they have synced."""
        self.informers.start()
        self._starting = asyncio.create_task(self._start())

    async def _start(self) -> None:
        await self.informers.wait_for_sync()
        for controller in self._controllers:
            controller.start()
            self._working.append(controller)

    async def stop(self) -> None:
        """Finishes reconciles in progress and stops the informers."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await asyncio.gather(*(controller.stop() for controller in self._working))
        await self.informers.stop()


@contextlib.asynccontextmanager
async def running_controllers(client: Client, makes: tuple[Make, ...] = ALL) -> AsyncIterator[BuiltinControllers]:
    """Runs the given controllers, by default all, until the context exits."""
    controllers = BuiltinControllers(client, makes)
    controllers.start()
    try:
        yield controllers
    finally:
        await controllers.stop()
