"""Requests as bytes. What never changes is written once per login, and the few sets of other headers once each.

Nothing that is passed in can end a line: a name or token with a line break in it must not become a header of its own.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

Headers = tuple[tuple[str, str], ...]

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NO_VALUE = re.compile(r"[\r\n\0]")
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection"})
"""What says where a request goes and where it ends."""
_BODILESS = frozenset({"GET", "HEAD"})


class RequestTemplate:
    """What all requests to one server as one identity have in common."""

    __slots__ = ("_fixed", "_prefix")

    def __init__(self, prefix: str, host: str, identity: Headers) -> None:
        """`prefix` stands before each path; raises ValueError for what is no header."""
        self._prefix = prefix
        self._fixed = f" HTTP/1.1\r\nHost: {host}\r\n{_lines(identity)}"

    def write(self, method: str, target: str, headers: Headers, body: bytes) -> bytes:
        """A whole request; raises ValueError for what is no target or header."""
        if not (target.isascii() and target.isprintable()) or " " in target:
            raise ValueError(f"{target!r} can't be asked for: quote it")
        length = f"Content-Length: {len(body)}\r\n\r\n" if body or method not in _BODILESS else "\r\n"
        head = f"{method} {self._prefix}{target}{self._fixed}{_usual(headers)}{length}"
        return head.encode() + body


@lru_cache(256)
def _usual(headers: Headers) -> str:
    """The headers of a request as lines; a program sends few different sets."""
    named = {name.lower() for name, _ in headers}
    coding = () if "accept-encoding" in named else (("Accept-Encoding", "identity"),)
    return _lines((*(each for each in headers if each[0].lower() not in _OURS), *coding))


def _lines(headers: Iterable[tuple[str, str]]) -> str:
    written = list[str]()
    for name, value in headers:
        if not _NAME.fullmatch(name) or _NO_VALUE.search(value):
            raise ValueError(f"header {name!r} holds what no header can")
        written.append(f"{name}: {value}\r\n")
    return "".join(written)
