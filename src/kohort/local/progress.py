"""The steps of a start, told as they happen: with a tick and a time on a terminal, not at all in a pipe."""

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
    """Somebody who wants to know how far a start is."""

    def begin(self, what: str) -> None:
        """A step begins."""
        ...

    def done(self, what: str, seconds: float) -> None:
        """It is over."""
        ...

    def failed(self, what: str) -> None:
        """It came to nothing; the error says why."""
        ...


@contextmanager
def step(progress: ProgressReporter, what: str) -> Iterator[None]:
    """Tell of a step from its beginning to its end."""
    progress.begin(what)
    began = time.monotonic()
    try:
        yield
    except BaseException:
        progress.failed(what)
        raise
    progress.done(what, time.monotonic() - began)


class SilentProgress:
    """For those who want the outcome only."""

    def begin(self, what: str) -> None:
        """Say nothing."""

    def done(self, what: str, seconds: float) -> None:
        """Say nothing."""

    def failed(self, what: str) -> None:
        """Say nothing."""


class TerminalProgress:
    """One line a step on a terminal."""

    def __init__(self, stream: TextIO, screen: Screen) -> None:
        self._stream = stream
        self._screen = screen

    def begin(self, what: str) -> None:
        """A line that is still open."""
        self._line(self._screen.glyphs.dot, Role.DIM, what, self._screen.glyphs.ellipsis)

    def done(self, what: str, seconds: float) -> None:
        """The line, ticked off."""
        self._line(self._screen.glyphs.tick, Role.GOOD, what, f"{seconds:.1f}s")
        self._stream.write("\n")
        self._stream.flush()

    def failed(self, what: str) -> None:
        """The line, crossed out."""
        self._line(self._screen.glyphs.cross, Role.BAD, what, "")
        self._stream.write("\n")
        self._stream.flush()

    def _line(self, sign: str, role: Role, what: str, end: str) -> None:
        room = min(_WIDTH, self._screen.width_or(_WIDTH) - 12)
        text = cut(what, max(room, 8), self._screen.glyphs.ellipsis)
        gap = " " * (max(room, 8) - columns(text))
        style = self._screen.style
        self._stream.write(f"\r{style.paint(sign, role)} {text}{gap}  {style.paint(f'{end:>5}', Role.DIM)}")
        self._stream.flush()


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """A cluster that answers, as far as people are told about it."""

    url: str
    kubeconfig: str
    context: str
    nodes: str
    """What there is to run pods on."""
    farewell: str
    """What becomes of pods when it stops."""
    before: tuple[str, ...] = ()
    """What there is to say of the last run."""
    starter: tuple[str, ...] | None = None
    """Kinds of starter objects that were made now; None where nobody asked for any."""
    has_queues: bool = True
    """Whether there is a queue to send jobs to."""
    again: str = ""
    """The command that starts it again."""
    shared: str = ""
    """The kubeconfig of kubectl that has it too."""
    is_current: bool = False
    """Whether its context is the current one there."""
    needs_context: bool = False
    """Whether a command that names no context would go to another cluster."""
    previous: str = ""
    """The context that was current before."""
    warnings: tuple[str, ...] = ()
    log: str = ""
    """Where everything else is told; empty where it is not kept."""


class Began(msgspec.Struct, frozen=True, tag="began"):
    """A step began."""

    what: str


class Done(msgspec.Struct, frozen=True, tag="done"):
    """A step is over."""

    what: str
    seconds: float


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """A step came to nothing."""

    what: str


class Problem(msgspec.Struct, frozen=True, tag="problem"):
    """There will be no cluster."""

    why: str
    exit_code: int


class ProcessClaimed(msgspec.Struct, frozen=True, tag="claimed"):
    """The process that starts."""

    pid: int


Message = ProcessClaimed | Began | Done | Failed | Ready | Problem


class PipedProgress:
    """Told to another process, through a pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def begin(self, what: str) -> None:
        """A step begins."""
        self.tell(Began(what))

    def done(self, what: str, seconds: float) -> None:
        """It is over."""
        self.tell(Done(what, seconds))

    def failed(self, what: str) -> None:
        """It came to nothing."""
        self.tell(Failed(what))

    def tell(self, message: Message) -> None:
        """Pass it on; nobody may be listening any more."""
        try:
            os.write(self._descriptor, msgspec.json.encode(message) + b"\n")
        except OSError:
            return

    def close(self) -> None:
        """There is no more to tell."""
        os.close(self._descriptor)


def pass_on(line: bytes, progress: ProgressReporter) -> Message:
    """What the other process said; steps are told to those who want to know."""
    message: Message = msgspec.json.decode(line, type=Message)
    match message:
        case Began():
            progress.begin(message.what)
        case Done():
            progress.done(message.what, message.seconds)
        case Failed():
            progress.failed(message.what)
    return message
