"""Parses one response from any fragments: head, then a body by length, in chunks, or until the connection closes.

It works on whole packets with searches that run in C. Anything that does not strictly conform to HTTP/1.1 is rejected,
and everything is bounded, because the peer is not trusted.
"""

import re
from collections.abc import Callable, Sequence

from kohort.kube.http1.errors import ConnectionClosedError, MalformedError
from kohort.kube.http1.headers import ResponseHeaders

MAX_HEAD = 64 * 1024
"""Maximum bytes of a head including interim responses, and of the trailer of a chunked body."""
MAX_SIZE_LINE = 256
MAX_SIZE = 2**40

_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: ([^\r\n\0]*))?\r\n")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n\0]*)?")
_NO_FIELDS = ResponseHeaders(b"")


class Parser:
    """Parser of one response."""

    __slots__ = (
        "_heads",
        "_left",
        "_method",
        "_rest",
        "_take",
        "ends",
        "fields",
        "length",
        "parts",
        "reason",
        "status",
    )

    def __init__(self, method: str) -> None:
        self.status = 0
        """The HTTP status; 0 until the head is complete."""
        self.reason = ""
        self.fields = _NO_FIELDS
        self.length: int | None = None
        """The length of the body, if the head contains it."""
        self.ends = False
        """Whether the server closes the connection after this response."""
        self.parts: list[bytes] = []
        """Received parts of the body; the reader empties the list."""
        self._method = method
        self._heads = 0
        self._left = 0
        self._rest = b""
        self._take: Callable[[Parser, bytes, int], int] | None = Parser._take_head

    @property
    def is_done(self) -> bool:
        """Whether the response is complete."""
        return self._take is None

    def feed(self, data: bytes) -> bytes:
        """Parse received data; returns what follows the response. Raises MalformedError."""
        if self._rest:
            data = self._rest + data
            self._rest = b""
        at = 0
        while at < len(data) and (take := self._take) is not None:
            after = take(self, data, at)
            if after == at and self._take is take:
                self._rest = data[at:]
                return b""
            at = after
        return data[at:]

    def feed_end(self) -> None:
        """The connection closed; raises ConnectionClosedError if the response is incomplete."""
        if self._take is Parser._take_all:
            self._take = None
        if self._take is not None:
            raise ConnectionClosedError("Server disconnected")

    # Each of these parses from an offset and returns the next offset; the same one if more data is needed

    def _take_head(self, data: bytes, at: int) -> int:
        end = data.find(b"\r\n\r\n", at)
        seen = (end if end >= 0 else len(data)) - at
        if self._heads + seen > MAX_HEAD:
            raise MalformedError(f"head exceeds {MAX_HEAD} bytes")
        line = _STATUS.match(data, at)
        if end < 0 or line is None:
            if end >= 0 or not b"HTTP/1.".startswith(data[at : at + 7]):
                raise MalformedError("not an HTTP/1.1 response")
            return at
        self._heads += seen
        self._read_head(line, ResponseHeaders(data[line.end() : end + 2]))
        return end + 4

    def _read_head(self, line: re.Match[bytes], fields: ResponseHeaders) -> None:
        status = int(line[2])
        if status < 200:
            if status == 101:
                raise MalformedError("unexpected protocol upgrade")
            return
        self.status, self.fields = status, fields
        self.reason = (line[3] or b"").decode("latin-1")
        self._frame(is_new=line[1] == b"1")

    def _frame(self, *, is_new: bool) -> None:
        """Determine how the body ends, and whether the connection closes after it."""
        fields = self.fields
        coding, lengths = fields.all(b"\r\ntransfer-encoding:"), fields.all(b"\r\ncontent-length:")
        self.ends = not is_new or "close" in _tokens(fields.all(b"\r\nconnection:"))
        if self._method == "CONNECT" and self.status < 300:
            self.ends, self._take = False, None
        elif self._method == "HEAD" or self.status in (204, 304):
            self._take = None
        elif coding:
            if lengths or not is_new or _tokens(coding) != ["chunked"]:
                raise MalformedError("ambiguous body length")
            self._take = Parser._take_chunks
        elif lengths:
            self.length = self._left = _length(lengths)
            self._take = Parser._take_length if self._left else None
        else:
            self.ends = True
            self._take = Parser._take_all

    def _take_all(self, data: bytes, at: int) -> int:
        self.parts.append(data[at:])
        return len(data)

    def _take_length(self, data: bytes, at: int) -> int:
        part = data[at : at + self._left]
        self.parts.append(part)
        self._left -= len(part)
        if not self._left:
            self._take = None
        return at + len(part)

    def _take_chunks(self, data: bytes, at: int) -> int:
        """Parse all complete chunks; an incomplete one is left to `_take_chunk`."""
        while (line_end := data.find(b"\r\n", at, at + MAX_SIZE_LINE)) >= 0:
            size, begin = _size(data[at:line_end]), line_end + 2
            if not size:
                self._take = Parser._take_trailer
                return begin
            at = begin + size + 2
            if at > len(data):
                self._left, self._take = size, Parser._take_chunk
                return begin
            if data[at - 2 : at] != b"\r\n":
                raise MalformedError("invalid chunk end")
            self.parts.append(data[begin : at - 2])
        if len(data) - at >= MAX_SIZE_LINE:
            raise MalformedError("invalid chunk size")
        return at

    def _take_chunk(self, data: bytes, at: int) -> int:
        part = data[at : at + self._left]
        self.parts.append(part)
        self._left -= len(part)
        if not self._left:
            self._take = Parser._take_chunk_end
        return at + len(part)

    def _take_chunk_end(self, data: bytes, at: int) -> int:
        if not b"\r\n".startswith(data[at : at + 2]):
            raise MalformedError("invalid chunk end")
        if len(data) - at < 2:
            return at
        self._take = Parser._take_chunks
        return at + 2

    def _take_trailer(self, data: bytes, at: int) -> int:
        """Skip the trailer."""
        if data.startswith(b"\r\n", at):
            self._take = None
            return at + 2
        end = data.find(b"\r\n\r\n", at)
        if (end if end >= 0 else len(data)) - at > MAX_HEAD:
            raise MalformedError(f"trailer exceeds {MAX_HEAD} bytes")
        if end < 0:
            return at
        ResponseHeaders(data[at : end + 2])
        self._take = None
        return end + 4


def _tokens(values: Sequence[str]) -> list[str]:
    return [token.strip(" \t").lower() for value in values for token in value.split(",")]


def _length(values: Sequence[str]) -> int:
    first = values[0]
    if any(value != first for value in values) or not (first.isascii() and first.isdigit()) or len(first) > 15:
        raise MalformedError("invalid Content-Length")
    return _bounded(int(first))


def _size(line: bytes) -> int:
    found = _SIZE.fullmatch(line)
    if found is None:
        raise MalformedError("invalid chunk size")
    return _bounded(int(found[1], 16))


def _bounded(size: int) -> int:
    if size > MAX_SIZE:
        raise MalformedError(f"body exceeds {MAX_SIZE} bytes")
    return size
