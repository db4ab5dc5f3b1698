"""The journeys of `journeys/` on the embedded control plane; `tests/cluster` puts the real one to them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from journeys import three_roles, three_teams
from journeys.houses import House, gpu_nodes
from kohort.embedded.auth.users import AUTHENTICATED, User
from kohort.embedded.control_plane import LocalNodes, running_control_plane
from kohort.embedded.nodes.registration import NodeRegistration
from kohort.embedded.nodes.simulated.runtime import SimulatedRuntime
from kohort.embedded.nodes.startup import AgentSettings
from kohort.embedded.server.settings import ServerSettings
from kohort.kube.client import Client
from manager.managers import a_manager

pytestmark = pytest.mark.waits


@asynccontextmanager
async def a_house() -> AsyncIterator[House]:
    crew = LocalNodes(NodeRegistration(gpu_nodes()), lambda client: SimulatedRuntime(client.clock), AgentSettings())
    async with running_control_plane(ServerSettings(), crew) as plane, a_manager(plane):
        yield House(
            plane.client("admin"), lambda name: Client(plane.server.core.transport(User(name, (AUTHENTICATED,))))
        )


async def test_three_teams_share_48_gpus() -> None:
    async with a_house() as house:
        await three_teams.play(house)


async def test_three_roles_work_together() -> None:
    async with a_house() as house:
        await three_roles.play(house)
