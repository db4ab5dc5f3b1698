"""Encodes requests. Constant headers are encoded once per identity, other sets of headers once each.

No argument can end a line: a name or token with a line break must not add a header.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from kohort.kube.http1.headers import Headers

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NO_VALUE = re.compile(r"[\r\n\0]")
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection"})
"""Headers that only the encoder sets."""
_BODILESS = frozenset({"GET", "HEAD"})


class RequestTemplate:
    """The parts that all requests to one server with one identity have in common."""

    __slots__ = ("_fixed", "_prefix")

    def __init__(self, prefix: str, host: str, identity: Headers) -> None:
        """`prefix` precedes each path; raises ValueError for invalid headers."""
        self._prefix = prefix
        self._fixed = f" HTTP/1.1\r\nHost: {host}\r\n{_lines(identity)}"

    def write(self, method: str, target: str, headers: Headers, body: bytes) -> bytes:
        """Encodes a request; raises ValueError for an invalid target or header."""
        if not (target.isascii() and target.isprintable()) or " " in target:
            raise ValueError(f"invalid request target {target!r}: quote it")
        length = f"Content-Length: {len(body)}\r\n\r\n" if body or method not in _BODILESS else "\r\n"
        head = f"{method} {self._prefix}{target}{self._fixed}{_usual(headers)}{length}"
        return head.encode() + body


@lru_cache(256)
def _usual(headers: Headers) -> str:
    """The headers as lines; cached, because a program sends few different sets."""
    named = {name.lower() for name, _ in headers}
    coding = () if "accept-encoding" in named else (("Accept-Encoding", "identity"),)
    return _lines((*(each for each in headers if each[0].lower() not in _OURS), *coding))


def _lines(headers: Iterable[tuple[str, str]]) -> str:
    written = list[str]()
    for name, value in headers:
        if not _NAME.fullmatch(name) or _NO_VALUE.search(value):
            raise ValueError(f"invalid header {name!r}")
        written.append(f"{name}: {value}\r\n")
    return "".join(written)
