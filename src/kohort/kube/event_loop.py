"""The event loop of a process that works for long: uvloop where there is one, which takes less CPU for the same."""

import asyncio
import errno
import importlib
import importlib.util
import logging
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run to the end, as `asyncio.run` does."""
    runner = asyncio.Runner(loop_factory=loop_factory())
    try:
        runner.run(main)
    finally:
        _close(runner)


def loop_factory() -> LoopFactory | None:
    """uvloop's; None for asyncio's own, which does just as well where the other is not installed."""
    if importlib.util.find_spec("uvloop") is None:
        return None
    factory: LoopFactory = importlib.import_module("uvloop").new_event_loop
    return factory


def _close(runner: asyncio.Runner) -> None:
    """End what is left; uvloop can't free a loop whose connections still say goodbye, which the process does anyway."""
    try:
        runner.close()
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        log.debug("the loop is left to the end of the process: %s", error)
