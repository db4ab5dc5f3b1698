"""Logs with kubectl's options, on files in the format of shims."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.virtual_time import VirtualClock
from kohort.embedded.runtimes.logs import LogQuery, LogReader, read_log, tail_for_message
from kohort.embedded.runtimes.process.shim.output import Log, Pipe
from kohort.embedded.server.subresources.logs import PodLogOptions

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def entry(text: str, second: int = 0, tag: str = "F", stream: str = "stdout") -> str:
    return f"2026-01-01T00:00:{second:02}.000000000Z {stream} {tag} {text}\n"


def write(directory: Path, *entries: str, name: str = "0.log") -> Path:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text("".join(entries))
    return directory / "0.log"


async def shown(path: Path, clock: VirtualClock | None = None, **options: Any) -> str:
    found = PodLogOptions("main", **options)
    pieces = [piece async for piece in read_log(path, found, clock or VirtualClock(NOW), lambda: False)]
    return b"".join(pieces).decode()


async def test_a_log_is_its_text(tmp_path: Path) -> None:
    path = write(tmp_path, entry("one"), entry("two", stream="stderr"))
    assert await shown(path) == "one\ntwo\n"


async def test_each_line_has_its_timestamp(tmp_path: Path) -> None:
    path = write(tmp_path, entry("on", tag="P"), entry("e"), entry("two", 3))
    assert await shown(path, timestamps=True) == (
        "2026-01-01T00:00:00.000000000Z one\n2026-01-01T00:00:03.000000000Z two\n"
    )


async def test_a_piece_without_its_end_stays_open(tmp_path: Path) -> None:
    assert await shown(write(tmp_path, entry("a"), entry("b", tag="P"))) == "a\nb"


async def test_the_file_that_was_put_aside_comes_first(tmp_path: Path) -> None:
    write(tmp_path, entry("one"), name="0.log.1")
    assert await shown(write(tmp_path, entry("two"))) == "one\ntwo\n"


async def test_the_last_lines_may_lie_in_both_files(tmp_path: Path) -> None:
    write(tmp_path, entry("one"), entry("two"), name="0.log.1")
    path = write(tmp_path, entry("th", tag="P"), entry("ree"))
    assert await shown(path, tail_lines=2) == "two\nthree\n"
    assert await shown(path, tail_lines=0) == ""
    assert await shown(path, tail_lines=9) == "one\ntwo\nthree\n"


async def test_since_a_time_or_for_so_many_seconds(tmp_path: Path) -> None:
    path = write(tmp_path, entry("one", 1), entry("two", 2), entry("three", 3))
    assert await shown(path, since_time=NOW + timedelta(seconds=2)) == "two\nthree\n"
    assert await shown(path, VirtualClock(NOW + timedelta(seconds=5)), since_seconds=2) == "three\n"


async def test_old_lines_do_not_hide_new_ones_behind_them(tmp_path: Path) -> None:
    path = write(tmp_path, *[entry("x" * 1000, 1)] * 1000, entry("new", 9))
    assert await shown(path, since_time=NOW + timedelta(seconds=9)) == "new\n"


async def test_no_more_bytes_than_requested(tmp_path: Path) -> None:
    path = write(tmp_path, *[entry("0123456789")] * 10)
    assert await shown(path, limit_bytes=15) == "0123456789\n0123"


async def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert await shown(tmp_path / "0.log") == ""


async def test_following_sees_what_comes_and_what_comes_after_a_rotation(tmp_path: Path) -> None:
    path, clock, alive = write(tmp_path, entry("one")), VirtualClock(NOW), [True]
    stream = read_log(path, PodLogOptions("main", follow=True), clock, lambda: alive[0])
    assert await anext(stream) == b"one\n"
    with path.open("a") as file:
        file.write(entry("two"))
    assert await anext(stream) == b"two\n"
    path.rename(tmp_path / "0.log.1")
    write(tmp_path, entry("three"))
    assert await anext(stream) == b"three\n"
    alive[0] = False
    assert await anext(stream, None) is None


def test_the_end_of_a_log_can_be_a_message(tmp_path: Path) -> None:
    path = write(tmp_path, *(entry(f"line {number}") for number in range(200)))
    text = tail_for_message(path, 80, 2048)
    assert text.startswith("line 120\n")
    assert text.endswith("line 199\n")


# Writing


def copied(directory: Path, data: bytes, size: int = 1 << 20, cuts: tuple[int, ...] = ()) -> Log:
    log = Log(str(directory), 0, size)
    read, write_end = os.pipe()
    os.set_blocking(read, False)
    pipe = Pipe(read, "stdout", log, 1 << 30)
    for start, stop in zip((0, *cuts), (*cuts, len(data)), strict=True):
        os.write(write_end, data[start:stop])
        pipe.copy()
    os.close(write_end)
    pipe.finish()
    log.close()
    return log


@given(st.lists(st.sampled_from([b"a", b"bc\n", b"\n", b"\xff\0", b"x" * 20000, b" F y"]), max_size=20), st.data())
def test_every_byte_comes_back(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("log")
    text = b"".join(parts)[:60000]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=3)))
    copied(directory, text, cuts=tuple(cuts))
    reader = LogReader(directory / "0.log", LogQuery())
    assert b"".join(iter(reader.piece, b"")) == text
    reader.close()


def test_no_file_grows_beyond_its_size(tmp_path: Path) -> None:
    log = Log(str(tmp_path), 0, 1000)
    for number in range(100):
        log.write(entry(f"line {number}").encode())
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.log", "0.log.1"]
    assert all(path.stat().st_size <= 1000 for path in tmp_path.iterdir())


def test_only_the_last_two_starts_keep_their_logs(tmp_path: Path) -> None:
    for attempt in range(4):
        Log(str(tmp_path), attempt, 1000).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.log", "3.log"]


@pytest.mark.parametrize(("text", "rests"), [(b"y\n" * 32768, True), (b"slow\n", False)])
def test_only_a_fast_writer_has_to_rest(tmp_path: Path, text: bytes, rests: bool) -> None:
    log = Log(str(tmp_path), 0, 1 << 20)
    read, write_end = os.pipe()
    os.set_blocking(read, False)
    pipe = Pipe(read, "stdout", log, 1 << 20)
    os.write(write_end, text)
    rest = pipe.copy()
    assert rest is not None
    assert (rest > 0.5) is rests
    os.close(write_end)
    pipe.finish()
    log.close()
