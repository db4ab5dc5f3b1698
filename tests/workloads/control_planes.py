"""The control planes under test: Kubernetes, the embedded one, and our controllers on kube-apiserver."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from cluster.control_plane import ControlPlane
from cluster.nodes import simulated, simulated_nodes
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.controllers.cronjobs.controller import CronJobController
from kohort.embedded.controllers.jobs.controller import JobController
from kohort.embedded.controllers.startup import running_controllers
from kohort.embedded.controllers.ttl import ExpiredJobs
from kohort.embedded.garbage_collector.startup import running_cleanup
from kohort.embedded.nodes.registration import NodeRegistration
from kohort.embedded.nodes.simulated.runtime import SimulatedRuntime
from kohort.embedded.nodes.startup import running_nodes
from kohort.embedded.scheduler.scheduler import running_pod_scheduler
from kohort.embedded.server.core import ServerCore, ServerCoreParts
from kohort.embedded.storage import Store
from kohort.kube.certificates import new_key
from kohort.kube.client import Client
from kohort.kube.clock import SystemClock
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport

ADMIN = User("admin", (MASTERS, AUTHENTICATED))
NODES = tuple(simulated(f"node-{number}") for number in range(3))

ControlPlaneFactory = Callable[[], AbstractAsyncContextManager[Client]]


_WITHOUT_JOBS = ("*", "-job-controller", "-cronjob-controller", "-ttl-after-finished-controller")


@asynccontextmanager
async def running_kubernetes_control_plane(cluster: ControlPlane | None = None) -> AsyncIterator[Client]:
    """Runs etcd, kube-apiserver, kube-controller-manager and kube-scheduler until the context exits."""
    cluster = cluster or ControlPlane()
    await asyncio.to_thread(cluster.__enter__)
    client = Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig=cluster.kubeconfig))))
    try:
        async with simulated_nodes(cluster, *NODES):
            yield client
    finally:
        await client.close()
        await asyncio.to_thread(cluster.__exit__, None, None, None)


@asynccontextmanager
async def running_mixed_control_plane() -> AsyncIterator[Client]:
    """Runs Kubernetes' control plane with our Job controllers until the context exits."""
    makes = (JobController, CronJobController, ExpiredJobs)
    async with (
        running_kubernetes_control_plane(ControlPlane(*_WITHOUT_JOBS)) as client,
        running_controllers(client, makes),
    ):
        yield client


@asynccontextmanager
async def running_embedded_control_plane() -> AsyncIterator[Client]:
    """Runs the embedded control plane in this process until the context exits."""
    clock = SystemClock()
    store = await Store.open(None)
    core = ServerCore(ServerCoreParts(store, clock, Signer(new_key()), b"authority"))
    await core.start()
    client = Client(core.transport(ADMIN), clock)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        stack.push_async_callback(core.close)
        await stack.enter_async_context(running_cleanup(client))
        await stack.enter_async_context(running_controllers(client))
        await stack.enter_async_context(running_pod_scheduler(client))
        await stack.enter_async_context(running_nodes(client, NodeRegistration(NODES), SimulatedRuntime(clock)))
        yield client


CONTROL_PLANES: dict[str, ControlPlaneFactory] = {
    "kubernetes": running_kubernetes_control_plane,
    "kohort": running_embedded_control_plane,
    "both": running_mixed_control_plane,
}
