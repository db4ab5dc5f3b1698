"""Both servers at once: these tests run when this folder is named (`make test-peers`), never by the way."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from wire.answers import Answer
from wire.peers import Peer, embedded_peer, real_peer
from wire.playing import Player, Transcript
from wire.steps import Chapter

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    named = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path.is_relative_to(HERE) for path in named) else True


@pytest.fixture(scope="session")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Peer, Peer]]:
    """A real control plane and the embedded server, both new."""
    with ExitStack() as running:
        real = running.enter_context(real_peer(tmp_path_factory.mktemp("real")))
        yield real, running.enter_context(embedded_peer(tmp_path_factory.mktemp("embedded")))


@pytest.fixture(scope="session")
def transcript(peers: tuple[Peer, Peer]) -> Iterator[Transcript]:
    """The answers of both servers to a chapter, side by side; it is played once, when it is first asked for."""
    with ThreadPoolExecutor(max_workers=len(peers)) as pool:

        @cache
        def played(chapter: Chapter) -> tuple[Future[list[Answer]], ...]:
            return tuple(pool.submit(Player(peer, chapter).play) for peer in peers)

        yield lambda chapter: list(zip(*(answers.result() for answers in played(chapter)), strict=True))
