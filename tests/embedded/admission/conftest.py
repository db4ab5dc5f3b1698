"""Every test gets a server of its own."""

from collections.abc import AsyncIterator

import pytest

from embedded.server.clusters import Cluster, running_cluster


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with running_cluster() as running:
        yield running
