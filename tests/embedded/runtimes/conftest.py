from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from embedded.runtimes.worlds import World, running_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A process runtime of its own for each test."""
    async with running_world(tmp_path / "data") as found:
        yield found
