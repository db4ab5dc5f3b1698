"""How long property tests search, that tests hear Ctrl-C, and which of them processes share one by one.

Moderately at the desk, the same bounded examples on every CI run; `--hypothesis-profile=thorough` searches longer.
"""

import os
import signal
from importlib import import_module
from typing import Any

import pytest
from hypothesis import settings

from shares import share_of

settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True, database=None, print_blob=True)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_configure() -> None:
    """Whoever runs the tests in the background has Ctrl-C ignored, and all that they start would have it so too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where tests are shared by file, share some files by test."""
    if config.getoption("dist") != "loadfile":
        return None
    scheduler = import_module("xdist.scheduler").LoadFileScheduling(config, log)
    scheduler._split_scope = share_of
    return scheduler
