"""Caches that lag, servers that refuse, controllers that start anew: the end is the same, and nothing comes twice."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import HealthCheck, example, given, settings
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
    async with running_controllers(cluster) as harness:
        web, db = await harness.create(deployment("web", 4)), await harness.create(stateful_set(3))
        await harness.run_all_pods()
        await harness.merge(web, image("new"))
        await harness.merge(db, image("new"))
        await harness.settle()
    for _ in range(3):
        async with running_controllers(cluster) as harness:
            await harness.settle()
            terminating = [pod for pod in await harness.pods() if pod["metadata"].get("deletionTimestamp")]
            for pod in terminating:
                await harness.delete(pod, gracePeriodSeconds=0)
    async with running_controllers(cluster) as harness:
        await harness.run_all_pods()
        assert {pod["spec"]["containers"][0]["image"] for pod in await harness.pods()} == {"new"}
        assert len(await harness.pods()) == 7
        assert len(await harness.items(SETS)) == 2
        assert len(await harness.items(REVISIONS)) == 2
        assert (await harness.get(web))["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"


@pytest.mark.parametrize("held", ["pods", "replicasets", "deployments", "statefulsets", "controllerrevisions"])
async def test_a_cache_that_lags_makes_nothing_twice(cluster: InMemoryApiServer, held: str) -> None:
    async with running_controllers(cluster) as harness:
        web, db = await harness.create(deployment("web", 3)), await harness.create(stateful_set(2))
        await harness.run_all_pods()
        harness.interceptor.hold_watches(held)
        for name in ("a", "b"):
            await harness.merge(web, image(name))
            await harness.merge(db, image(name))
            await harness.settle()
        assert len([pod for pod in await harness.pods() if pod["metadata"]["name"].startswith("web-")]) <= 4
        harness.interceptor.release_watches(held)
        await harness.run_all_pods()
        assert {pod["spec"]["containers"][0]["image"] for pod in await harness.pods()} == {"b"}
        assert len(await harness.pods()) == 5


async def settled(harness: ControllerHarness) -> None:
    """Rejected writes are retried in time, and have their effects.

    There can be sixteen rejections of one object: the last retry comes five and a half minutes after the first write.
    """
    for _ in range(4):
        await harness.advance(100)
        await harness.run_all_pods()


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
@example([(("POST", "/replicasets"), 500, 4)] * 4)
async def test_temporary_rejections_do_not_change_the_result(
    rejections: list[tuple[tuple[str, str], int, int]],
) -> None:
    async with running_apiserver() as cluster, running_controllers(cluster) as harness:
        for (method, end), code, times in rejections:
            harness.interceptor.reject(method, end, *[code] * times)
        web, _ = await harness.create(deployment("web", 2)), await harness.create(stateful_set(2))
        await settled(harness)
        await harness.merge(web, image("new"))
        await settled(harness)
        pods = await harness.pods()
        assert sorted(pod["spec"]["containers"][0]["image"] for pod in pods) == ["busybox:1"] * 2 + ["new"] * 2
        assert len(await harness.items(SETS)) == 2
        status = (await harness.get(web))["status"]
        assert (status["updatedReplicas"], status["availableReplicas"]) == (2, 2)
