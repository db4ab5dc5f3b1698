"""Controllers that die at any request, one after the other, carry a Job to the end that one alone would reach."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from embedded.controllers.jobs.job_harness import JobControllerHarness, job
from kit.apiserver import ADMIN, InMemoryApiServer, Object, running_apiserver
from kit.faults import CrashingTransport, InterceptingTransport
from kohort.embedded.controllers.jobs.controller import JobController
from kohort.kube.client import Client
from kohort.kube.informer import SharedInformerFactory

COMPLETIONS = 5


@asynccontextmanager
async def _controller(cluster: InMemoryApiServer, writes: int) -> AsyncIterator[None]:
    """A controller that stops after the given number of writes."""
    client = Client(CrashingTransport(cluster.core.transport(ADMIN), writes), cluster.clock)
    informers = SharedInformerFactory(client)
    controller = JobController(client, informers)
    informers.start()
    await asyncio.wait_for(informers.wait_for_sync(), 60)
    controller.start()
    try:
        yield
    finally:
        stopping = asyncio.gather(controller.stop(), informers.stop())
        while not stopping.done():
            await cluster.clock.advance(5)
        await stopping


class PodFates:
    """What befell the pods of a Job."""

    def __init__(self, harness: JobControllerHarness, random: Random) -> None:
        self._world = harness
        self._random = random
        self.succeeded: set[str] = set()
        self.failed: set[str] = set()

    async def strike(self) -> None:
        """Let one active pod succeed, fail, or be deleted."""
        active = await self._world.active()
        if not active:
            return
        pod = self._random.choice(active)
        how = self._random.choice(("succeed", "succeed", "fail", "delete"))
        if pod["metadata"].get("finalizers"):
            # One without a finalizer was released before it ended, and is not counted in any state.
            (self.succeeded if how == "succeed" else self.failed).add(pod["metadata"]["uid"])
        if how == "delete":
            await self._world.mark_running(pod)
            await self._world.delete(pod)
        else:
            await self._world.finish_pods(pod, code=int(how == "fail"))

    async def let_go(self) -> None:
        """End the terminating pods."""
        for pod in await self._world.pods():
            if "deletionTimestamp" in pod["metadata"] and pod["status"]["phase"] == "Running":
                await self._world.delete(pod, gracePeriodSeconds=0)


@pytest.mark.parametrize("seed", [1, 3, 14, 21])
async def test_every_pod_is_counted_once_over_any_number_of_crashes(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    async with running_apiserver() as cluster:
        harness = JobControllerHarness(cluster, InterceptingTransport(cluster.core.transport(ADMIN)))
        fate = PodFates(harness, random)
        made = await harness.create(job(completions=COMPLETIONS, parallelism=2, backoffLimit=1000))
        for _ in range(60):
            async with _controller(cluster, random.randint(1, 12)):
                await _live(harness, fate, random)
            if "Complete" in await harness.conditions(made):
                break
        await _check(harness, made, fate)


async def _live(harness: JobControllerHarness, fate: PodFates, random: Random) -> None:
    for _ in range(random.randint(1, 3)):
        await harness.clock.advance(2)
        await fate.strike()
        await harness.clock.advance(random.choice((1, 700)))
        await fate.let_go()


async def _check(harness: JobControllerHarness, made: Object, fate: PodFates) -> None:
    status = await harness.status(made)
    assert "Complete" in await harness.conditions(made)
    assert (status["succeeded"], len(fate.succeeded)) == (COMPLETIONS, COMPLETIONS)
    assert status.get("failed", 0) == len(fate.failed)
    assert status["uncountedTerminatedPods"] == {}
