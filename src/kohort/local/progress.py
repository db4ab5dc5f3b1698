"""Progress of a start: on a terminal one line per step, otherwise nothing; or messages through a pipe."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TextIO

import msgspec

from kohort.terminal.screen import Screen
from kohort.terminal.style import Role, columns, cut

_WIDTH: Final = 46


class ProgressReporter(Protocol):
    """Receives the steps of a start."""

    def begin(self, what: str) -> None:
        """A step started."""
        ...

    def done(self, what: str, seconds: float) -> None:
        """The step completed."""
        ...

    def failed(self, what: str) -> None:
        """The step failed; the error is raised separately."""
        ...


@contextmanager
def step(progress: ProgressReporter, what: str) -> Iterator[None]:
    """Report the start and the end of a step."""
    progress.begin(what)
    began = time.monotonic()
    try:
        yield
    except BaseException:
        progress.failed(what)
        raise
    progress.done(what, time.monotonic() - began)


class SilentProgress:
    """Reports nothing."""

    def begin(self, what: str) -> None:
        """Do nothing."""

    def done(self, what: str, seconds: float) -> None:
        """Do nothing."""

    def failed(self, what: str) -> None:
        """Do nothing."""


class TerminalProgress:
    """Reports steps on a terminal, one line each."""

    def __init__(self, stream: TextIO, screen: Screen) -> None:
        self._stream = stream
        self._screen = screen

    def begin(self, what: str) -> None:
        """Write the line of a step in progress."""
        self._line(self._screen.glyphs.dot, Role.DIM, what, self._screen.glyphs.ellipsis)

    def done(self, what: str, seconds: float) -> None:
        """Complete the line with a tick and the time."""
        self._line(self._screen.glyphs.tick, Role.GOOD, what, f"{seconds:.1f}s")
        self._stream.write("\n")
        self._stream.flush()

    def failed(self, what: str) -> None:
        """Complete the line with a cross."""
        self._line(self._screen.glyphs.cross, Role.BAD, what, "")
        self._stream.write("\n")
        self._stream.flush()

    def _line(self, sign: str, role: Role, what: str, end: str) -> None:
        width = min(_WIDTH, self._screen.width_or(_WIDTH) - 12)
        text = cut(what, max(width, 8), self._screen.glyphs.ellipsis)
        gap = " " * (max(width, 8) - columns(text))
        style = self._screen.style
        self._stream.write(f"\r{style.paint(sign, role)} {text}{gap}  {style.paint(f'{end:>5}', Role.DIM)}")
        self._stream.flush()


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The cluster is ready; has the data of its ready message."""

    url: str
    kubeconfig: str
    context: str
    nodes: str
    """Line about the nodes."""
    on_stop: str
    """What happens to pods on exit."""
    before: tuple[str, ...] = ()
    """Lines about the previous run."""
    starter: tuple[str, ...] | None = None
    """Kinds of starter objects that were created; None without --starter."""
    has_queues: bool = True
    """Whether a LocalQueue exists."""
    again: str = ""
    """Command that starts the cluster again."""
    shared: str = ""
    """The kubeconfig of kubectl with the context."""
    is_current: bool = False
    """Whether its context is the current one."""
    needs_context: bool = False
    """Whether commands need --context to reach this cluster."""
    previous: str = ""
    """The previous current context."""
    operators: tuple[str, ...] = ()
    """Operators that have a stand-in."""
    warnings: tuple[str, ...] = ()
    log: str = ""
    """Path of the log file; empty if there is none."""


class Began(msgspec.Struct, frozen=True, tag="began"):
    """A step started."""

    what: str


class Done(msgspec.Struct, frozen=True, tag="done"):
    """A step completed."""

    what: str
    seconds: float


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """A step failed."""

    what: str


class StartFailed(msgspec.Struct, frozen=True, tag="problem"):
    """The cluster did not start."""

    why: str
    exit_code: int


class ProcessClaimed(msgspec.Struct, frozen=True, tag="claimed"):
    """The detached process has started."""

    pid: int


StartMessage = ProcessClaimed | Began | Done | Failed | Ready | StartFailed


class PipedProgress:
    """Sends progress to another process through a pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def begin(self, what: str) -> None:
        """A step started."""
        self.send(Began(what))

    def done(self, what: str, seconds: float) -> None:
        """The step completed."""
        self.send(Done(what, seconds))

    def failed(self, what: str) -> None:
        """The step failed."""
        self.send(Failed(what))

    def send(self, message: StartMessage) -> None:
        """Send a message; errors are ignored, the reader may have exited."""
        try:
            os.write(self._descriptor, msgspec.json.encode(message) + b"\n")
        except OSError:
            return

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._descriptor)


def pass_on(line: bytes, progress: ProgressReporter) -> StartMessage:
    """Decode a message of the other process; steps are reported."""
    message: StartMessage = msgspec.json.decode(line, type=StartMessage)
    match message:
        case Began():
            progress.begin(message.what)
        case Done():
            progress.done(message.what, message.seconds)
        case Failed():
            progress.failed(message.what)
    return message
