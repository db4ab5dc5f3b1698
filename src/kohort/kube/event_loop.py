"""The event loop of long-running processes: uvloop if installed, which uses less CPU."""

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
    """Run a coroutine to completion, as `asyncio.run` does."""
    runner = asyncio.Runner(loop_factory=loop_factory())
    try:
        runner.run(main)
    finally:
        _close(runner)


def loop_factory() -> LoopFactory | None:
    """The factory of uvloop; None for asyncio's event loop."""
    if importlib.util.find_spec("uvloop") is None:
        return None
    factory: LoopFactory = importlib.import_module("uvloop").new_event_loop
    return factory


def _close(runner: asyncio.Runner) -> None:
    """Close the runner; uvloop cannot close a loop whose connections are still shutting down TLS."""
    try:
        runner.close()
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        log.debug("closing the event loop failed, leaving it to process exit: %s", error)
