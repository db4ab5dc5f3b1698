"""Container logs on disk: timestamped lines in files of bounded size.

A line is `2026-01-31T12:00:00.123456789Z stdout F text`; P instead of F marks a partial line. Timestamps are taken per
read, not per line, which makes copying cheap; a container that prints too fast is throttled by its full pipe.
"""

import os
import time

CHUNK = 65536
MAX_PIECE_BYTES = 16384
CPU_SHARE = 0.25
"""Maximum long-term share of a core for copying a stream."""
BURST = 0.5
"""Seconds of copying that a stream may exceed its rate before it is throttled."""
KEPT_ATTEMPTS = 2
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Log:
    """The output of one container start."""

    def __init__(self, directory: str, attempt: int, size: int) -> None:
        os.makedirs(directory, 0o700, exist_ok=True)
        self._path = f"{directory}/{attempt}.log"
        self._limit = size
        self._written = 0
        self._file = self._open()
        _forget_before(directory, attempt - KEPT_ATTEMPTS + 1)

    def write(self, data: bytes) -> None:
        """Appends whole lines; on a full disk they are lost, and the container continues."""
        try:
            if self._written and self._written + len(data) > self._limit:
                self._rotate()
            os.write(self._file, data)
            self._written += len(data)
        except OSError:
            return

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)

    def _open(self) -> int:
        return os.open(self._path, _FLAGS, 0o600)

    def _rotate(self) -> None:
        os.replace(self._path, f"{self._path}.1")
        os.close(self._file)
        self._file = self._open()
        self._written = 0


class Pipe:
    """One stream of a container."""

    def __init__(self, fd: int, name: str, log: Log, rate: int) -> None:
        self.fd = fd
        self._tag = name.encode()
        self._log = log
        self._rate = rate
        self._rest = b""
        self._paid_until = 0.0
        """When the copied amount is within the allowed rate."""

    def copy(self) -> float | None:
        """Copies available data; returns the seconds to pause, or None at the end of the stream."""
        began = time.monotonic()
        try:
            data = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return 0.0
        if not data:
            return None
        written = self._feed(data)
        now = time.monotonic()
        self._paid_until = max(self._paid_until, began) + max((now - began) / CPU_SHARE, written / self._rate)
        return max(0.0, self._paid_until - now - BURST)

    def finish(self) -> None:
        """Copies the rest of the pipe of a terminated container and closes it."""
        for _ in range(64):
            try:
                data = os.read(self.fd, CHUNK)
            except BlockingIOError:
                break
            if not data:
                break
            self._feed(data)
        if self._rest:
            self._log.write(b"%s %s P %s\n" % (stamp(), self._tag, self._rest))
        os.close(self.fd)

    def _feed(self, data: bytes) -> int:
        text = self._rest + data
        cut = text.rfind(b"\n") + 1
        head = b"%s %s F " % (stamp(), self._tag)
        out = head + text[: cut - 1].replace(b"\n", b"\n" + head) + b"\n" if cut else b""
        self._rest = text[cut:]
        while len(self._rest) >= MAX_PIECE_BYTES:
            piece, self._rest = self._rest[:MAX_PIECE_BYTES], self._rest[MAX_PIECE_BYTES:]
            out += b"%s %s P %s\n" % (stamp(), self._tag, piece)
        if out:
            self._log.write(out)
        return len(out)


def stamp() -> bytes:
    """The current time with nanoseconds."""
    seconds, nanos = divmod(time.time_ns(), 10**9)
    return b"%s.%09dZ" % (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode(), nanos)


def _forget_before(directory: str, attempt: int) -> None:
    for name in os.listdir(directory):
        number = name.partition(".")[0]
        if number.isdigit() and int(number) < attempt:
            os.unlink(f"{directory}/{name}")
