"""Caches that lag, servers that refuse, controllers that start anew: the end is the same, and nothing comes twice."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded.controllers.harness import ControllerHarness, wait_until_started
from embedded.server.objects import deployment
from kit.apiserver import ADMIN, InMemoryApiServer, Object, running_apiserver
from kit.faults import InterceptingTransport
from kit.virtual_time import running_virtual_time
from kohort.embedded.controllers.deployments.controller import DeploymentController
from kohort.embedded.controllers.replicasets.controller import ReplicaSetController
from kohort.embedded.controllers.startup import BuiltinControllers
from kohort.embedded.controllers.statefulsets.controller import StatefulSetController
from kohort.kube.client import Client

SERVING = (ReplicaSetController, DeploymentController, StatefulSetController)
SETS = "/apis/apps/v1/namespaces/default/replicasets"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"


@pytest.fixture
async def cluster() -> AsyncIterator[InMemoryApiServer]:
    async with running_apiserver() as running:
        yield running


@asynccontextmanager
async def running_controllers(cluster: InMemoryApiServer) -> AsyncIterator[ControllerHarness]:
    """Controllers with caches of their own, until they stop."""
    interceptor = InterceptingTransport(cluster.core.transport(ADMIN))
    controllers = BuiltinControllers(Client(interceptor, cluster.clock), SERVING)
    controllers.start()
    try:
        await wait_until_started(controllers)
        yield ControllerHarness(cluster, interceptor)
    finally:
        async with running_virtual_time(cluster.clock):
            await controllers.stop()


def image(name: str) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": name}]}}}}


def stateful_set(replicas: int) -> Object:
    found = deployment("db", replicas)
    return {**found, "kind": "StatefulSet", "spec": {**found["spec"], "serviceName": "db"}}


async def test_controllers_that_start_anew_finish_what_others_began(cluster: InMemoryApiServer) -> None:
    async with running_controllers(cluster) as world:
        web, db = await world.create(deployment("web", 4)), await world.create(stateful_set(3))
        await world.run_all_pods()
        await world.merge(web, image("new"))
        await world.merge(db, image("new"))
        await world.settle()
    for _ in range(3):
        async with running_controllers(cluster) as world:
            await world.settle()
            terminating = [pod for pod in await world.pods() if pod["metadata"].get("deletionTimestamp")]
            for pod in terminating:
                await world.delete(pod, gracePeriodSeconds=0)
    async with running_controllers(cluster) as world:
        await world.run_all_pods()
        assert {pod["spec"]["containers"][0]["image"] for pod in await world.pods()} == {"new"}
        assert len(await world.pods()) == 7
        assert len(await world.items(SETS)) == 2
        assert len(await world.items(REVISIONS)) == 2
        assert (await world.get(web))["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"


@pytest.mark.parametrize("held", ["pods", "replicasets", "deployments", "statefulsets", "controllerrevisions"])
async def test_a_cache_that_lags_makes_nothing_twice(cluster: InMemoryApiServer, held: str) -> None:
    async with running_controllers(cluster) as world:
        web, db = await world.create(deployment("web", 3)), await world.create(stateful_set(2))
        await world.run_all_pods()
        world.interceptor.hold_watches(held)
        for name in ("a", "b"):
            await world.merge(web, image(name))
            await world.merge(db, image(name))
            await world.settle()
        assert len([pod for pod in await world.pods() if pod["metadata"]["name"].startswith("web-")]) <= 4
        world.interceptor.release_watches(held)
        await world.run_all_pods()
        assert {pod["spec"]["containers"][0]["image"] for pod in await world.pods()} == {"b"}
        assert len(await world.pods()) == 5


async def settled(world: ControllerHarness) -> None:
    """Rejected writes are retried in time, and have their effects."""
    for _ in range(4):
        await world.advance(30)
        await world.run_all_pods()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from([("POST", "/pods"), ("POST", "/replicasets"), ("PATCH", ""), ("DELETE", ""), ("POST", "")]),
            st.sampled_from([500, 503, 409, 429]),
            st.integers(1, 4),
        ),
        max_size=4,
    )
)
async def test_temporary_rejections_do_not_change_the_result(
    rejections: list[tuple[tuple[str, str], int, int]],
) -> None:
    async with running_apiserver() as cluster, running_controllers(cluster) as world:
        for (method, end), code, times in rejections:
            world.interceptor.reject(method, end, *[code] * times)
        web, _ = await world.create(deployment("web", 2)), await world.create(stateful_set(2))
        await settled(world)
        await world.merge(web, image("new"))
        await settled(world)
        pods = await world.pods()
        assert sorted(pod["spec"]["containers"][0]["image"] for pod in pods) == ["busybox:1"] * 2 + ["new"] * 2
        assert len(await world.items(SETS)) == 2
        status = (await world.get(web))["status"]
        assert (status["updatedReplicas"], status["availableReplicas"]) == (2, 2)
