from collections.abc import AsyncIterator

import pytest_asyncio

from embedded.garbage_collector.harness import GarbageCollectorHarness, running_garbage_collector


@pytest_asyncio.fixture
async def harness() -> AsyncIterator[GarbageCollectorHarness]:
    """A server with a running garbage collector."""
    async with running_garbage_collector() as found:
        yield found
