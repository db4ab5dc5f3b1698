"""Two managers and a backlog in virtual time; every write is checked to be the leader's."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from e2e.faults import FaultSetup
from e2e.numbered_faults import NumberedFaultTransport
from e2e.replicated_harness import STEP, Replica, ReplicatedHarness, condition_status, running_replicated_harness
from engine.invariants.sums import wrong_cells
from kit.builders.core import make_namespace
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kohort.api.config.common import LeaderElection
from kohort.controllers.leader_transport import LeaderOnlyTransport
from kohort.embedded.storage.stored_objects import StorageKey
from kohort.kube.transport import Request, Response
from kohort.manager.fencing import FencedTransport

QUOTAS = {"a": 12, "b": 8}
BACKLOG = 100
LEASE = StorageKey("leases.coordination.k8s.io", "kueue-system", LeaderElection().resource_name)
RUN_SECONDS = 2.0
"""Seconds that an admitted Workload takes."""
PAUSE = 20.0
"""Seconds of a pause: longer than a lease, shorter than the timeout of a request."""

SETTLED_SECONDS = 15.0
"""Seconds after which nothing but the lease is written."""


class FailoverHarness:
    """Two managers, their backlog, and the holder of the lease."""

    def __init__(self, harness: ReplicatedHarness) -> None:
        self.here = harness
        self.others: list[Callable[[], Awaitable[None]]] = []
        """Further actions of each step."""
        self._since: dict[str, float] = {}
        """Start times of Workloads."""
        self._held: list[tuple[float, NumberedFaultTransport]] = []

    def holder(self) -> str:
        """The holder of the lease on the server."""
        entry = self.here.server.core.store.get(LEASE)
        return str(entry.object["spec"]["holderIdentity"]) if entry is not None else ""

    def start(self, name: str, set_up_faults: FaultSetup) -> Replica:
        def prepare(transport: NumberedFaultTransport) -> None:
            transport.on_write = lambda request: self._look_at(name, request)
            set_up_faults(transport)

        return self.here.start(name, prepare)

    def _look_at(self, name: str, request: Request) -> None:
        """Record a violation if a write is not the leader's."""
        if "/leases" not in request.path and self.holder() != name:
            self.here.history.violations.append(f"{name} writes {request.path} while {self.holder()} leads")

    def holding_at(self, writes: int) -> FaultSetup:
        """Pause the leader at its n-th write."""

        def prepare(transport: NumberedFaultTransport) -> None:
            transport.when_written[writes] = lambda: self._hold(transport)

        return prepare

    def _hold(self, transport: NumberedFaultTransport) -> None:
        transport.resumed.clear()
        self._held.append((self.here.clock.now() + PAUSE, transport))

    async def work(self) -> None:
        """Advance time until all Workloads are finished, all managers are resumed, and nothing is written."""
        while not (self._is_done() and self._is_whole()):
            assert self.here.clock.now() < 2000, self.here.describe()
            await self._tick()
        for _ in range(round(SETTLED_SECONDS / STEP)):
            await self._tick()

    async def _tick(self) -> None:
        """Resume paused managers, finish Workloads and run further actions."""
        for moment, transport in list(self._held):
            if self.here.clock.now() >= moment:
                self._held.remove((moment, transport))
                transport.resumed.set()
        await self._end_some()
        for other in self.others:
            await other()
        await self.here.tick()

    async def _end_some(self) -> None:
        now = self.here.clock.now()
        for name, found in list(self.here.history.now.items()):
            runs = condition_status(found, "Admitted") == "True" and not condition_status(found, "Finished")
            if runs and now - self._since.setdefault(name, now) >= RUN_SECONDS:
                await self.here.finish(name)

    def _is_done(self) -> bool:
        found = self.here.history.now.values()
        return len(found) == BACKLOG and all(condition_status(each, "Finished") for each in found)

    def _is_whole(self) -> bool:
        """Whether no manager is paused and all have started."""
        return not self._held and all(each.manager.context is not None for each in self.here.replicas)


@asynccontextmanager
async def running_failover_harness() -> AsyncIterator[FailoverHarness]:
    async with running_replicated_harness(QUOTAS, LeaderElection()) as harness:
        await harness.create(make_namespace("kueue-system"), make_resource_flavor())
        for name, cpu in QUOTAS.items():
            await harness.create(make_cluster_queue(name, str(cpu), cohortName="all"), make_local_queue(name, name))
        await harness.create(
            *(make_workload(f"w{number}", "ab"[number % 2], str(1 + number % 3)) for number in range(BACKLOG))
        )
        yield FailoverHarness(harness)


async def assert_no_workload_lost(load: FailoverHarness) -> None:
    """Every Workload was admitted once, and no quota is left reserved in either manager."""
    await load.work()
    assert load.here.history.violations == []
    assert set(load.here.history.admissions.values()) == {1}
    for replica in load.here.replicas:
        engine = replica.context.engine
        assert not any(queue.holders for queue in engine.store.queues.values())
        assert not list(wrong_cells(engine))


class PausedBeforeLeaderCheck(LeaderOnlyTransport):
    """A paused process is paused before it checks whether it leads."""

    async def send(self, request: Request, timeout: float) -> Response:
        if isinstance(self.inner, FencedTransport) and isinstance(self.inner.inner, NumberedFaultTransport):
            await self.inner.inner.resumed.wait()
        return await super().send(request, timeout)
