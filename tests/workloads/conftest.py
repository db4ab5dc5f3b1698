"""Runs the cases on all control planes; only when this directory is selected explicitly (`make test-peers`)."""

import asyncio
from pathlib import Path

import pytest

from workloads.cases import CASES
from workloads.run_cases import Transcript, run_everywhere

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    named = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path.is_relative_to(HERE) for path in named) else True


@pytest.fixture(scope="session")
def transcript(request: pytest.FixtureRequest) -> Transcript:
    """The results of the selected cases; all run at once when a test first needs one."""
    here = (item for item in request.session.items if item.path.parent == HERE)
    calls = (getattr(item, "callspec", None) for item in here)
    chosen = [call.params.get("case") for call in calls if call is not None]
    return asyncio.run(run_everywhere([case for case in CASES if case in chosen]))
