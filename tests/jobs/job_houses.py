"""An API server in memory with a whole manager on it, jobs included: started, crashed and led in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeVar

from controllers.houses import House, kueue_cluster
from kit.apiserver import ADMIN, InMemoryApiServer, Object
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor
from kit.faults import FaultInjectingTransport, InterceptingTransport, Rejection, RequestFault
from kit.virtual_time import running_virtual_time
from kohort.controllers.context import ControllerContext, ManagerSettings, always_leads, running_context
from kohort.controllers.startup import running_core_controllers
from kohort.jobs.contract import Framework
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.registry import registry_of
from kohort.jobs.startup import running_job_reconcilers
from kohort.kube.client import Client
from kohort.kube.clock import Clock
from kohort.kube.transport import Request, Response, Transport
from kohort.metrics.kueue import KueueMetrics
from kohort.metrics.registry import MetricsRegistry as Metrics

USUAL = ManagerSettings()
STEP = 0.1
CALM = 25
"""So many steps without a write mean that everybody is done: longer than any batch or pause between two looks."""
ROUNDS = 600


class Wire:
    """The way of one manager to the server; dead after so many writes, as a process that was killed."""

    def __init__(self, inner: Transport, clock: Clock) -> None:
        self.inner = FaultInjectingTransport(inner, clock)
        self.faults: Iterator[RequestFault | Rejection] = repeat(RequestFault.NONE)
        """What happens to the next writes."""
        self.fails_at = ""
        """Part of the path of the writes to which it happens; others succeed."""
        self.writes: list[Request] = []
        """Writes that reached the server, events apart."""
        self.last: float = float("inf")
        self.is_dead = False

    async def send(self, request: Request, timeout: float) -> Response:
        counts = request.method != "GET" and "/events" not in request.path
        if counts and len(self.writes) >= self.last:
            self.is_dead = True
        if self.is_dead:
            await asyncio.Event().wait()
        if counts:
            self.writes.append(request)
            self.inner.fail_next(next(self.faults) if self.fails_at in request.path else RequestFault.NONE)
        return await self.inner.send(request, timeout)

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class Manager:
    """One life of a manager."""

    world: ControllerContext
    wire: Wire
    stack: AsyncExitStack


class JobHouse(House):
    """A cluster whose manager can be killed."""

    frameworks: tuple[Framework, ...]
    settings: ManagerSettings
    manager: Manager
    lives: list[Manager]
    fragile: bool = False
    """Whether each life ends after one write."""

    async def start(self, leads: Callable[[], bool] = always_leads) -> None:
        """The next life of the manager."""
        settings, stack = self.settings, AsyncExitStack()
        wire = Wire(self.cluster.core.transport(ADMIN), self.clock)
        metrics = KueueMetrics(Metrics(), settings.configuration, settings.gates, lambda: "standalone")
        world = await stack.enter_async_context(running_context(Client(wire, self.clock), settings, metrics, leads))
        await stack.enter_async_context(running_core_controllers(world))
        await stack.enter_async_context(
            running_job_reconcilers(world, registry_of(settings.configuration, self.frameworks))
        )
        self.manager = Manager(world, wire, stack)
        wire.last = 1 if self.fragile else wire.last
        self.lives.append(self.manager)

    async def end(self) -> None:
        """The manager is gone; what it had not sent is lost."""
        self.manager.wire.is_dead = True
        async with running_virtual_time(self.clock):
            await self.manager.stack.aclose()

    async def calm(self) -> None:
        """Let everybody do all they want to do; a manager that dies on the way has a successor."""
        quiet, revision = 0, -1
        for _ in range(ROUNDS):
            if self.manager.wire.is_dead or (self.fragile and self.manager is self.lives[0]):
                await self.end()
                await self.start()
            await self.clock.advance(STEP)
            quiet = quiet + 1 if self.revision == revision else 0
            revision = self.revision
            if quiet == CALM:
                return
        raise AssertionError("the cluster does not come to rest")

    async def job(self, name: str = "etl") -> Object:
        return await self.cluster.get(f"/apis/batch/v1/namespaces/default/jobs/{name}")

    async def change_job(self, patch: Object, name: str = "etl", subresource: str = "") -> None:
        place = f"/apis/batch/v1/namespaces/default/jobs/{name}" + (f"/{subresource}" if subresource else "")
        reply = await self.cluster.merge(place, patch)
        assert reply.status == 200, reply

    async def workloads(self) -> list[Object]:
        listed = await self.cluster.get("/apis/kueue.x-k8s.io/v1beta2/workloads")
        return list(listed["items"])

    async def events(self) -> list[tuple[str, str]]:
        listed = await self.cluster.get("/apis/events.k8s.io/v1/events")
        return [(each["reason"], each["note"]) for each in listed["items"]]


def a_queue(cpu: str = "2", **of_flavor: Any) -> tuple[Object, ...]:
    """LocalQueue `q` before ClusterQueue `cq` with flavor `f`."""
    labels = of_flavor or {"nodeLabels": {"tier": "a"}, "tolerations": [{"key": "spot", "operator": "Exists"}]}
    return make_resource_flavor("f", **labels), make_cluster_queue("cq", cpu), make_local_queue("q", "cq")


def conditions(workload: Object) -> dict[str, tuple[str, str]]:
    found = workload.get("status", {}).get("conditions", ())
    return {each["type"]: (each["status"], each["reason"]) for each in found}


@asynccontextmanager
async def job_house(settings: ManagerSettings = USUAL, *frameworks: Framework) -> AsyncIterator[JobHouse]:
    """A fresh cluster with a manager at work; batch Jobs where nothing else is said."""
    async with kueue_cluster(settings.gates) as cluster:
        house = built(JobHouse, cluster, settings, *frameworks)
        await house.start()
        try:
            yield house
        finally:
            await house.end()


H = TypeVar("H", bound=JobHouse)


def built(kind: type[H], cluster: InMemoryApiServer, settings: ManagerSettings, *frameworks: Framework) -> H:
    """A house on a cluster, still without a manager."""
    house = kind.__new__(kind)
    house.cluster, house.clock = cluster, cluster.clock
    house.meddler = InterceptingTransport(cluster.core.transport(ADMIN))
    house.frameworks, house.settings, house.lives = frameworks or (BatchJobFramework(),), settings, []
    return house
