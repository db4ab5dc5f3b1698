from collections.abc import AsyncIterator

import pytest

from embedded.nodes.worlds import World, running_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A server with one node of four CPUs."""
    async with running_world() as found:
        yield found
