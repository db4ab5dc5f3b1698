"""Reads the log files that a shim writes: the last lines, since a time, with timestamps, or followed.

Reading happens in a thread and in pieces, so that no log holds up the event loop or fills the memory.
"""

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock

from kohort.embedded.runtimes.job_files import open_regular
from kohort.embedded.server.subresources.logs import PodLogOptions
from kohort.kube.clock import Clock

PIECE = 256 * 1024
POLL = 0.1
"""Seconds between two reads of a followed log."""
MAX_LINE_BYTES = 1 << 20
"""Bytes without a line end after which a file is not considered a log of a shim, whose lines are shorter."""
TAIL_BYTES = 64 << 20
"""Bytes at the end of a file that are searched for its last lines."""
TAIL_MESSAGE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class LogQuery:
    """The requested part of a log."""

    since: bytes = b""
    tail: int | None = None
    limit: int | None = None
    tail_bytes: int = TAIL_BYTES
    stamps: bytes = b""
    """Separator between timestamp and text; empty without timestamps."""

    @classmethod
    def by(cls, options: PodLogOptions, now: datetime) -> "LogQuery":
        """Converts log options."""
        moment = options.since_time
        if options.since_seconds is not None:
            moment = now - timedelta(seconds=min(options.since_seconds, 10**9))
        since = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f").encode() if moment else b""
        return cls(since, options.tail_lines, options.limit_bytes, stamps=b" " if options.timestamps else b"")


class LogReader:
    """A read position in the log of one container start."""

    def __init__(self, path: Path, wanted: LogQuery) -> None:
        self._lock = Lock()
        self._closed = False
        self._path = path
        self._wanted = wanted
        self._left = wanted.limit
        self._fresh_line = True
        self._pending = b""
        self._current = _open(path)
        older = _open(path.with_name(path.name + ".1"))
        if older is not None and self._current is not None and _same(older, self._current):
            os.close(older)
            older = None
        self._old = older
        self._began = wanted.tail is None
        if not self._began:
            self._skip_all_but_the_end()

    def piece(self) -> bytes:
        """The next part of the requested log; empty if nothing more is available now."""
        with self._lock:
            out = self._rest_or_tail()
        if self._left is not None:
            out = out[: self._left]
            self._left -= len(out)
        return out

    @property
    def full(self) -> bool:
        """Whether limitBytes is reached."""
        return self._left == 0

    def close(self) -> None:
        """Closes the files; waits for a read in progress in another thread."""
        with self._lock:
            self._give_up()

    def _skip_all_but_the_end(self) -> None:
        for fd in (self._old, self._current):
            if fd is not None:
                os.lseek(fd, max(0, os.fstat(fd).st_size - self._wanted.tail_bytes), os.SEEK_SET)

    def _rest_or_tail(self) -> bytes:
        if not self._began:
            self._began = True
            return b"".join(self._tail())
        while (batch := self._batch()) is not None:
            if batch:
                return b"".join(map(self._shown, batch))
        return b""

    def _tail(self) -> Iterator[bytes]:
        """The last lines; a partial entry belongs to the line that follows it."""
        lines: deque[list[bytes]] = deque(maxlen=self._wanted.tail or 0)
        line: list[bytes] = []
        while (batch := self._batch()) is not None:
            for entry in batch:
                line.append(entry)
                if _is_whole(entry):
                    lines.append(line)
                    line = []
        if line:
            lines.append(line)
        for each in lines:
            yield from map(self._shown, each)

    def _batch(self) -> list[bytes] | None:
        """The selected entries of one read: of the rotated file first, then the current one and its successors."""
        data = b"" if self._closed else self._read()
        if not data:
            return None
        *lines, self._pending = (self._pending + data).split(b"\n")
        if len(self._pending) > MAX_LINE_BYTES:
            self._give_up()
            return None
        return [line for line in lines if line >= self._wanted.since]

    def _give_up(self) -> None:
        """Stops reading: the file was not written by a shim."""
        for fd in (self._old, self._current):
            if fd is not None:
                os.close(fd)
        self._old = self._current = None
        self._closed, self._pending = True, b""

    def _read(self) -> bytes:
        if self._old is not None:
            data = os.read(self._old, PIECE)
            if data:
                return data
            os.close(self._old)
            self._old = None
        if self._current is None:
            self._current = _open(self._path)
        if self._current is None:
            return b""
        return os.read(self._current, PIECE) or self._successor()

    def _successor(self) -> bytes:
        """Switches to the file written after rotation, if any."""
        following = _open(self._path)
        if following is None or self._current is None:
            return b""
        if _same(following, self._current):
            os.close(following)
            return b""
        rest = os.read(self._current, PIECE)
        if rest:
            os.close(following)
            return rest
        os.close(self._current)
        self._current = following
        return os.read(following, PIECE)

    def _shown(self, entry: bytes) -> bytes:
        stamp, _, rest = entry.partition(b" ")
        _, _, rest = rest.partition(b" ")
        tag, _, text = rest.partition(b" ")
        head = stamp + self._wanted.stamps if self._wanted.stamps and self._fresh_line else b""
        self._fresh_line = tag == b"F"
        return head + text + (b"\n" if self._fresh_line else b"")


async def read_log(path: Path, options: PodLogOptions, clock: Clock, alive: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Streams a log; when followed, until its container terminates."""
    reader = await asyncio.to_thread(LogReader, path, LogQuery.by(options, clock.wall()))
    try:
        while True:
            still = options.follow and alive()
            piece = await asyncio.to_thread(reader.piece)
            if piece:
                yield piece
            if reader.full or (not piece and not still):
                return
            if not piece:
                await clock.sleep(POLL)
    finally:
        reader.close()


def tail_for_message(path: Path, lines: int, size: int) -> str:
    """The end of a log, for the termination message of a failed container."""
    reader = LogReader(path, LogQuery(tail=lines, tail_bytes=TAIL_MESSAGE_BYTES))
    try:
        return reader.piece()[-size:].decode(errors="replace")
    finally:
        reader.close()


def _is_whole(entry: bytes) -> bool:
    return entry.split(b" ", 3)[2:3] == [b"F"]


def _open(path: Path) -> int | None:
    """Opens a log file; None if it is missing or not a regular file."""
    try:
        return open_regular(path)
    except OSError:
        return None


def _same(one: int, other: int) -> bool:
    first, second = os.fstat(one), os.fstat(other)
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
