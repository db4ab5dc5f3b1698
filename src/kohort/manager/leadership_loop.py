"""The lives of a replica: a world that follows the server, and controllers in it while the replica leads.

Who loses the lease begins a new life with a new world, so that nothing that was under way can come back later; who
never led just keeps his world warm.
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

Crew = Callable[[ControllerContext], AbstractAsyncContextManager[object]]
"""Controllers that work in a world for as long as a block lasts."""


@dataclass(frozen=True, slots=True)
class ControllerGroups:
    """Who works in a world."""

    always: Sequence[Crew]
    """As long as there is one; writes only while the replica leads."""
    leading: Sequence[Crew]
    """While the replica leads."""


class LeadershipLoop:
    """One life after the other."""

    def __init__(
        self,
        manager: Manager,
        client: Client,
        metrics: KueueMetrics,
        crews: ControllerGroups,
        on_warm: Callable[[ControllerContext], None],
    ) -> None:
        self._manager = manager
        self._client = replace(client, transport=FencedTransport(client.transport, manager.leadership.right))
        self._metrics = metrics
        self._crews = crews
        self._on_warm = on_warm

    async def run(self) -> None:
        """Live until cancelled."""
        while True:
            await self._live()
            log.info("another replica may lead now; starting over as a follower")

    async def _live(self) -> None:
        manager, leadership = self._manager, self._manager.leadership
        async with running_context(self._client, manager.settings, self._metrics, leadership.leads) as world:
            manager.world = world
            self._on_warm(world)
            manager.warm.set()
            log.info("caches are live")
            try:
                async with _at_work(world, self._crews.always):
                    await leadership.acquired()
                    await self._lead(world)
            finally:
                manager.warm.clear()
                manager.world = None
                self._metrics.forget_gauges()

    async def _lead(self, world: ControllerContext) -> None:
        async with _at_work(world, self._crews.leading):
            self._manager.at_work.set()
            log.info("controllers are at work")
            try:
                await self._manager.leadership.lost()
            finally:
                self._manager.at_work.clear()


@asynccontextmanager
async def _at_work(world: ControllerContext, crews: Sequence[Crew]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for crew in crews:
            await stack.enter_async_context(crew(world))
        yield
