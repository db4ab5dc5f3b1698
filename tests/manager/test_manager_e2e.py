"""The scenarios of `tests/e2e` on the embedded control plane; `tests/cluster` runs them on a real one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from checks.provisioning_harness import definition
from e2e import groups_and_checks, three_racks, three_roles, three_teams
from e2e.environment import ALL_KINDS, Environment, gpu_nodes
from kohort.api.config.v1beta2 import Configuration
from kohort.embedded.auth.users import AUTHENTICATED, User
from kohort.embedded.control_plane import LocalNodes, running_control_plane
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.embedded.nodes.registration import NodeRegistration
from kohort.embedded.nodes.simulated.runtime import SimulatedRuntime
from kohort.embedded.nodes.startup import AgentSettings
from kohort.embedded.server.settings import ServerSettings
from kohort.kube.client import Client
from manager.managers import configuration, running_test_manager

pytestmark = pytest.mark.waits


@asynccontextmanager
async def running_environment(
    nodes: tuple[DeclaredNode, ...], config: Configuration | None = None
) -> AsyncIterator[Environment]:
    local = LocalNodes(NodeRegistration(nodes), lambda client: SimulatedRuntime(client.clock), AgentSettings())
    async with running_control_plane(ServerSettings(), local) as plane, running_test_manager(plane, config):
        yield Environment(
            plane.client("admin"), lambda name: Client(plane.server.core.transport(User(name, (AUTHENTICATED,))))
        )


async def test_three_teams_share_48_gpus() -> None:
    async with running_environment(gpu_nodes()) as environment:
        await three_teams.run_three_teams(environment)


async def test_three_roles_work_together() -> None:
    async with running_environment(gpu_nodes()) as environment:
        await three_roles.run_three_roles(environment)


async def test_gangs_run_in_three_racks() -> None:
    async with running_environment(three_racks.nodes()) as environment:
        await three_racks.run_three_racks(environment)


async def test_groups_and_gangs_with_checks_run_in_racks() -> None:
    async with running_environment(groups_and_checks.nodes(), configuration(integrations=ALL_KINDS)) as environment:
        await groups_and_checks.run_groups_and_checks(environment, definition())
