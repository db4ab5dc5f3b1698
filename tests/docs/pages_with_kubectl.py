"""The pages that use kubectl, with stock kubectl, where it was built: `make test-peers` names this file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.pages import ROOT, Saved, Staying, pages_to_run, steps
from docs.readers import Reader, kubectl_here


def uses_kubectl(page: Path) -> bool:
    """Whether there is anything that a reader without it can't do."""
    typed = (step.command if isinstance(step, Staying) else step for step in steps(page))
    return any(not isinstance(each, Saved) and each.uses_kubectl for each in typed)


PAGES = [page for page in pages_to_run() if uses_kubectl(page)]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    found = Reader(tmp_path, kubectl_here())
    yield found
    found.close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_what_it_says_with_kubectl(page: Path, reader: Reader) -> None:
    reader.read(page)
