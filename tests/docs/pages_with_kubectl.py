"""The pages that use kubectl, with stock kubectl, where it was built: `make test-peers` names this file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.page_runner import PageRunner, find_kubectl
from docs.pages import ROOT, ForegroundCommand, SavedFile, pages_to_run, steps


def uses_kubectl(page: Path) -> bool:
    """Whether there is anything that a reader without it can't do."""
    typed = (step.command if isinstance(step, ForegroundCommand) else step for step in steps(page))
    return any(not isinstance(each, SavedFile) and each.uses_kubectl for each in typed)


PAGES = [page for page in pages_to_run() if uses_kubectl(page)]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[PageRunner]:
    found = PageRunner(tmp_path, find_kubectl())
    yield found
    found.close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_works_with_kubectl(page: Path, reader: PageRunner) -> None:
    reader.read(page)
