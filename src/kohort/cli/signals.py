"""Commands that run until somebody stops them."""

import asyncio
import signal

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def stop_asked() -> asyncio.Event:
    """An event that Ctrl-C and SIGTERM set; a second one does what it always does."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        stopped.set()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    return stopped
