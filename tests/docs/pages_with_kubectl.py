"""The same pages with stock kubectl, where it was built: `make test-peers` names this file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.pages import ROOT, pages_to_run
from docs.readers import Reader, kubectl_here


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    found = Reader(tmp_path, kubectl_here())
    yield found
    found.close()


@pytest.mark.parametrize("page", pages_to_run(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_what_it_says_with_kubectl(page: Path, reader: Reader) -> None:
    reader.read(page)
