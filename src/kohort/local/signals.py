"""How a cluster is asked to stop, and what becomes of it when somebody has no patience."""

import asyncio
import os
import signal
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
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ask)
    return stopped
