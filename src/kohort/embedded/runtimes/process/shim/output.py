"""What containers print, on disk: one stamped line per line, in files of bounded size.

A line is `2026-01-31T12:00:00.123456789Z stdout F text`; P instead of F marks a piece without its end. Stamps are taken
per read, not per line, so that copying costs little; a container that prints too fast is slowed down by its full pipe.
"""

import os
import time

CHUNK = 65536
LONGEST_PIECE = 16384
CPU_SHARE = 0.25
"""The most of one core that copying a stream may take in the long run."""
BURST = 0.5
"""Seconds of copying that a stream may be ahead of its rate before it has to rest."""
KEPT_ATTEMPTS = 2
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Log:
    """The output of one start of a container."""

    def __init__(self, directory: str, attempt: int, size: int) -> None:
        os.makedirs(directory, 0o700, exist_ok=True)
        self._path = f"{directory}/{attempt}.log"
        self._limit = size
        self._written = 0
        self._file = self._open()
        _forget_before(directory, attempt - KEPT_ATTEMPTS + 1)

    def write(self, data: bytes) -> None:
        """Append whole lines; what a full disk does not take is lost, and the container goes on."""
        try:
            if self._written and self._written + len(data) > self._limit:
                self._rotate()
            os.write(self._file, data)
            self._written += len(data)
        except OSError:
            return

    def close(self) -> None:
        """Done."""
        os.close(self._file)

    def _open(self) -> int:
        return os.open(self._path, _FLAGS, 0o600)

    def _rotate(self) -> None:
        os.replace(self._path, f"{self._path}.1")
        os.close(self._file)
        self._file = self._open()
        self._written = 0


class Pipe:
    """One stream of a container, on its way into the log."""

    def __init__(self, fd: int, name: str, log: Log, rate: int) -> None:
        self.fd = fd
        self._tag = name.encode()
        self._log = log
        self._rate = rate
        self._rest = b""
        self._paid_until = 0.0
        """When what was copied so far would be done at the pace that is allowed."""

    def copy(self) -> float | None:
        """Copy what is there; the seconds to rest before the next time, or None when the stream has ended."""
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
        """Copy what is left in the pipe of a container that has ended, and close it."""
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
        while len(self._rest) >= LONGEST_PIECE:
            piece, self._rest = self._rest[:LONGEST_PIECE], self._rest[LONGEST_PIECE:]
            out += b"%s %s P %s\n" % (stamp(), self._tag, piece)
        if out:
            self._log.write(out)
        return len(out)


def stamp() -> bytes:
    """Now, to the nanosecond."""
    seconds, nanos = divmod(time.time_ns(), 10**9)
    return b"%s.%09dZ" % (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode(), nanos)


def _forget_before(directory: str, attempt: int) -> None:
    for name in os.listdir(directory):
        number = name.partition(".")[0]
        if number.isdigit() and int(number) < attempt:
            os.unlink(f"{directory}/{name}")
