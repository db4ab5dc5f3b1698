"""An object that somebody else defines, kept as the bytes that came, with a typed view on demand.

The bytes are the truth: a change is a merge patch on them, so nothing that the view does not know is ever lost.
"""

from functools import cache
from typing import Any, Generic, TypeVar, cast

import msgspec
from msgspec import inspect

from kohort.api.codec import Json, decode, decode_json, encode
from kohort.api.core.objects import KindView
from kohort.api.errors import DecodeError
from kohort.api.fields import ROOT, Path
from kohort.api.merge import merge

K = TypeVar("K", bound=msgspec.Struct)
V = TypeVar("V", bound=KindView)


class Foreign(Generic[K]):
    """An object as received, seen through the view `kind`; equal to another when the bytes are."""

    __slots__ = ("_view", "kind", "raw")

    def __init__(self, raw: bytes, kind: type[K]) -> None:
        self.raw = raw
        self.kind = kind
        self._view: K | None = None

    @classmethod
    def of(cls, value: Json, kind: type[K]) -> "Foreign[K]":
        """The object given as plain JSON."""
        try:
            return cls(encode(value), kind)
        except (TypeError, ValueError, RecursionError) as error:
            raise DecodeError(f"not a JSON value: {error}") from None

    @property
    def view(self) -> K:
        """What Kohort reads of the object; decoded once, at first use."""
        if self._view is None:
            self._view = decode(self.raw, self.kind)
        return self._view

    def json(self) -> dict[str, Json]:
        """The whole object as plain JSON, made anew at each call and free to change."""
        return cast("dict[str, Json]", decode_json(self.raw))

    def merged(self, patch: dict[str, Json]) -> "Foreign[K]":
        """The object with a merge patch applied."""
        return Foreign.of(merge(self.json(), patch), self.kind)

    def unknown_fields(self) -> list[Path]:
        """Paths of the members that the view does not name."""
        return unknown_fields(self.json(), self.kind)

    def __eq__(self, other: object) -> bool:
        return self.raw == other.raw if isinstance(other, Foreign) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"Foreign({self.kind.__name__}, {len(self.raw)} bytes)"
