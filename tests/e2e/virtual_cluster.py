"""A whole manager, jobs included, on an API server in memory: killed, cut off and led in virtual time.

Everything that a Workload ever was is seen as the server tells it, so that what must never happen is looked for in
every revision and not only in the end.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from controllers.houses import House, kueue_cluster
from e2e.faulty_connection import Wire
from kit.apiserver import ADMIN, InMemoryApiServer, Object, WatchRecorder
from kit.faults import InterceptingTransport
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
"""Seconds in which everything must come about, whatever failed on the way: a silent watch is noticed after 150."""
SETTLED_SECONDS = 12.0
"""Seconds without a write, while nothing is under way, after which everybody is done: longer than any pause is."""
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/workloads"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
REAL_TIMEOUT = 600.0
"""Seconds of real time in which a test is over."""
NO_ELECTION = LeaderElection(leader_elect=False)


@dataclass
class Replica:
    """One life of one manager's process."""

    name: str
    wire: Wire
    manager: Manager
    task: asyncio.Task[None]

    @property
    def context(self) -> ControllerContext:
        assert self.manager.context is not None
        return self.manager.context

    @property
    def is_at_rest(self) -> bool:
        """Whether it follows the server and asks nothing of it."""
        world = self.manager.context
        if world is None or self.wire.under_way or self.wire.has_stalled:
            return False
        return not world.informers.not_synced()


class WorkloadHistoryChecker:
    """Every Workload in every revision, and what was wrong with any of them."""

    def __init__(self, quotas: dict[str, int]) -> None:
        self._quotas = quotas
        """CPUs by ClusterQueue; together they are a cohort."""
        self.now: dict[str, Object] = {}
        self.wrong: list[str] = []
        self.admissions: Counter[str] = Counter()
        """How often each got quota."""
        self.revisions = 0

    def see(self, kind: str, found: Object) -> None:
        name = found["metadata"]["name"]
        before, after = _admission_of(self.now.get(name, {})), _admission_of(found)
        self.revisions += 1
        if after is not None and before is None:
            self.admissions[owner_name(found)] += 1
        if before is not None and after is not None and before != after:
            self.wrong.append(f"{owner_name(found)}: {before} became {after} without a release")
        if kind == "DELETED":
            self.now.pop(name, None)
        else:
            self.now[name] = found
        if after is not None and self.used() > sum(self._quotas.values()):
            self.wrong.append(f"{self.used()} CPUs are held after {owner_name(found)}")

    def used(self) -> int:
        """CPUs that hold quota now."""
        held = [_admission_of(each) for each in self.now.values()]
        parts = [part for each in held if each is not None for part in each["podSetAssignments"]]
        return sum(int(part["resourceUsage"]["cpu"]) for part in parts)


def _admission_of(workload: Object) -> Any:
    """The admission of a Workload that holds quota."""
    status = workload.get("status", {})
    return None if condition_status(workload, "Finished") == "True" else status.get("admission")


def condition_status(found: Object, condition: str) -> str:
    """The status of a condition; empty where there is none."""
    conditions = found.get("status", {}).get("conditions", ())
    return next((str(each["status"]) for each in conditions if each["type"] == condition), "")


def owner_name(workload: Object) -> str:
    """The name of the job that a Workload stands for; its own where there is none."""
    metadata = workload["metadata"]
    return str((metadata.get("ownerReferences") or [metadata])[0]["name"])


class Site(House):
    """A server, managers on it, and a Job controller that does what is told."""

    chronicle: WorkloadHistoryChecker
    following: asyncio.Task[None]
    replicas: list[Replica]
    """Those that live."""
    lives: list[Replica]
    """All that ever did."""
    next_life: Callable[[Wire], None]
    """What goes wrong for whoever takes the place of a dead one."""
    ends: set[str]
    """Jobs whose pods come to their end."""
    settings: ManagerSettings
    worked: tuple[int, int] = (0, 0)
    """What there was when Jobs were looked at last."""

    def start(self, name: str, set_up_faults: Callable[[Wire], None]) -> Replica:
        """A replica, or its next life, and what goes wrong in it."""
        wire = Wire(self.cluster.core.transport(ADMIN), self.clock)
        set_up_faults(wire)
        client = Client(wire, self.clock, random=Random(1))  # noqa: S311 (jitter, the same each time)
        leadership = Leadership(client, self.settings.configuration.leader_election, self.settings.namespace, name)
        manager = Manager(self.settings, leadership)
        task = asyncio.create_task(self._live(client, manager), name=f"manager {name}")
        replica = Replica(name, wire, manager, task)
        self.replicas.append(replica)
        self.lives.append(replica)
        return replica

    async def _live(self, client: Client, manager: Manager) -> None:
        configuration, gates = self.settings.configuration, self.settings.gates
        registry = registry_of(configuration, (BatchJobFramework(),))
        metrics = KueueMetrics(MetricsRegistry(), configuration, gates, manager.leadership.role)
        leading = (running_leader_controllers, lambda world: running_job_reconcilers(world, registry))
        crews = ControllerGroups(always=(running_queue_gauges,), leading=leading)
        async with manager.leadership.running():
            await LeadershipLoop(manager, client, metrics, crews, lambda world: None).run()

    async def kill(self, replica: Replica) -> None:
        """The process is gone; what it had not sent is lost."""
        replica.wire.is_dead = True
        self.replicas.remove(replica)
        replica.task.cancel()
        async with running_virtual_time(self.clock):
            await asyncio.gather(replica.task, return_exceptions=True)

    # Time

    async def tick(self) -> None:
        """A short while; whoever died has a successor, and Jobs do what they are told."""
        for replica in [each for each in self.replicas if each.wire.is_dead]:
            await self.kill(replica)
            self.start(replica.name, self.next_life)
        for task in (self.following, *(each.task for each in self.replicas)):
            assert not task.done(), task.result()
        assert not self.chronicle.wrong
        found = (self.revision, len(self.ends))
        if found != self.worked:
            self.worked = found
            for job in (await self.cluster.get(JOBS))["items"]:
                await self._work(job)
        await self.clock.advance(STEP)

    async def comes(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for something that the chronicle shows."""
        for _ in range(round(TIMEOUT / STEP)):
            if holds():
                return
            await self.tick()
        raise AssertionError(f"{what} does not come about: {self.picture()}")

    async def calm(self) -> None:
        """Let everybody do all they want to do."""
        quiet, before = 0.0, (-1, 0)
        for _ in range(round(TIMEOUT / STEP)):
            await self.tick()
            found = (self.revision, len(self.lives))
            is_quiet = found == before and all(each.is_at_rest for each in self.replicas)
            quiet, before = quiet + STEP if is_quiet else 0.0, found
            if quiet >= SETTLED_SECONDS:
                return
        raise AssertionError(f"the cluster does not come to rest: {self.picture()}")

    def picture(self) -> Object:
        """How things stand, in short."""
        return {
            owner_name(each): {one["type"]: one["status"] for one in each.get("status", {}).get("conditions", ())}
            for each in self.chronicle.now.values()
        }

    def workload(self, job: str) -> Object:
        """The Workload of a job; nothing where there is none."""
        return next((each for each in self.chronicle.now.values() if owner_name(each) == job), {})

    # Jobs

    async def _work(self, job: Object) -> None:
        """What the Job controller and kubelets make of a Job now."""
        name, status = job["metadata"]["name"], job.get("status", {})
        if condition_status(job, "Complete"):
            return
        is_suspended, is_active = job["spec"]["suspend"], bool(status.get("active"))
        if not is_suspended and _admission_of(self.workload(name)) is None:
            self.chronicle.wrong.append(f"{name} runs without quota")
        if is_suspended and is_active:
            await self._set(name, active=0, ready=0, startTime=None)
        elif not is_suspended and not is_active:
            await self._set(name, active=1, ready=1, startTime=format_time(self.clock.wall()))
        elif not is_suspended and name in self.ends:
            await self._complete(name)

    async def _complete(self, name: str) -> None:
        now = format_time(self.clock.wall())
        done = {"type": "Complete", "status": "True", "reason": "CompletionsReached", "message": "done"}
        done |= {"lastTransitionTime": now, "lastProbeTime": now}
        conditions = [{**done, "type": "SuccessCriteriaMet"}, done]
        await self._set(name, active=0, ready=0, succeeded=1, completionTime=now, conditions=conditions)

    async def _set(self, name: str, **status: Any) -> None:
        reply = await self.cluster.merge(f"{JOBS}/{name}/status", {"status": status})
        assert reply.status == 200, reply


async def _watch_workloads(cluster: InMemoryApiServer, chronicle: WorkloadHistoryChecker) -> None:
    """Follow the server's own history."""
    whole = Request("GET", WORKLOADS, (("watch", "1"), ("timeoutSeconds", "1000000")))
    events = WatchRecorder(await cluster.core.transport(ADMIN).send(whole, REAL_TIMEOUT))
    while True:
        chronicle.see(*await events.next())


@asynccontextmanager
async def site(quotas: dict[str, int], election: LeaderElection = NO_ELECTION) -> AsyncIterator[Site]:
    """A fresh server without a manager."""
    configuration = msgspec.structs.replace(Configuration(), leader_election=election)
    settings = ManagerSettings(configuration)
    async with kueue_cluster(settings.gates) as cluster:
        built = Site.__new__(Site)
        built.cluster, built.clock, built.settings = cluster, cluster.clock, settings
        built.meddler = InterceptingTransport(cluster.core.transport(ADMIN))
        built.chronicle, built.replicas, built.lives, built.ends = WorkloadHistoryChecker(quotas), [], [], set()
        built.following = asyncio.create_task(_watch_workloads(cluster, built.chronicle), name="chronicle")
        try:
            yield built
        finally:
            for replica in list(built.replicas):
                await built.kill(replica)
            built.following.cancel()
            await asyncio.gather(built.following, return_exceptions=True)
