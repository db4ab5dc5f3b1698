"""A manager with job controllers on an API server in memory, in virtual time; it can crash and be started again."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from kit.apiserver import ADMIN, InMemoryApiServer, Object
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor
from kit.faults import Rejection, RequestFault
from kit.kueue_apiserver import running_kueue_apiserver
from kit.manager import ManagerHarness, running_core_controllers, running_manager_context
from kit.manager_transport import ManagerTransport
from kit.virtual_time import running_virtual_time
from kohort.controllers.context import ControllerContext, ManagerSettings, always_leads
from kohort.jobs.contract import Framework
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.registry import FrameworkRegistry, registry_of
from kohort.jobs.startup import running_job_reconcilers
from kohort.kube.client import Client
from kohort.kube.clock import Clock
from kohort.kube.transport import Request, Response, Transport

DEFAULT_SETTINGS = ManagerSettings()
STEP = 0.1
MAX_STEPS = 600


class JobWriteTransport(ManagerTransport):
    """The connection of one manager: records writes other than events, and injects faults into them."""

    def __init__(self, inner: Transport, clock: Clock) -> None:
        super().__init__(inner, clock)
        self.faults: Iterator[RequestFault | Rejection] = repeat(RequestFault.NONE)
        """Faults of the next writes."""
        self.faulty_path = ""
        """Part of the path of the writes that get the faults."""
        self.writes: list[Request] = []
        """Writes that were sent."""

    async def send(self, request: Request, timeout: float) -> Response:
        counts = request.method != "GET" and "/events" not in request.path
        if counts and len(self.writes) >= self.crash_after:
            self.is_crashed = True
        await self.unless_crashed()
        if counts:
            self.writes.append(request)
            self.fail_next(next(self.faults) if self.faulty_path in request.path else RequestFault.NONE)
        return await super().send(request, timeout)


@dataclass
class ManagerProcess:
    """The process of one manager."""

    context: ControllerContext
    transport: JobWriteTransport
    stack: AsyncExitStack


class JobManagerHarness(ManagerHarness):
    """A server with one manager at a time."""

    SETTLED_STEPS = 25
    """Steps without a write after which all controllers are done: longer than any batching interval or pause."""
    manager: ManagerProcess
    registry: FrameworkRegistry

    def __init__(
        self, server: InMemoryApiServer, settings: ManagerSettings, frameworks: tuple[Framework, ...] = ()
    ) -> None:
        super().__init__(server)
        self.settings = settings
        self.frameworks = frameworks or (BatchJobFramework(),)
        self.processes: list[ManagerProcess] = []
        """All managers that were started."""
        self.crashes_at_every_write = False

    async def start(self, leads: Callable[[], bool] = always_leads) -> None:
        """Start the manager, or its successor."""
        settings, stack = self.settings, AsyncExitStack()
        transport = JobWriteTransport(self.server.core.transport(ADMIN), self.clock)
        client = Client(transport, self.clock)
        context = await stack.enter_async_context(running_manager_context(client, settings, leads))
        await stack.enter_async_context(running_core_controllers(context))
        self.registry = registry_of(settings.configuration, self.frameworks, settings.gates)
        await stack.enter_async_context(running_job_reconcilers(context, self.registry))
        self.manager = ManagerProcess(context, transport, stack)
        if self.crashes_at_every_write:
            transport.crash_after = 1
        self.processes.append(self.manager)

    async def crash(self) -> None:
        """End the manager without letting it send anything more."""
        self.manager.transport.is_crashed = True
        async with running_virtual_time(self.clock):
            await self.manager.stack.aclose()

    async def settle(self) -> None:
        """Advance time until nothing is written any more; a manager that crashes is replaced."""
        quiet, revision = 0, -1
        for _ in range(MAX_STEPS):
            is_first = self.manager is self.processes[0]
            if self.manager.transport.is_crashed or (self.crashes_at_every_write and is_first):
                await self._replace()
            await self._update_cluster()
            await self.clock.advance(STEP)
            quiet = quiet + 1 if self.revision == revision else 0
            revision = self.revision
            if quiet == self.SETTLED_STEPS:
                return
        raise AssertionError("the cluster does not settle")

    async def _replace(self) -> None:
        await self.crash()
        await self.start()

    async def _update_cluster(self) -> None:
        """What other controllers of a cluster do now; here, there are none."""

    async def job(self, name: str = "etl") -> Object:
        return await self.server.get(f"/apis/batch/v1/namespaces/default/jobs/{name}")

    async def change_job(self, patch: Object, name: str = "etl", subresource: str = "") -> None:
        path = f"/apis/batch/v1/namespaces/default/jobs/{name}" + (f"/{subresource}" if subresource else "")
        response = await self.server.merge(path, patch)
        assert response.status == 200, response

    async def workloads(self) -> list[Object]:
        listed = await self.server.get("/apis/kueue.x-k8s.io/v1beta2/workloads")
        return list(listed["items"])

    async def events(self) -> list[tuple[str, str]]:
        listed = await self.server.get("/apis/events.k8s.io/v1/events")
        return [(each["reason"], each["note"]) for each in listed["items"]]


def queue_objects(cpu: str = "2", **of_flavor: Any) -> tuple[Object, ...]:
    """LocalQueue `q` of ClusterQueue `cq` with flavor `f`."""
    labels = of_flavor or {"nodeLabels": {"tier": "a"}, "tolerations": [{"key": "spot", "operator": "Exists"}]}
    return make_resource_flavor("f", **labels), make_cluster_queue("cq", cpu), make_local_queue("q", "cq")


def conditions_of(workload: Object) -> dict[str, tuple[str, str]]:
    found = workload.get("status", {}).get("conditions", ())
    return {each["type"]: (each["status"], each["reason"]) for each in found}


@asynccontextmanager
async def running_job_harness(
    settings: ManagerSettings = DEFAULT_SETTINGS, *frameworks: Framework
) -> AsyncIterator[JobManagerHarness]:
    """Runs a manager with these frameworks, by default that of batch Jobs, on a fresh server."""
    async with running_kueue_apiserver(settings.gates) as server:
        harness = JobManagerHarness(server, settings, frameworks)
        await harness.start()
        try:
            yield harness
        finally:
            await harness.crash()
