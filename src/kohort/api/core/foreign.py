"""Objects of kinds that Kohort does not define, kept as received bytes, with a typed view on demand.

A change is a merge patch on the bytes, so that fields outside the view are never lost.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec
from msgspec import inspect

from kohort.api.codec import Json, decode, decode_json, encode, to_json
from kohort.api.core.objects import KindView
from kohort.api.errors import DecodeError
from kohort.api.fields import ROOT, Path
from kohort.api.merge import merge

K = TypeVar("K", bound=msgspec.Struct)
V = TypeVar("V", bound=KindView)


@dataclass(frozen=True, slots=True)
class RawObject(Generic[K]):
    """An object as received, with the view `kind`; compared by its bytes."""

    raw: bytes = field(repr=False)
    kind: type[K] = field(compare=False)
    _view: K | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, value: Json, kind: type[K]) -> "RawObject[K]":
        """The object given as plain JSON."""
        try:
            return cls(encode(value), kind)
        except (TypeError, ValueError, RecursionError) as error:
            raise DecodeError(f"not a JSON value: {error}") from None

    @property
    def view(self) -> K:
        """The view of the object; decoded once, at first use."""
        seen = self._view
        if seen is None:
            seen = decode(self.raw, self.kind)
            object.__setattr__(self, "_view", seen)
        return seen

    def json(self) -> Json:
        """The whole object as plain JSON; a new copy at each call."""
        return decode_json(self.raw)

    def merged(self, patch: dict[str, Json]) -> "RawObject[K]":
        """The object with a merge patch applied."""
        return RawObject.of(merge(self.json(), patch), self.kind)

    def unknown_fields(self) -> list[Path]:
        """Paths of the members that are not in the view."""
        return unknown_fields(self.json(), self.kind)


def new_object(view: V) -> RawObject[V]:
    """An object that Kohort is about to create, with the `apiVersion` and `kind` of its view."""
    head = {"apiVersion": view.API_VERSION, "kind": view.KIND}
    return RawObject.of({**head, **to_json(view)}, type(view))


def unknown_fields(value: Json, kind: type[msgspec.Struct]) -> list[Path]:
    """Paths of the members of a JSON object that are not in the struct, at any depth."""
    return list(_unknown(value, inspect.type_info(kind), ROOT))


def _unknown(value: Json, shape: inspect.Type, path: Path) -> Iterator[Path]:
    match shape, value:
        case inspect.UnionType(types=alternatives), _:
            for alternative in alternatives:
                yield from _unknown(value, alternative, path)
        case inspect.Metadata(type=inner), _:
            yield from _unknown(value, inner, path)
        case inspect.StructType(fields=fields), dict():
            yield from _unknown_members(value, fields, path)
        case inspect.DictType(value_type=item), dict():
            for key, member in value.items():
                yield from _unknown(member, item, path[key])
        case (inspect.CollectionType(item_type=item), list()):
            for index, member in enumerate(value):
                yield from _unknown(member, item, path[index])


def _unknown_members(value: dict[str, Json], fields: tuple[inspect.Field, ...], path: Path) -> Iterator[Path]:
    shapes = {known.encode_name: known.type for known in fields}
    for name, member in value.items():
        if name in shapes:
            yield from _unknown(member, shapes[name], path / name)
        else:
            yield path / name
