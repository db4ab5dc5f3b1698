"""Requests for what is not supported, on the embedded control plane with a whole manager."""

from manager.managers import running_plane, running_test_manager
from manager.unsupported_requests import (
    a_queue_with_an_unsupported_check_names_the_cause,
)


async def test_a_queue_with_an_unsupported_check_names_the_cause() -> None:
    async with running_plane() as plane, running_test_manager(plane):
        await a_queue_with_an_unsupported_check_names_the_cause(plane.client("user"))
