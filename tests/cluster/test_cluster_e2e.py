"""The scenarios of `tests/e2e` on Kubernetes' own control plane, with nodes of ours and the manager beside it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from cluster.control_plane import ControlPlane
from cluster.go_modules import yaml_of_module
from cluster.nodes import simulated_nodes
from e2e import groups_and_checks, three_racks, three_roles, three_teams
from e2e.environment import ALL_KINDS, Environment, gpu_nodes
from kohort.api.config.v1beta2 import Configuration
from kohort.controllers.context import ManagerSettings
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.kube.client import Client
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport
from kohort.manager.crds import WhenMissing
from kohort.manager.options import ManagerOptions
from kohort.manager.startup import running_manager
from manager.managers import LOOPBACK, NAMESPACE, TIMEOUT, configuration

AUTOSCALER = "k8s.io/autoscaler/cluster-autoscaler/apis@v0.0.0-20240830133931-adfbe7e45277"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane of its own, because the manager would see writes of other tests too."""
    with ControlPlane() as running:
        yield running


@pytest.fixture(scope="module")
def config() -> Configuration:
    """The same for all: an API server takes its time to see that conversions are done somewhere else."""
    return configuration(integrations=ALL_KINDS)


@asynccontextmanager
async def running_environment(
    plane: ControlPlane, config: Configuration, folder: Path, nodes: tuple[DeclaredNode, ...]
) -> AsyncIterator[Environment]:
    options = ManagerOptions(f"https://{LOOPBACK}:{config.webhook.port}", when_missing=WhenMissing.INSTALL)
    async with AsyncExitStack() as stack:

        def a_client(kubeconfig: Path) -> Client:
            client = Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig=kubeconfig))))
            stack.push_async_callback(client.close)
            return client

        admin = a_client(plane.kubeconfig)
        await stack.enter_async_context(simulated_nodes(plane, *nodes))
        settings = ManagerSettings(config, namespace=NAMESPACE)
        manager = await stack.enter_async_context(running_manager(admin, settings, options))
        async with asyncio.timeout(TIMEOUT):
            await manager.leading.wait()
        yield Environment(admin, lambda name: a_client(plane.user(name).write(folder / name)))


async def test_three_teams_share_48_gpus(plane: ControlPlane, config: Configuration, tmp_path: Path) -> None:
    async with running_environment(plane, config, tmp_path, gpu_nodes()) as environment:
        await three_teams.run_three_teams(environment)


async def test_three_roles_work_together(plane: ControlPlane, config: Configuration, tmp_path: Path) -> None:
    async with running_environment(plane, config, tmp_path, gpu_nodes()) as environment:
        await three_roles.run_three_roles(environment)


async def test_gangs_run_in_three_racks(plane: ControlPlane, config: Configuration, tmp_path: Path) -> None:
    async with running_environment(plane, config, tmp_path, three_racks.nodes()) as environment:
        await three_racks.run_three_racks(environment)


async def test_groups_and_gangs_with_checks_run_in_racks(
    plane: ControlPlane, config: Configuration, tmp_path: Path
) -> None:
    definition = yaml_of_module(AUTOSCALER, "config/crd/autoscaling.x-k8s.io_provisioningrequests.yaml")
    async with running_environment(plane, config, tmp_path, groups_and_checks.nodes()) as environment:
        await groups_and_checks.run_groups_and_checks(environment, definition)
