from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from embedded.runtimes.harness import RuntimeHarness, running_process_runtime


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[RuntimeHarness]:
    """A process runtime of its own for each test."""
    async with running_process_runtime(tmp_path / "data") as found:
        yield found
