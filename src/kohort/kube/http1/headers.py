"""Headers; those of responses are parsed lazily.

Most of them are never read, so that they are only validated at first.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kohort.kube.http1.errors import MalformedError

Headers = tuple[tuple[str, str], ...]
"""Headers to send; a name may repeat."""

_LINES = re.compile(rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]++:[^\r\n\0]*+\r\n)*+")


class ResponseHeaders(Mapping[str, str]):
    """Case-insensitive headers; values of repeated ones are joined by commas."""

    __slots__ = ("_lowered", "_raw")

    def __init__(self, raw: bytes) -> None:
        """Take the header lines with their line ends; raises MalformedError."""
        if _LINES.fullmatch(raw) is None:
            raise MalformedError("invalid header")
        self._raw = b"\r\n" + raw
        self._lowered = self._raw.lower()

    def __getitem__(self, name: str) -> str:
        values = self.all(_wanted(name))
        if not values:
            raise KeyError(name)
        return ", ".join(values)

    def get(self, name: str, default: Any = None, /) -> Any:
        """The value or the default, without raising: most headers are absent."""
        values = self.all(_wanted(name))
        return ", ".join(values) if values else default

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        """Iterates over the canonical names."""
        names = (line.partition(b":")[0].decode() for line in self._lowered.split(b"\r\n") if line)
        return iter(dict.fromkeys("-".join(map(str.capitalize, name.split("-"))) for name in names))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def all(self, wanted: bytes) -> Sequence[str]:
        """The values of a header, given as its encoded form: line end, lower-case name, colon."""
        at = self._lowered.find(wanted)
        if at < 0:
            return ()
        found = []
        while at >= 0:
            begin = at + len(wanted)
            end = self._raw.index(b"\r\n", begin)
            found.append(self._raw[begin:end].decode("utf-8", "replace").strip(" \t"))
            at = self._lowered.find(wanted, end)
        return found


@lru_cache(64)
def _wanted(name: str) -> bytes:
    return b"\r\n" + name.lower().encode() + b":"
