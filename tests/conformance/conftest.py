"""Starts both servers; the tests run only when this directory is selected explicitly (`make test-peers`)."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from conformance.script import Script
from conformance.script_runner import ScriptRunner, Transcript
from conformance.servers import ServerUnderTest, running_embedded_server, running_kubernetes_server
from conformance.step_results import StepResult

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    named = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path.is_relative_to(HERE) for path in named) else True


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerUnderTest, ServerUnderTest]]:
    """kube-apiserver and the embedded server, both empty."""
    with ExitStack() as running:
        real = running.enter_context(running_kubernetes_server(tmp_path_factory.mktemp("real")))
        yield real, running.enter_context(running_embedded_server(tmp_path_factory.mktemp("embedded")))


@pytest.fixture(scope="session")
def transcript(servers: tuple[ServerUnderTest, ServerUnderTest]) -> Iterator[Transcript]:
    """The results of both servers for a script, step by step; it runs once, when a test first needs it."""
    with ThreadPoolExecutor(max_workers=len(servers)) as pool:

        @cache
        def results_of(script: Script) -> tuple[Future[list[StepResult]], ...]:
            return tuple(pool.submit(ScriptRunner(server, script).run) for server in servers)

        yield lambda script: list(zip(*(answers.result() for answers in results_of(script)), strict=True))
