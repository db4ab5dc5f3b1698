"""Runs controllers: caches in every replica, leader controllers while this replica leads.

A replica that loses the lease starts over with a new ControllerContext, so that no operation in flight can take effect
later; a replica that never leads keeps its caches synced.
"""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from kohort.controllers.context import ControllerContext, running_context
from kohort.kube.client import Client
from kohort.manager.fencing import FencedTransport
from kohort.manager.manager import Manager
from kohort.metrics.kueue import KueueMetrics

log = logging.getLogger(__name__)

ControllerGroup = Callable[[ControllerContext], AbstractAsyncContextManager[object]]
"""Runs controllers until the context manager exits."""


@dataclass(frozen=True, slots=True)
class ControllerGroups:
    """The controllers of a manager."""

    always: Sequence[ControllerGroup]
    """Run in every replica; they write only while the replica leads."""
    leading: Sequence[ControllerGroup]
    """Run while the replica leads."""


class LeadershipLoop:
    """Runs controllers, and starts over after each loss of the lease."""

    def __init__(
        self,
        manager: Manager,
        client: Client,
        metrics: KueueMetrics,
        groups: ControllerGroups,
        on_synced: Callable[[ControllerContext], None],
    ) -> None:
        self._manager = manager
        self._client = replace(client, transport=FencedTransport(client.transport, manager.leadership.remaining_lease))
        self._metrics = metrics
        self._groups = groups
        self._on_synced = on_synced

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self._run_once()
            log.info("lost leader election, restarting as follower")

    async def _run_once(self) -> None:
        manager, leadership = self._manager, self._manager.leadership
        async with running_context(self._client, manager.settings, self._metrics, leadership.leads) as context:
            manager.context = context
            self._on_synced(context)
            manager.caches_synced.set()
            log.info("caches synced")
            try:
                async with _running_groups(context, self._groups.always):
                    await leadership.acquired()
                    await self._lead(context)
            finally:
                manager.caches_synced.clear()
                manager.context = None
                self._metrics.forget_gauges()

    async def _lead(self, context: ControllerContext) -> None:
        async with _running_groups(context, self._groups.leading):
            self._manager.leading.set()
            log.info("started controllers")
            try:
                await self._manager.leadership.lost()
            finally:
                self._manager.leading.clear()


@asynccontextmanager
async def _running_groups(context: ControllerContext, groups: Sequence[ControllerGroup]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for group in groups:
            await stack.enter_async_context(group(context))
        yield
