"""Stand-ins for operators on a local cluster: their definitions, their role, and their user."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kohort.embedded.control_plane import ControlPlane
from kohort.kube.client import Client
from kohort.local.bootstrap import apply_object


async def install_stand_ins(client: Client, operators: tuple[str, ...]) -> None:
    """Create missing CustomResourceDefinitions, and grant the stand-ins what they need."""
    if not operators:
        return
    from kohort.operators.builtin import stand_ins_of
    from kohort.operators.definitions import install_definition
    from kohort.operators.permissions import role_objects

    stand_ins = stand_ins_of(operators)
    for each in stand_ins:
        await install_definition(client, each)
    for resource, wanted in role_objects(stand_ins):
        await apply_object(client, resource, wanted)


@asynccontextmanager
async def running_local_stand_ins(plane: ControlPlane, operators: tuple[str, ...]) -> AsyncIterator[None]:
    """Runs stand-ins under their own user until the context exits."""
    if not operators:
        yield
        return
    from kohort.operators.builtin import stand_ins_of
    from kohort.operators.permissions import USER
    from kohort.operators.startup import running_stand_ins

    async with running_stand_ins(plane.restricted_client(USER), stand_ins_of(operators)):
        yield
