"""Both control planes at work: these tests run when this folder is named (`make test-peers`), never by the way."""

import asyncio
from pathlib import Path

import pytest

from workloads.cases import CASES
from workloads.playing import Transcript, play_everywhere

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    named = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path.is_relative_to(HERE) for path in named) else True


@pytest.fixture(scope="session")
def transcript(request: pytest.FixtureRequest) -> Transcript:
    """What was seen of the chosen cases; all are played at once, when the first is asked for."""
    here = (item for item in request.session.items if item.path.parent == HERE)
    calls = (getattr(item, "callspec", None) for item in here)
    chosen = [call.params.get("case") for call in calls if call is not None]
    return asyncio.run(play_everywhere([case for case in CASES if case in chosen]))
