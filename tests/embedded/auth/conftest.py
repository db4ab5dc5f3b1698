"""Every test gets a server of its own."""

from collections.abc import AsyncIterator

import pytest

from kit.apiserver import InMemoryApiServer, running_apiserver


@pytest.fixture
async def cluster() -> AsyncIterator[InMemoryApiServer]:
    async with running_apiserver() as running:
        yield running
