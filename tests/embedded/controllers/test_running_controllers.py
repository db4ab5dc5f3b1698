"""All controllers together: one watch per kind, a clean end, and a whole serving workload."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from embedded.controllers.harness import ControllerHarness, node, wait_until_started
from embedded.server.objects import deployment
from kit.apiserver import ADMIN, running_apiserver
from kit.faults import InterceptingTransport
from kohort.embedded.controllers.startup import ALL, BuiltinControllers, running_controllers
from kohort.kube.client import Client


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    async with running_apiserver() as cluster:
        interceptor = InterceptingTransport(cluster.core.transport(ADMIN))
        async with running_controllers(Client(interceptor, cluster.clock)) as controllers:
            await wait_until_started(controllers)
            yield ControllerHarness(cluster, interceptor)


async def test_each_kind_is_watched_once(harness: ControllerHarness) -> None:
    watched = [request.path for request in harness.interceptor.sent if ("watch", "1") in request.query]
    assert len(watched) == len(set(watched))
    assert "/api/v1/pods" in watched


async def test_a_deployment_with_a_budget_comes_up_and_reports_it(harness: ControllerHarness) -> None:
    await harness.create(node("node"))
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"maxUnavailable": "50%", "selector": {"matchLabels": {"app": "web"}}},
    }
    found, guard = await harness.create(deployment("web", 4)), await harness.create(budget)
    await harness.run_all_pods()
    assert (await harness.get(found))["status"]["availableReplicas"] == 4
    assert (await harness.get(guard))["status"]["disruptionsAllowed"] == 2


async def test_nothing_is_left_behind_at_the_end() -> None:
    async with running_apiserver() as cluster:
        client = Client(cluster.core.transport(ADMIN), cluster.clock)
        before = asyncio.all_tasks()
        async with running_controllers(client) as controllers:
            await wait_until_started(controllers)
            assert len(asyncio.all_tasks() - before) > len(ALL)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() - before == set()


async def test_a_stop_before_the_caches_are_synced_ends_too() -> None:
    async with running_apiserver() as cluster:
        controllers = BuiltinControllers(Client(cluster.core.transport(ADMIN), cluster.clock))
        controllers.start()
        await asyncio.wait_for(controllers.stop(), 60)
