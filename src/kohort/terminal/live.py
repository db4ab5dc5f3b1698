"""A view that is drawn anew when something changed: on the alternate screen of a terminal, as added lines elsewhere.

What is shown is a function of the screen, so that a resized terminal gets a picture made for its new size.
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
"""The lines that show something on a screen; none longer than it is wide."""

QUIT: Final = frozenset(b"qQ\x03\x04")
_ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[?7l"
_LEAVE: Final = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_BEGIN: Final = "\x1b[?2026h\x1b[H"
_EMPTY: Final = "\x1b[2K"
_NEXT: Final = "\r\n"
_REST: Final = "\r\n\x1b[J"
_END: Final = "\x1b[?2026l"


class Live(Protocol):
    """A view that is open."""

    def show(self, picture: Picture) -> None:
        """Have this shown from now on; drawn at once, or when the last drawing is long enough ago."""
        ...


@dataclass(frozen=True, slots=True)
class LiveViewSettings:
    """Where a view is drawn and where keys come from."""

    out: TextIO = field(default_factory=lambda: sys.stdout)
    keys: TextIO = field(default_factory=lambda: sys.stdin)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    pause: float = 0.1
    """Seconds between two drawings, at least."""

    def screen(self) -> Screen:
        """The screen as it is now."""
        return screen_of(self.out, self.environment)


@asynccontextmanager
async def live(ended: asyncio.Event, place: LiveViewSettings | None = None) -> AsyncIterator[Live]:
    """A view until the block ends; `q` sets `ended`, and the terminal is as it was whatever happens."""
    where = place or LiveViewSettings()
    if not can_draw(where.out, where.environment):
        yield AppendedView(where)
        return
    drawn = ScreenView(where, asyncio.get_running_loop())
    with _raw_keys(where.keys), _keys(where.keys, ended), drawn.opened():
        yield drawn


class AppendedView:
    """A view where nothing can be drawn over: lines that the picture before did not have, one after another."""

    def __init__(self, place: LiveViewSettings) -> None:
        self._place = place
        self._last: frozenset[str] = frozenset()

    def show(self, picture: Picture) -> None:
        """Add what is new."""
        lines = picture(self._place.screen())
        for line in lines:
            if line not in self._last:
                self._place.out.write(line + "\n")
        self._place.out.flush()
        self._last = frozenset(lines)


class ScreenView:
    """A view on a terminal."""

    def __init__(self, place: LiveViewSettings, loop: asyncio.AbstractEventLoop) -> None:
        self._place = place
        self._loop = loop
        self._picture: Picture = lambda _screen: ()
        self._due: asyncio.TimerHandle | None = None
        self._last = -place.pause

    def show(self, picture: Picture) -> None:
        """Draw this, now or as soon as the pause is over."""
        self._picture = picture
        if self._due is None:
            wait = max(0.0, self._last + self._place.pause - self._loop.time())
            self._due = self._loop.call_later(wait, self._draw)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """On the alternate screen, following its size; also when stopped (Ctrl-Z) and continued."""
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
        screen = self._place.screen()
        self._write(frame(fitting(self._picture(screen), screen), screen))

    def _write(self, text: str) -> None:
        self._place.out.write(text)
        self._place.out.flush()


def frame(lines: Sequence[str], screen: Screen) -> str:
    """What draws these lines over whatever stood there.

    A line is emptied before it is written: behind one that fills the screen, the cursor stands on its last character.
    """
    rest = _REST if len(lines) < (screen.height or 0) else ""
    return _BEGIN + _NEXT.join(_EMPTY + line for line in lines) + rest + _END


async def until_worth_drawing(ended: asyncio.Event, changed: asyncio.Event, pause: float, longest: float) -> None:
    """Wait for a pause and then for a change, but not for longer than ages stay true; the end ends any wait."""
    with suppress(TimeoutError):
        await asyncio.wait_for(ended.wait(), pause)
    waits = [asyncio.create_task(ended.wait()), asyncio.create_task(changed.wait())]
    await asyncio.wait(waits, timeout=longest, return_when=asyncio.FIRST_COMPLETED)
    for each in waits:
        each.cancel()


def fitting(lines: Sequence[str], screen: Screen) -> Sequence[str]:
    """As many lines as the screen has, the last one saying how many more there are."""
    height = screen.height or len(lines)
    if len(lines) <= height:
        return lines
    rest = len(lines) - height + 1
    return [*lines[: height - 1], screen.style.paint(f"{screen.glyphs.ellipsis} {rest} more lines", Role.DIM)]


@contextmanager
def _raw_keys(keys: TextIO) -> Iterator[None]:
    """Keys as they are pressed and not shown; Ctrl-C stays a signal."""
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
    """Listen for the keys that end a view."""
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
