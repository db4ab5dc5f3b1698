"""Managers on an API server in memory: started, crashed, cut off and led by hand, beside jobs that follow a script."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from controllers.houses import House, kueue_cluster
from kit.apiserver import ADMIN, InMemoryApiServer, Object
from kit.faults import FaultInjectingTransport, InterceptingTransport, Rejection, RequestFault
from kit.virtual_time import running_virtual_time
from kohort.api.codec import decode_json, from_json, to_json
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.merge import difference
from kohort.controllers.context import ControllerContext, ManagerSettings, always_leads, running_context
from kohort.controllers.scheduling.scheduler import running_scheduler
from kohort.controllers.scheduling.writer import DecisionWriter
from kohort.controllers.workloads.controller import running_workload_controller
from kohort.engine.lifecycle.eviction import release
from kohort.engine.lifecycle.finishing import finish
from kohort.kube.client import Client
from kohort.kube.clock import Clock
from kohort.kube.errors import UnreachableError
from kohort.kube.transport import Request, Response, Transport
from kohort.metrics.kueue import KueueMetrics
from kohort.metrics.registry import MetricsRegistry

USUAL = ManagerSettings()
DAWN = "2026-01-01T00:00:00Z"
READY = {"type": "Active", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": DAWN}


class Wire(FaultInjectingTransport):
    """The way of one manager to the server: counts what is written of Workloads, and breaks what it is told to."""

    def __init__(self, inner: Transport, clock: Clock) -> None:
        super().__init__(inner, clock)
        self.writes: list[Request] = []
        """Attempts to write a Workload."""
        self.faults: dict[int, RequestFault | Rejection] = {}
        """What happens to the n-th of them."""
        self.last = float("inf")
        """So many reach the server; then the manager is dead, and nothing of it gets through."""
        self.blocked: set[str] = set()
        """Resources that can't be read."""
        self.before: deque[Callable[[], Awaitable[None]]] = deque()
        """What happens right before the next writes."""

    async def send(self, request: Request, timeout: float) -> Response:
        if len(self.writes) >= self.last:
            await asyncio.Event().wait()
        if request.method == "GET" and request.path.rpartition("/")[2] in self.blocked:
            raise UnreachableError("blocked")
        if request.method != "GET" and "/workloads" in request.path:
            if self.before:
                await self.before.popleft()()
            fault = self.faults.pop(len(self.writes), None)
            self.writes.append(request)
            if fault is not None:
                self.fail_next(fault)
        return await super().send(request, timeout)

    def written(self, name: str) -> list[Any]:
        """The patches of one Workload, in their order."""
        mine = (each for each in self.writes if f"/workloads/{name}" in each.path)
        return [decode_json(each.body) for each in mine]


@dataclass
class Manager:
    """One replica at work."""

    world: ControllerContext
    wire: Wire
    writer: DecisionWriter
    stack: AsyncExitStack


class Stage(House):
    """A server, managers on it, and jobs that do as they are told."""

    managers: list[Manager]

    async def start(self, settings: ManagerSettings = USUAL, leads: Callable[[], bool] = always_leads) -> Manager:
        """Another replica, or the next life of one."""
        wire = Wire(self.cluster.core.transport(ADMIN), self.clock)
        stack = AsyncExitStack()
        metrics = KueueMetrics(MetricsRegistry(), settings.configuration, settings.gates, lambda: "standalone")
        client = Client(wire, self.clock)
        world = await stack.enter_async_context(running_context(client, settings, metrics, leads))
        writer = await stack.enter_async_context(running_scheduler(world))
        await stack.enter_async_context(running_workload_controller(world))
        manager = Manager(world, wire, writer, stack)
        self.managers.append(manager)
        return manager

    async def crash(self, manager: Manager) -> None:
        """The process is gone; nothing of it reaches the server any more."""
        manager.wire.last = 0
        await self.stop(manager)

    async def stop(self, manager: Manager) -> None:
        self.managers.remove(manager)
        async with running_virtual_time(self.clock):
            await manager.stack.aclose()

    async def open(self, *found: Object) -> None:
        """Create objects; ClusterQueues and checks are Active from the first."""
        for each in found:
            await self.cluster.create(each)
            if each["kind"] in ("ClusterQueue", "AdmissionCheck"):
                await self.merge(each["kind"], each["metadata"]["name"], {"status": {"conditions": [READY]}}, "status")

    # The job side

    async def workload(self, name: str) -> Workload:
        return from_json(await self.get("Workload", name), Workload)

    async def workloads(self) -> list[Workload]:
        listed = await self.cluster.get("/apis/kueue.x-k8s.io/v1beta2/workloads")
        return [from_json(each, Workload) for each in listed["items"]]

    async def write(self, before: Workload, after: Workload) -> None:
        patch = difference(to_json(before.status), to_json(after.status))
        if patch:
            await self.merge("Workload", before.metadata.name, {"status": patch}, "status")

    async def stop_jobs(self) -> None:
        """Jobs of evicted workloads have stopped."""
        for each in await self.workloads():
            await self.write(each, release(each, USUAL.gates, self.clock.wall()))

    async def finish(self, name: str) -> None:
        found = await self.workload(name)
        await self.write(found, finish(found, "Succeeded", "Job finished successfully", self.clock.wall()))

    async def answer(self, name: str, check: str, state: str, **more: Any) -> None:
        """A check's controller says something."""
        found = await self.get("Workload", name)
        entry = {"name": check, "state": state, "message": "", "lastTransitionTime": stamp(self.clock), **more}
        others = [each for each in found["status"].get("admissionChecks", ()) if each["name"] != check]
        await self.merge("Workload", name, {"status": {"admissionChecks": [*others, entry]}}, "status")

    # What came of it

    async def states(self) -> dict[str, Object]:
        """What all Workloads say, but for times and words."""
        return {each.metadata.name: summary(each) for each in await self.workloads()}

    async def events(self, reason: str) -> list[Object]:
        listed = await self.cluster.get("/apis/events.k8s.io/v1/events")
        return [each for each in listed["items"] if each["reason"] == reason]


def summary(workload: Workload) -> Object:
    admission = workload.status.admission
    return {
        "conditions": {each.type: (each.status, each.reason) for each in workload.status.conditions},
        "queue": admission.cluster_queue if admission else None,
        "flavors": [dict(each.flavors) for each in admission.pod_set_assignments] if admission else [],
        "checks": {each.name: each.state for each in workload.status.admission_checks},
        "active": workload.spec.active,
    }


def conditions(found: Object) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in found.get("status", {}).get("conditions", ())}


def says(**wanted: str) -> Callable[[Object], bool]:
    """Whether an object has these conditions with these statuses."""
    return lambda found: all(conditions(found).get(type_, ("",))[0] == status for type_, status in wanted.items())


def stamp(clock: Any) -> str:
    return str(clock.wall().strftime("%Y-%m-%dT%H:%M:%SZ"))


def used(workloads: Iterable[Workload], queue: str) -> int:
    """CPUs that hold quota of a queue."""
    held = [each for each in workloads if each.status.admission and each.status.admission.cluster_queue == queue]
    holders = [each for each in held if not summary(each)["conditions"].get("Finished")]
    parts = [part for each in holders if each.status.admission for part in each.status.admission.pod_set_assignments]
    return sum(int(part.resource_usage["cpu"]) for part in parts)


@asynccontextmanager
async def stage(settings: ManagerSettings = USUAL) -> AsyncIterator[Stage]:
    """A fresh server without a manager."""
    async with kueue_cluster(settings.gates) as cluster:
        built = _built(cluster)
        try:
            yield built
        finally:
            for manager in list(built.managers):
                await built.stop(manager)


def _built(cluster: InMemoryApiServer) -> Stage:
    built = Stage.__new__(Stage)
    built.cluster, built.clock, built.managers = cluster, cluster.clock, []
    built.meddler = InterceptingTransport(cluster.core.transport(ADMIN))
    return built
