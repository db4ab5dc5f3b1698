"""A live view draws what is new, follows the terminal's size, ends by a key, and restores the terminal."""

import asyncio
import fcntl
import io
import os
import pty
import signal
import struct
import termios
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from kohort.terminal.live import Live, LiveViewSettings, fitting, frame, live
from kohort.terminal.screen import Screen

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


@dataclass
class PseudoTerminal:
    """A terminal of which the test holds the far end."""

    far: int
    place: LiveViewSettings

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.far, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: bytes) -> None:
        os.write(self.far, keys)

    def modes(self) -> list[object]:
        return termios.tcgetattr(self.place.keys)

    async def shown(self, text: str) -> str:
        """All that was drawn until this text came."""
        seen = ""
        async with asyncio.timeout(60):
            while text not in seen:
                await self._readable()
                seen += os.read(self.far, 65536).decode()
        return seen

    async def _readable(self) -> None:
        """Wait without a thread, which could not be cancelled."""
        ready, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_reader(self.far, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self.far)


@pytest.fixture
def terminal() -> Iterator[PseudoTerminal]:
    far, near = pty.openpty()
    with (
        open(near, "r+b", buffering=0) as both,
        io.TextIOWrapper(both, encoding="utf-8", write_through=True) as stream,
    ):
        made = PseudoTerminal(far, LiveViewSettings(stream, stream, {"TERM": "xterm"}, pause=0.0))
        made.resize(40, 10)
        yield made
    os.close(far)


def of_size(screen: Screen) -> list[str]:
    return [f"{screen.width} by {screen.height}"]


async def test_a_picture_is_drawn_on_the_alternate_screen_and_the_terminal_restored(terminal: PseudoTerminal) -> None:
    before = terminal.modes()
    async with live(asyncio.Event(), terminal.place) as view:
        view.show(of_size)
        assert ENTER in await terminal.shown("40 by 10")
        assert terminal.modes() != before
    await terminal.shown(LEAVE)
    assert terminal.modes() == before


async def test_the_terminal_is_restored_after_a_failure_too(terminal: PseudoTerminal) -> None:
    before = terminal.modes()
    with pytest.raises(ZeroDivisionError):
        async with live(asyncio.Event(), terminal.place):
            raise ZeroDivisionError
    await terminal.shown(LEAVE)
    assert terminal.modes() == before


async def test_a_resized_terminal_gets_a_picture_of_its_size(terminal: PseudoTerminal) -> None:
    async with live(asyncio.Event(), terminal.place) as view:
        view.show(of_size)
        await terminal.shown("40 by 10")
        terminal.resize(60, 20)
        os.kill(os.getpid(), signal.SIGWINCH)
        await terminal.shown("60 by 20")


async def test_q_ends_the_view(terminal: PseudoTerminal) -> None:
    ended = asyncio.Event()
    async with live(ended, terminal.place):
        terminal.press(b"xq")
        async with asyncio.timeout(60):
            await ended.wait()


async def test_other_keys_do_not(terminal: PseudoTerminal) -> None:
    ended = asyncio.Event()
    async with live(ended, terminal.place) as view:
        terminal.press(b"x")
        view.show(of_size)
        await terminal.shown("40 by 10")
        assert not ended.is_set()


async def test_pictures_that_follow_each_other_fast_are_drawn_once(terminal: PseudoTerminal) -> None:
    async with live(asyncio.Event(), terminal.place) as view:
        for number in range(5):
            view.show(lambda _screen, number=number: [f"picture {number}"])  # type: ignore[misc]
        assert "picture 3" not in await terminal.shown("picture 4")


def appended(view: Live, *pictures: list[str]) -> None:
    for picture in pictures:
        view.show(lambda _screen, lines=picture: lines)  # type: ignore[misc]


async def test_a_terminal_that_can_not_be_drawn_on_gets_lines(terminal: PseudoTerminal) -> None:
    before = terminal.modes()
    async with live(asyncio.Event(), replace(terminal.place, environment={"TERM": "dumb"})) as view:
        appended(view, ["NAME", "a 1"], ["NAME", "a 2"])
        assert "\x1b" not in await terminal.shown("a 2")
        assert terminal.modes() == before


async def test_in_a_file_only_new_lines_are_added() -> None:
    out = io.StringIO()
    async with live(asyncio.Event(), LiveViewSettings(out, io.StringIO(), {})) as view:
        appended(view, ["NAME", "a 1"], ["NAME", "a 1", "b 1"], ["NAME", "a 2", "b 1"])
    assert out.getvalue() == "NAME\na 1\nb 1\na 2\n"


def test_what_does_not_fit_is_counted() -> None:
    assert fitting(["a", "b", "c", "d"], Screen(80, 3)) == ["a", "b", "... 2 more lines"]
    assert fitting(["a", "b", "c"], Screen(80, 3)) == ["a", "b", "c"]


def test_nothing_is_erased_behind_a_line_that_fills_the_screen() -> None:
    drawn = frame(["x" * 10, "y" * 10], Screen(10, 2))
    assert "\x1b[2K" + "y" * 10 + "\x1b[?2026l" in drawn
    assert "\x1b[J" not in drawn
    assert "\r\n\x1b[J" in frame(["x" * 10], Screen(10, 2))
