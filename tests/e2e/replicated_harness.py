"""Whole managers with leader election on an API server in memory, in virtual time: crashed, paused, disconnected.

Invariants are checked in every revision of every Workload, not only at the end.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from e2e.numbered_faults import NumberedFaultTransport
from kit.apiserver import ADMIN, InMemoryApiServer, Object, WatchRecorder
from kit.kueue_apiserver import running_kueue_apiserver
from kit.manager import ManagerHarness
from kit.virtual_time import running_virtual_time
from kohort.api.config.common import LeaderElection
from kohort.api.config.v1beta2 import Configuration
from kohort.api.times import format_time
from kohort.controllers.context import ControllerContext, ManagerSettings
from kohort.controllers.startup import running_leader_controllers, running_queue_gauges
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.registry import registry_of
from kohort.jobs.startup import running_job_reconcilers
from kohort.kube.client import Client
from kohort.kube.transport import Request
from kohort.manager.leadership import Leadership
from kohort.manager.leadership_loop import ControllerGroups, LeadershipLoop
from kohort.manager.manager import Manager
from kohort.metrics.kueue import KueueMetrics
from kohort.metrics.registry import MetricsRegistry

STEP = 0.25
TIMEOUT = 900.0
"""Seconds in which every condition must be met after any failure: a stalled watch is detected after 150."""
SETTLED_SECONDS = 12.0
"""Seconds without a write or a pending request after which all controllers are done: longer than any pause."""
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/workloads"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
REAL_TIMEOUT = 600.0
"""Seconds of real time that no test takes."""
NO_ELECTION = LeaderElection(leader_elect=False)


@dataclass
class Replica:
    """The process of one manager."""

    name: str
    transport: NumberedFaultTransport
    manager: Manager
    task: asyncio.Task[None]

    @property
    def context(self) -> ControllerContext:
        assert self.manager.context is not None
        return self.manager.context

    @property
    def is_at_rest(self) -> bool:
        """Whether its informers are synced and no request is pending."""
        context = self.manager.context
        if context is None or self.transport.under_way or self.transport.has_stalled:
            return False
        return not context.informers.not_synced()


class WorkloadHistoryChecker:
    """Checks every revision of every Workload and records violations of invariants."""

    def __init__(self, quotas: dict[str, int]) -> None:
        self._quotas = quotas
        """CPUs by ClusterQueue of one cohort."""
        self.now: dict[str, Object] = {}
        self.violations: list[str] = []
        self.admissions: Counter[str] = Counter()
        """Number of admissions by job."""
        self.revisions = 0

    def record(self, kind: str, found: Object) -> None:
        name = found["metadata"]["name"]
        before, after = _admission_of(self.now.get(name, {})), _admission_of(found)
        self.revisions += 1
        if after is not None and before is None:
            self.admissions[owner_name(found)] += 1
        if before is not None and after is not None and before != after:
            self.violations.append(f"{owner_name(found)}: {before} became {after} without a release")
        if kind == "DELETED":
            self.now.pop(name, None)
        else:
            self.now[name] = found
        if after is not None and self.used() > sum(self._quotas.values()):
            self.violations.append(f"{self.used()} CPUs are held after {owner_name(found)}")

    def used(self) -> int:
        """CPUs that are reserved now."""
        held = [_admission_of(each) for each in self.now.values()]
        parts = [part for each in held if each is not None for part in each["podSetAssignments"]]
        return sum(int(part["resourceUsage"]["cpu"]) for part in parts)


def _admission_of(workload: Object) -> Any:
    """The admission of a Workload with reserved quota."""
    status = workload.get("status", {})
    return None if condition_status(workload, "Finished") == "True" else status.get("admission")


def condition_status(found: Object, condition: str) -> str:
    """The status of a condition; empty if it is absent."""
    conditions = found.get("status", {}).get("conditions", ())
    return next((str(each["status"]) for each in conditions if each["type"] == condition), "")


def owner_name(workload: Object) -> str:
    """The name of the job that owns a Workload; else that of the Workload."""
    metadata = workload["metadata"]
    return str((metadata.get("ownerReferences") or [metadata])[0]["name"])


class ReplicatedHarness(ManagerHarness):
    """A server, replicas of the manager, and a simple Job controller."""

    following: asyncio.Task[None]
    """Watches Workloads for `history`."""

    def __init__(self, server: InMemoryApiServer, settings: ManagerSettings, quotas: dict[str, int]) -> None:
        super().__init__(server)
        self.settings = settings
        self.history = WorkloadHistoryChecker(quotas)
        self.replicas: list[Replica] = []
        """Running managers."""
        self.processes: list[Replica] = []
        """All managers that were started."""
        self.next_faults: Callable[[NumberedFaultTransport], None] = lambda transport: None
        """Faults of the successor of a crashed manager."""
        self.finished_jobs: set[str] = set()
        """Jobs whose pods succeed."""
        self._last_update: tuple[int, int] = (0, 0)
        """Revision and number of finished jobs at the last update of Jobs."""

    def start(self, name: str, set_up_faults: Callable[[NumberedFaultTransport], None]) -> Replica:
        """Start a replica, or its successor, with faults in its connection."""
        transport = NumberedFaultTransport(self.server.core.transport(ADMIN), self.clock)
        set_up_faults(transport)
        client = Client(transport, self.clock, random=Random(1))  # noqa: S311 (jitter, the same each time)
        leadership = Leadership(client, self.settings.configuration.leader_election, self.settings.namespace, name)
        manager = Manager(self.settings, leadership)
        task = asyncio.create_task(self._live(client, manager), name=f"manager {name}")
        replica = Replica(name, transport, manager, task)
        self.replicas.append(replica)
        self.processes.append(replica)
        return replica

    async def _live(self, client: Client, manager: Manager) -> None:
        configuration, gates = self.settings.configuration, self.settings.gates
        registry = registry_of(configuration, (BatchJobFramework(),))
        metrics = KueueMetrics(MetricsRegistry(), configuration, gates, manager.leadership.role)
        leading = (running_leader_controllers, lambda context: running_job_reconcilers(context, registry))
        crews = ControllerGroups(always=(running_queue_gauges,), leading=leading)
        async with manager.leadership.running():
            await LeadershipLoop(manager, client, metrics, crews, lambda context: None).run()

    async def crash(self, replica: Replica) -> None:
        """End a replica without letting it send anything more."""
        replica.transport.is_crashed = True
        self.replicas.remove(replica)
        replica.task.cancel()
        async with running_virtual_time(self.clock):
            await asyncio.gather(replica.task, return_exceptions=True)

    # Time

    async def tick(self) -> None:
        """Advance time by a step, replace crashed replicas and update Jobs."""
        for replica in [each for each in self.replicas if each.transport.is_crashed]:
            await self.crash(replica)
            self.start(replica.name, self.next_faults)
        for task in (self.following, *(each.task for each in self.replicas)):
            assert not task.done(), task.result()
        assert not self.history.violations
        found = (self.revision, len(self.finished_jobs))
        if found != self._last_update:
            self._last_update = found
            for job in (await self.server.get(JOBS))["items"]:
                await self._work(job)
        await self.clock.advance(STEP)

    async def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for a condition that the history shows."""
        for _ in range(round(TIMEOUT / STEP)):
            if holds():
                return
            await self.tick()
        raise AssertionError(f"{what} is not met: {self.describe()}")

    async def settle(self) -> None:
        """Advance time until no controller has anything to do."""
        quiet, before = 0.0, (-1, 0)
        for _ in range(round(TIMEOUT / STEP)):
            await self.tick()
            found = (self.revision, len(self.processes))
            is_quiet = found == before and all(each.is_at_rest for each in self.replicas)
            quiet, before = quiet + STEP if is_quiet else 0.0, found
            if quiet >= SETTLED_SECONDS:
                return
        raise AssertionError(f"the cluster does not settle: {self.describe()}")

    def describe(self) -> Object:
        """Conditions of all Workloads, for failure messages."""
        return {
            owner_name(each): {one["type"]: one["status"] for one in each.get("status", {}).get("conditions", ())}
            for each in self.history.now.values()
        }

    def workload(self, job: str) -> Object:
        """The Workload of a job; empty if it does not exist."""
        return next((each for each in self.history.now.values() if owner_name(each) == job), {})

    # Jobs

    async def _work(self, job: Object) -> None:
        """Set the status of a Job as the Job controller and kubelets would."""
        name, status = job["metadata"]["name"], job.get("status", {})
        if condition_status(job, "Complete"):
            return
        is_suspended, is_active = job["spec"]["suspend"], bool(status.get("active"))
        if not is_suspended and _admission_of(self.workload(name)) is None:
            self.history.violations.append(f"{name} runs without quota")
        if is_suspended and is_active:
            await self._set(name, active=0, ready=0, startTime=None)
        elif not is_suspended and not is_active:
            await self._set(name, active=1, ready=1, startTime=format_time(self.clock.wall()))
        elif not is_suspended and name in self.finished_jobs:
            await self._complete(name)

    async def _complete(self, name: str) -> None:
        now = format_time(self.clock.wall())
        done = {"type": "Complete", "status": "True", "reason": "CompletionsReached", "message": "done"}
        done |= {"lastTransitionTime": now, "lastProbeTime": now}
        conditions = [{**done, "type": "SuccessCriteriaMet"}, done]
        await self._set(name, active=0, ready=0, succeeded=1, completionTime=now, conditions=conditions)

    async def _set(self, name: str, **status: Any) -> None:
        reply = await self.server.merge(f"{JOBS}/{name}/status", {"status": status})
        assert reply.status == 200, reply


async def _watch_workloads(server: InMemoryApiServer, history: WorkloadHistoryChecker) -> None:
    """Record every watch event."""
    whole = Request("GET", WORKLOADS, (("watch", "1"), ("timeoutSeconds", "1000000")))
    events = WatchRecorder(await server.core.transport(ADMIN).send(whole, REAL_TIMEOUT))
    while True:
        history.record(*await events.next())


@asynccontextmanager
async def running_replicated_harness(
    quotas: dict[str, int], election: LeaderElection = NO_ELECTION
) -> AsyncIterator[ReplicatedHarness]:
    """Runs a fresh server, on which the test starts replicas."""
    configuration = msgspec.structs.replace(Configuration(), leader_election=election)
    settings = ManagerSettings(configuration)
    async with running_kueue_apiserver(settings.gates) as server:
        harness = ReplicatedHarness(server, settings, quotas)
        harness.following = asyncio.create_task(_watch_workloads(server, harness.history), name="workload history")
        try:
            yield harness
        finally:
            for replica in list(harness.replicas):
                await harness.crash(replica)
            harness.following.cancel()
            await asyncio.gather(harness.following, return_exceptions=True)
