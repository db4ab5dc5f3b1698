"""The steps of a start: on a terminal, and from one process to another."""

import io
import os

import pytest

from kohort.local.progress import PipedProgress, ProcessClaimed, Ready, StartFailed, TerminalProgress, pass_on, step
from kohort.terminal.glyphs import UNICODE
from kohort.terminal.screen import Screen


def test_a_step_is_one_line_with_a_tick_and_a_time() -> None:
    out = io.StringIO()
    ticks = TerminalProgress(out, Screen(80, 24, glyphs=UNICODE))
    ticks.begin("queues")
    ticks.done("queues", 0.123)
    *_, last = out.getvalue().split("\r")
    assert last.split() == ["✓", "queues", "0.1s"]
    assert out.getvalue().count("\n") == 1


def test_a_failed_step_is_marked_and_the_error_is_raised() -> None:
    out = io.StringIO()
    with pytest.raises(ValueError, match="why"), step(TerminalProgress(out, Screen(80, 24, glyphs=UNICODE)), "queues"):
        raise ValueError("why")
    assert out.getvalue().split("\r")[-1].split() == ["✗", "queues"]


def test_no_line_is_longer_than_a_narrow_terminal() -> None:
    out = io.StringIO()
    TerminalProgress(out, Screen(30, 24, glyphs=UNICODE)).done("a step that has a rather long name to it", 1.0)
    assert len(out.getvalue().strip("\r\n")) <= 30


def test_steps_reach_the_process_that_waits_for_them() -> None:
    reading, writing = os.pipe()
    relay, out = PipedProgress(writing), io.StringIO()
    ready = Ready(url="u", kubeconfig="k", context="c", nodes="n", on_stop="f")
    relay.send(ProcessClaimed(7))
    with step(relay, "queues"):
        pass
    relay.send(ready)
    relay.send(StartFailed("why", 2))
    relay.close()
    ticks = TerminalProgress(out, Screen(80, 24, glyphs=UNICODE))
    with os.fdopen(reading, "rb") as reported:
        messages = [pass_on(line, ticks) for line in reported]
    assert (messages[0], messages[-2], messages[-1]) == (ProcessClaimed(7), ready, StartFailed("why", 2))
    assert "✓ queues" in out.getvalue()


def test_a_watch_needs_no_reader() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    relay = PipedProgress(writing)
    relay.send(ProcessClaimed(7))
    relay.close()
