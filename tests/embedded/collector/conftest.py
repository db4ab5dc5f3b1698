from collections.abc import AsyncIterator

import pytest_asyncio

from embedded.collector.worlds import World, running_world


@pytest_asyncio.fixture
async def world() -> AsyncIterator[World]:
    """A server with a collector at work."""
    async with running_world() as found:
        yield found
