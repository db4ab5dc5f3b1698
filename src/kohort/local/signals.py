"""Signals that stop a cluster; a second one ends the process at once."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

LEFT_AT_ONCE: Final = 128 + signal.SIGINT


def stop_on_signals() -> asyncio.Event:
    """An event set by SIGINT, SIGTERM and SIGHUP; a second signal exits at once."""
    stopped = asyncio.Event()

    def stop() -> None:
        if stopped.is_set():
            # Acknowledged writes are on disk, and pods are separate processes.
            os._exit(LEFT_AT_ONCE)
        stopped.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, *_hangups()):
        loop.add_signal_handler(number, stop)
    return stopped


@contextmanager
def interruptible() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP like Ctrl-C until the event loop does, so that an aborted start is reported."""
    before = {number: signal.signal(number, _interrupt) for number in (signal.SIGTERM, *_hangups())}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _hangups() -> tuple[signal.Signals, ...]:
    """SIGHUP, unless it is ignored, as with nohup."""
    return () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
