from collections.abc import AsyncIterator

import pytest

from embedded.nodes.harness import NodeAgentHarness, running_node_agent


@pytest.fixture
async def harness() -> AsyncIterator[NodeAgentHarness]:
    """A server with one node of four CPUs."""
    async with running_node_agent() as found:
        yield found
