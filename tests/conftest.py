"""The profiles of property tests, Ctrl-C in tests, and the order and concurrency of tests.

Moderately at the desk, the same bounded examples on every CI run; `--hypothesis-profile=thorough` searches longer.
"""

import gc
import os
import signal
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

import pytest
from hypothesis import settings

from machine import Machine, held
from shares import ordered_for_processes, share_of

ALLOCATIONS_BETWEEN_COLLECTIONS: Final = 20_000
MACHINE = pytest.StashKey[Machine]()

settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True, database=None, print_blob=True)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_configure(config: pytest.Config) -> None:
    """Tests started in the background have Ctrl-C ignored, and all processes that they start would inherit that."""
    config.stash[MACHINE] = Machine()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure(config: pytest.Config) -> None:
    """The locks' files are closed; the locks were given back with each test."""
    config.stash[MACHINE].close()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules and tests stay until the end: the garbage collector need not visit a million objects each time.

    It runs less often, too: with the default it takes a twentieth of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(ALLOCATIONS_BETWEEN_COLLECTIONS)
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Exclusive tests come first, and those that wait are spread over all processes but one."""
    exclusive = [item for item in items if _is_exclusive(item)]
    waiting = [item for item in items if _waits(item) and not _is_exclusive(item)]
    others = [item for item in items if not _waits(item) and not _is_exclusive(item)]
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    items[:] = ordered_for_processes(exclusive, waiting, others, processes)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """No test runs beside an exclusive one, from the first of its fixtures to the end of the last."""
    machine = item.config.stash[MACHINE]
    with held(machine.exclusive if _is_exclusive(item) else machine.shared):
        return (yield)


def _waits(item: pytest.Item) -> bool:
    return item.get_closest_marker("waits") is not None


def _is_exclusive(item: pytest.Item) -> bool:
    return item.get_closest_marker("exclusive") is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where tests are shared by file, share some files by test."""
    if config.getoption("dist") != "loadfile":
        return None
    scheduler = import_module("xdist.scheduler").LoadFileScheduling(config, log)
    scheduler._split_scope = share_of
    return scheduler
