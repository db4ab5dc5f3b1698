"""Managers that schedule on an API server in memory: started, stopped, crashed and disconnected by the test.

The test also acts for the jobs: it finishes Workloads and releases evicted ones.
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kit.apiserver import ADMIN, InMemoryApiServer, Object
from kit.faults import Rejection, RequestFault
from kit.kueue_apiserver import running_kueue_apiserver
from kit.manager import ManagerHarness, running_manager_context
from kit.manager_transport import ManagerTransport
from kit.virtual_time import running_virtual_time
from kohort.api.codec import decode_json, from_json, to_json
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.merge import difference
from kohort.controllers.context import ControllerContext, ManagerSettings, always_leads
from kohort.controllers.scheduling.scheduler import running_scheduler
from kohort.controllers.scheduling.writer import DecisionWriter
from kohort.controllers.workloads.controller import running_workload_controller
from kohort.engine.lifecycle.eviction import release
from kohort.engine.lifecycle.finishing import finish
from kohort.kube.client import Client
from kohort.kube.clock import Clock
from kohort.kube.errors import UnreachableError
from kohort.kube.transport import Request, Response, Transport

DEFAULT_SETTINGS = ManagerSettings()
START = "2026-01-01T00:00:00Z"
READY = {"type": "Active", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": START}


class WorkloadFaultTransport(ManagerTransport):
    """The connection of one manager: records writes of Workloads and injects faults into them."""

    def __init__(self, inner: Transport, clock: Clock) -> None:
        super().__init__(inner, clock)
        self.writes: list[Request] = []
        """Attempts to write a Workload."""
        self.faults: dict[int, RequestFault | Rejection] = {}
        """Faults by index in `writes`."""
        self.unreadable: set[str] = set()
        """Resources whose reads fail."""
        self.before: deque[Callable[[], Awaitable[None]]] = deque()
        """Actions that run right before the next writes."""

    async def send(self, request: Request, timeout: float) -> Response:
        self.is_crashed = len(self.writes) >= self.crash_after
        await self.unless_crashed()
        if request.method == "GET" and request.path.rpartition("/")[2] in self.unreadable:
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
        """The patches of one Workload in order."""
        mine = (each for each in self.writes if f"/workloads/{name}" in each.path)
        return [decode_json(each.body) for each in mine]


@dataclass
class SchedulingReplica:
    """The process of one manager."""

    context: ControllerContext
    transport: WorkloadFaultTransport
    writer: DecisionWriter
    stack: AsyncExitStack


class SchedulingHarness(ManagerHarness):
    """A server and any number of managers."""

    def __init__(self, server: InMemoryApiServer) -> None:
        super().__init__(server)
        self.managers: list[SchedulingReplica] = []

    async def start(
        self, settings: ManagerSettings = DEFAULT_SETTINGS, leads: Callable[[], bool] = always_leads
    ) -> SchedulingReplica:
        """Start a manager."""
        transport = WorkloadFaultTransport(self.server.core.transport(ADMIN), self.clock)
        stack = AsyncExitStack()
        client = Client(transport, self.clock)
        context = await stack.enter_async_context(running_manager_context(client, settings, leads))
        writer = await stack.enter_async_context(running_scheduler(context))
        await stack.enter_async_context(running_workload_controller(context))
        manager = SchedulingReplica(context, transport, writer, stack)
        self.managers.append(manager)
        return manager

    async def crash(self, manager: SchedulingReplica) -> None:
        """End a manager without letting it send anything more."""
        manager.transport.crash_after = 0
        await self.stop(manager)

    async def stop(self, manager: SchedulingReplica) -> None:
        self.managers.remove(manager)
        async with running_virtual_time(self.clock):
            await manager.stack.aclose()

    async def create_active(self, *found: Object) -> None:
        """Create objects; ClusterQueues and admission checks are Active at once."""
        for each in found:
            await self.server.create(each)
            if each["kind"] in ("ClusterQueue", "AdmissionCheck"):
                await self.merge(each["kind"], each["metadata"]["name"], {"status": {"conditions": [READY]}}, "status")

    # Jobs

    async def workload(self, name: str) -> Workload:
        return from_json(await self.get("Workload", name), Workload)

    async def workloads(self) -> list[Workload]:
        listed = await self.server.get("/apis/kueue.x-k8s.io/v1beta2/workloads")
        return [from_json(each, Workload) for each in listed["items"]]

    async def write(self, before: Workload, after: Workload) -> None:
        patch = difference(to_json(before.status), to_json(after.status))
        if patch:
            await self.merge("Workload", before.metadata.name, {"status": patch}, "status")

    async def stop_jobs(self) -> None:
        """Release evicted Workloads, whose jobs have stopped."""
        for each in await self.workloads():
            await self.write(each, release(each, DEFAULT_SETTINGS.gates, self.clock.wall()))

    async def finish(self, name: str) -> None:
        found = await self.workload(name)
        await self.write(found, finish(found, "Succeeded", "Job finished successfully", self.clock.wall()))

    async def set_check(self, name: str, check: str, state: str, **more: Any) -> None:
        """Set the state of an admission check, as its controller would."""
        found = await self.get("Workload", name)
        entry = {"name": check, "state": state, "message": "", "lastTransitionTime": timestamp(self.clock), **more}
        others = [each for each in found["status"].get("admissionChecks", ()) if each["name"] != check]
        await self.merge("Workload", name, {"status": {"admissionChecks": [*others, entry]}}, "status")

    # Results

    async def states(self) -> dict[str, Object]:
        """Summaries of all Workloads, without times and messages."""
        return {each.metadata.name: workload_summary(each) for each in await self.workloads()}

    async def events(self, reason: str) -> list[Object]:
        listed = await self.server.get("/apis/events.k8s.io/v1/events")
        return [each for each in listed["items"] if each["reason"] == reason]


def workload_summary(workload: Workload) -> Object:
    admission = workload.status.admission
    return {
        "conditions": {each.type: (each.status, each.reason) for each in workload.status.conditions},
        "queue": admission.cluster_queue if admission else None,
        "flavors": [dict(each.flavors) for each in admission.pod_set_assignments] if admission else [],
        "checks": {each.name: each.state for each in workload.status.admission_checks},
        "active": workload.spec.active,
    }


def conditions_of(found: Object) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in found.get("status", {}).get("conditions", ())}


def has_conditions(**wanted: str) -> Callable[[Object], bool]:
    """Whether an object has these conditions with these statuses."""
    return lambda found: all(conditions_of(found).get(type_, ("",))[0] == status for type_, status in wanted.items())


def timestamp(clock: Any) -> str:
    return str(clock.wall().strftime("%Y-%m-%dT%H:%M:%SZ"))


def reserved_cpus(workloads: Iterable[Workload], queue: str) -> int:
    """CPUs that are reserved in a ClusterQueue."""
    held = [each for each in workloads if each.status.admission and each.status.admission.cluster_queue == queue]
    holders = [each for each in held if not workload_summary(each)["conditions"].get("Finished")]
    parts = [part for each in holders if each.status.admission for part in each.status.admission.pod_set_assignments]
    return sum(int(part.resource_usage["cpu"]) for part in parts)


@asynccontextmanager
async def running_scheduling_harness(settings: ManagerSettings = DEFAULT_SETTINGS) -> AsyncIterator[SchedulingHarness]:
    """Runs a fresh server, on which the test starts managers."""
    async with running_kueue_apiserver(settings.gates) as server:
        harness = SchedulingHarness(server)
        try:
            yield harness
        finally:
            for manager in list(harness.managers):
                await harness.stop(manager)
