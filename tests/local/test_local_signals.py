"""Ctrl-C and its like: the first one requests a stop, the second one ends at once."""

import signal
import subprocess
import sys

import pytest

from kohort.local.signals import LEFT_AT_ONCE, interruptible

PATIENCE = 60
STUCK = """
import asyncio
import signal
import subprocess
import sys
from kohort.local.signals import stop_on_signals
async def main():
    stopped = stop_on_signals()
    print("runs", flush=True)
    await stopped.wait()
    print("asked", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
RECEIVING = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n{STUCK}"
"""Reset all signals that were ignored where the tests were started."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_interrupt_ends_at_once(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", RECEIVING], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        process.send_signal(number)
        assert process.stdout.readline() == "asked\n"
        process.send_signal(number)
        assert process.wait(PATIENCE) == LEFT_AT_ONCE


def test_one_that_was_started_with_nohup_outlives_its_terminal() -> None:
    ignoring = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{STUCK}"
    with subprocess.Popen([sys.executable, "-c", ignoring], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "asked\n"
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_handler_is_installed_raises_keyboard_interrupt(number: signal.Signals) -> None:
    inherited = signal.signal(number, signal.SIG_DFL)  # under nohup, SIGHUP is ignored
    try:
        with pytest.raises(KeyboardInterrupt), interruptible():
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, inherited)
