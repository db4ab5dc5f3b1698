"""A view that is redrawn on changes: on the alternate screen of a terminal, elsewhere as appended lines.

A picture is a function of the screen, so that it is rendered again for the new size of a resized terminal.
"""

import asyncio
import os
import signal
import sys
import termios
import tty
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, Protocol, TextIO

from kohort.terminal.screen import Screen, screen_of
from kohort.terminal.style import Role, can_draw, is_terminal

Picture = Callable[[Screen], Sequence[str]]
"""Renders the lines of a view for a screen; none is wider than the screen."""

QUIT: Final = frozenset(b"qQ\x03\x04")
_ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[?7l"
_LEAVE: Final = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_BEGIN: Final = "\x1b[?2026h\x1b[H"
_EMPTY: Final = "\x1b[2K"
_NEXT: Final = "\r\n"
_REST: Final = "\r\n\x1b[J"
_END: Final = "\x1b[?2026l"


class Live(Protocol):
    """An open view."""

    def show(self, picture: Picture) -> None:
        """Show this picture from now on; it is drawn at once, or when `pause` has passed since the last drawing."""
        ...


@dataclass(frozen=True, slots=True)
class LiveViewSettings:
    """Output and input streams of a view."""

    out: TextIO = field(default_factory=lambda: sys.stdout)
    keys: TextIO = field(default_factory=lambda: sys.stdin)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    pause: float = 0.1
    """Minimum number of seconds between two drawings."""

    def screen(self) -> Screen:
        """The current screen."""
        return screen_of(self.out, self.environment)


@asynccontextmanager
async def live(ended: asyncio.Event, settings: LiveViewSettings | None = None) -> AsyncIterator[Live]:
    """Shows a view until the context exits, and restores the terminal; `q` sets `ended`."""
    used = settings or LiveViewSettings()
    if not can_draw(used.out, used.environment):
        yield AppendedView(used)
        return
    drawn = ScreenView(used, asyncio.get_running_loop())
    with _raw_keys(used.keys), _keys(used.keys, ended), drawn.opened():
        yield drawn


class AppendedView:
    """A view for output that cannot be redrawn: appends the lines that the previous picture did not have."""

    def __init__(self, settings: LiveViewSettings) -> None:
        self._settings = settings
        self._last: frozenset[str] = frozenset()

    def show(self, picture: Picture) -> None:
        """Append the new lines."""
        lines = picture(self._settings.screen())
        for line in lines:
            if line not in self._last:
                self._settings.out.write(line + "\n")
        self._settings.out.flush()
        self._last = frozenset(lines)


class ScreenView:
    """A view on a terminal."""

    def __init__(self, settings: LiveViewSettings, loop: asyncio.AbstractEventLoop) -> None:
        self._settings = settings
        self._loop = loop
        self._picture: Picture = lambda _screen: ()
        self._due: asyncio.TimerHandle | None = None
        self._last = -settings.pause

    def show(self, picture: Picture) -> None:
        """Draw this picture as soon as `pause` has passed since the last drawing."""
        self._picture = picture
        if self._due is None:
            wait = max(0.0, self._last + self._settings.pause - self._loop.time())
            self._due = self._loop.call_later(wait, self._draw)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Uses the alternate screen and follows its size until the context exits; handles Ctrl-Z and continue."""
        followed = {
            signal.SIGWINCH: lambda: self.show(self._picture),
            signal.SIGTSTP: self._suspend,
            signal.SIGCONT: self._resume,
        }
        for number, handler in followed.items():
            self._loop.add_signal_handler(number, handler)
        self._write(_ENTER)
        try:
            yield
        finally:
            for number in followed:
                self._loop.remove_signal_handler(number)
            if self._due is not None:
                self._due.cancel()
            self._write(_LEAVE)

    def _suspend(self) -> None:
        self._write(_LEAVE)
        os.kill(os.getpid(), signal.SIGSTOP)

    def _resume(self) -> None:
        self._write(_ENTER)
        self.show(self._picture)

    def _draw(self) -> None:
        self._due = None
        self._last = self._loop.time()
        screen = self._settings.screen()
        self._write(frame(fitting(self._picture(screen), screen), screen))

    def _write(self, text: str) -> None:
        self._settings.out.write(text)
        self._settings.out.flush()


def frame(lines: Sequence[str], screen: Screen) -> str:
    """The output that draws these lines over the previous frame.

    A line is cleared before it is written: after one that fills the screen, the cursor is still on its last character.
    """
    rest = _REST if len(lines) < (screen.height or 0) else ""
    return _BEGIN + _NEXT.join(_EMPTY + line for line in lines) + rest + _END


async def until_worth_drawing(ended: asyncio.Event, changed: asyncio.Event, pause: float, longest: float) -> None:
    """Wait for the pause, then for a change or until displayed ages are outdated (`longest`); `ended` ends the wait."""
    with suppress(TimeoutError):
        await asyncio.wait_for(ended.wait(), pause)
    waits = [asyncio.create_task(ended.wait()), asyncio.create_task(changed.wait())]
    await asyncio.wait(waits, timeout=longest, return_when=asyncio.FIRST_COMPLETED)
    for each in waits:
        each.cancel()


def fitting(lines: Sequence[str], screen: Screen) -> Sequence[str]:
    """As many lines as the screen has; the last one counts those left out."""
    height = screen.height or len(lines)
    if len(lines) <= height:
        return lines
    rest = len(lines) - height + 1
    return [*lines[: height - 1], screen.style.paint(f"{screen.glyphs.ellipsis} {rest} more lines", Role.DIM)]


@contextmanager
def _raw_keys(keys: TextIO) -> Iterator[None]:
    """Reads keys unbuffered and without echo until the context exits; Ctrl-C stays a signal."""
    if not is_terminal(keys):
        yield
        return
    before = termios.tcgetattr(keys)
    tty.setcbreak(keys)
    try:
        yield
    finally:
        termios.tcsetattr(keys, termios.TCSADRAIN, before)


@contextmanager
def _keys(keys: TextIO, ended: asyncio.Event) -> Iterator[None]:
    """Handles the keys that end a view until the context exits."""
    if not is_terminal(keys):
        yield
        return
    loop = asyncio.get_running_loop()

    def pressed() -> None:
        got = os.read(keys.fileno(), 64)
        if not got or QUIT & set(got):
            ended.set()
            loop.remove_reader(keys)

    loop.add_reader(keys, pressed)
    try:
        yield
    finally:
        loop.remove_reader(keys)
