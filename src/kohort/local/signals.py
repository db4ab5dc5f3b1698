"""How a cluster is asked to stop, and what becomes of it when somebody has no patience."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

LEFT_AT_ONCE: Final = 128 + signal.SIGINT


def stop_asked() -> asyncio.Event:
    """An event that Ctrl-C, SIGTERM and a closed terminal set; who asks a second time is not kept waiting."""
    stopped = asyncio.Event()

    def ask() -> None:
        if stopped.is_set():
            # Every write that was answered is on disk, and pods have processes of their own.
            os._exit(LEFT_AT_ONCE)
        stopped.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, *_hangups()):
        loop.add_signal_handler(number, ask)
    return stopped


@contextmanager
def interruptible() -> Iterator[None]:
    """Have every way to ask for a stop do what Ctrl-C does, until a loop listens: a start that is given up says so."""
    before = {number: signal.signal(number, _interrupt) for number in (signal.SIGTERM, *_hangups())}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _hangups() -> tuple[signal.Signals, ...]:
    """The signal of a closed terminal, unless somebody had it ignored, as nohup does."""
    return () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
