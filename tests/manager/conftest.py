import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def own_logging() -> Iterator[None]:
    """Logging may be set up anew in a test; others find it as it was."""
    root, ours = logging.getLogger(), logging.getLogger("kohort")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
