"""A manager's controllers on an API server in memory, in virtual time.

Subclasses of `ManagerHarness` start more than one manager, and crash and stop them.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from kit.apiserver import ADMIN, ApiResponse, InMemoryApiServer, Object
from kit.faults import InterceptingTransport
from kit.kueue_apiserver import running_kueue_apiserver
from kit.virtual_time import running_virtual_time
from kohort.api.kueue.conversion import V1BETA2
from kohort.controllers.context import ControllerContext, ManagerSettings, always_leads, running_context
from kohort.controllers.startup import running_leader_controllers, running_queue_gauges
from kohort.kube.client import Client
from kohort.metrics.kueue import KueueMetrics
from kohort.metrics.registry import MetricsRegistry

DEFAULT_SETTINGS = ManagerSettings()
ControllerGroup = Callable[[ControllerContext], AbstractAsyncContextManager[None]]
TIMEOUT = 30.0
STEP = 0.1
SETTLED_SECONDS = 3.0
"""Seconds after which no controller reconciles by itself: the next reconcile needs an event."""

_SINCE = "2026-01-01T00:00:00Z"
ACTIVE_CONDITION = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": _SINCE}
FINISHED_CONDITION = {
    "type": "Finished",
    "status": "True",
    "reason": "Done",
    "message": "",
    "lastTransitionTime": _SINCE,
}


class ManagerHarness:
    """An API server with Kueue's kinds, and requests of its administrator."""

    def __init__(self, server: InMemoryApiServer) -> None:
        self.server = server
        self.clock = server.clock

    async def create(self, *found: Object) -> None:
        for each in found:
            await self.server.create(each)

    def path(self, kind: str, name: str, namespace: str = "default", version: str = V1BETA2) -> str:
        head = {"apiVersion": version, "kind": kind, "metadata": {"namespace": namespace}}
        return f"{self.server.collection_path(head)}/{name}"

    async def request(self, kind: str, name: str, namespace: str = "default") -> ApiResponse:
        return await self.server.request("GET", self.path(kind, name, namespace))

    async def get(self, kind: str, name: str, namespace: str = "default") -> Object:
        return await self.server.get(self.path(kind, name, namespace))

    async def merge(self, kind: str, name: str, patch: Object, subresource: str = "") -> None:
        path = self.path(kind, name) + (f"/{subresource}" if subresource else "")
        response = await self.server.merge(path, patch)
        assert response.status == 200, response

    async def delete(self, kind: str, name: str) -> None:
        response = await self.server.request("DELETE", self.path(kind, name))
        assert response.status == 200, response

    async def advance(self, seconds: float) -> None:
        """Advance time in steps that are small enough for every controller to finish its work."""
        for _ in range(round(seconds / STEP)):
            await self.clock.advance(STEP)

    async def finish(self, name: str) -> None:
        """Finish a Workload, as its job would."""
        found = await self.get("Workload", name)
        conditions = [*found["status"].get("conditions", ()), FINISHED_CONDITION]
        await self.merge("Workload", name, {"status": {"conditions": conditions}}, "status")

    async def wait_for(
        self, is_met: Callable[[Object], bool], kind: str, name: str, *, timeout: float = TIMEOUT
    ) -> Object:
        """The object as soon as it meets a condition and the controllers have settled."""
        found: Object = {}
        for _ in range(round(timeout / STEP)):
            response = await self.request(kind, name)
            found = response.body
            if response.status == 200 and is_met(found):
                await self.advance(SETTLED_SECONDS)
                return found
            await self.clock.advance(STEP)
        raise AssertionError(f"{kind} {name} does not meet the condition: {found}")

    async def wait_until_gone(self, kind: str, name: str) -> None:
        """Wait until the object does not exist."""
        for _ in range(round(TIMEOUT / STEP)):
            if (await self.request(kind, name)).status == 404:
                return
            await self.clock.advance(STEP)
        raise AssertionError(f"{kind} {name} still exists")

    @property
    def revision(self) -> int:
        return self.server.core.store.revision


def active_condition(found: Object) -> tuple[str, str] | None:
    """Status and reason of the condition Active."""
    for condition in found.get("status", {}).get("conditions", ()):
        if condition["type"] == "Active":
            return condition["status"], condition["reason"]
    return None


def workload_counts(found: Object) -> tuple[int, int, int]:
    """Numbers of pending, reserving and admitted workloads in a status."""
    status = found.get("status", {})
    return tuple(status.get(f"{each}Workloads", -1) for each in ("pending", "reserving", "admitted"))


def is_active(status: str, reason: str) -> Callable[[Object], bool]:
    return lambda found: active_condition(found) == (status, reason)


def running_manager_context(
    client: Client, settings: ManagerSettings, leads: Callable[[], bool] = always_leads
) -> AbstractAsyncContextManager[ControllerContext]:
    """The context that the controllers of one manager share."""
    metrics = KueueMetrics(MetricsRegistry(), settings.configuration, settings.gates, lambda: "standalone")
    return running_context(client, settings, metrics, leads)


class SingleManagerHarness(ManagerHarness):
    """A server with one manager, whose requests can be intercepted."""

    def __init__(
        self, server: InMemoryApiServer, context: ControllerContext, interceptor: InterceptingTransport
    ) -> None:
        super().__init__(server)
        self.context = context
        self.interceptor = interceptor


@asynccontextmanager
async def running_core_controllers(context: ControllerContext) -> AsyncIterator[None]:
    """Runs all core controllers until the context exits."""
    async with running_leader_controllers(context), running_queue_gauges(context):
        yield


@asynccontextmanager
async def running_manager_harness(
    settings: ManagerSettings = DEFAULT_SETTINGS,
    leads: Callable[[], bool] = always_leads,
    controllers: ControllerGroup = running_core_controllers,
) -> AsyncIterator[SingleManagerHarness]:
    """Runs the core controllers, or another group, on a fresh server."""
    async with running_kueue_apiserver(settings.gates) as server, AsyncExitStack() as stack:
        interceptor = InterceptingTransport(server.core.transport(ADMIN))
        client = Client(interceptor, server.clock)
        context = await stack.enter_async_context(running_manager_context(client, settings, leads))
        await stack.enter_async_context(controllers(context))
        try:
            yield SingleManagerHarness(server, context, interceptor)
        finally:
            async with running_virtual_time(server.clock):
                await stack.aclose()
