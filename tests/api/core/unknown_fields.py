"""Finds members of JSON objects that a struct does not have."""

from collections.abc import Iterator

import msgspec
from msgspec import inspect

from kohort.api.codec import Json
from kohort.api.fields import ROOT, Path


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
