"""Converts objects between storage version and served version.

Both are usually the same, and stored bytes are then returned unchanged.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import msgspec

from kohort.api.codec import JsonObject
from kohort.embedded.crds import prune, prune_and_default
from kohort.embedded.kinds.events import from_stored, to_stored
from kohort.embedded.resources import ServedResource

ConvertObjects = Callable[[Mapping[str, Any], Sequence[JsonObject], str], Awaitable[list[JsonObject]]]
"""Converts custom objects to another apiVersion by their definition."""

_encode = msgspec.json.Encoder().encode
_MAX_CACHED = 1024
"""Converted objects cached per version, so that a change is converted once for all watches."""


class EncodedObject(Protocol):
    """An object with its encoding."""

    @property
    def object(self) -> JsonObject:
        """The object as JSON values."""

    @property
    def data(self) -> bytes:
        """The object as JSON bytes."""


class ConvertedObject(NamedTuple):
    """An object converted to the requested version."""

    object: JsonObject
    data: bytes


def with_type_meta(resource: ServedResource, found: JsonObject) -> JsonObject:
    """The object with apiVersion and kind first, so that the version can be read from the bytes."""
    rest = {name: value for name, value in found.items() if name not in ("kind", "apiVersion")}
    return {"kind": resource.kind, "apiVersion": found["apiVersion"], **rest}


@lru_cache(maxsize=1024)
def _type_meta(kind: str, api_version: str) -> bytes:
    return _encode({"kind": kind, "apiVersion": api_version})[:-1]


def type_meta_prefix(resource: ServedResource) -> bytes:
    """The prefix of the bytes of an object in this version."""
    return _type_meta(resource.kind, resource.api_version)


def rendered(found: JsonObject) -> ConvertedObject:
    """Encodes an object."""
    return ConvertedObject(found, _encode(found))


class VersionConverter:
    """Converts between storage version and served versions."""

    def __init__(self, convert: ConvertObjects, definition: Callable[[str], Mapping[str, Any] | None]) -> None:
        self._convert = convert
        self._definition = definition
        self._known: dict[tuple[str, str], tuple[str, dict[bytes, ConvertedObject]]] = {}

    async def served(self, resource: ServedResource, stored: Sequence[EncodedObject]) -> Sequence[EncodedObject]:
        """Stored objects in the served version."""
        head = type_meta_prefix(resource)
        others = [each for each in stored if not each.data.startswith(head)]
        if not others:
            return stored
        converted = iter(await self._rendered(resource, others))
        return [each if each.data.startswith(head) else next(converted) for each in stored]

    async def _rendered(self, resource: ServedResource, others: Sequence[EncodedObject]) -> list[ConvertedObject]:
        """Objects in the served version; each revision is converted once."""
        known = self._conversions(resource)
        missing = [each for each in others if each.data not in known]
        for each, found in zip(missing, await self._read(resource, [one.object for one in missing]), strict=True):
            known[each.data] = rendered(found)
        shown = [known[each.data] for each in others]
        if len(known) > _MAX_CACHED:
            known.clear()
        return shown

    def _conversions(self, resource: ServedResource) -> dict[bytes, ConvertedObject]:
        """Conversion cache of this version; empty after the definition has changed."""
        definition = self._definition(resource.key)
        state = str(definition["metadata"].get("resourceVersion")) if definition else ""
        place = (resource.qualified, resource.version)
        known = self._known.get(place)
        if known is None or known[0] != state:
            known = self._known[place] = (state, {})
        return known[1]

    async def served_object(self, resource: ServedResource, stored: JsonObject) -> JsonObject:
        """One stored object in the served version."""
        if stored["apiVersion"] == resource.api_version:
            return stored
        return (await self._read(resource, [stored]))[0]

    async def converted(self, resource: ServedResource, objects: Sequence[JsonObject]) -> list[JsonObject]:
        """Objects of any version in the served version, for admission and webhooks."""
        return await self._to(resource, objects, resource.api_version)

    async def stored(self, resource: ServedResource, found: JsonObject) -> JsonObject:
        """The object in its storage version."""
        if resource.stored_as:
            return to_stored(resource, found)
        if not resource.storage_version:
            return found
        version = f"{resource.group}/{resource.storage_version}"
        (converted,) = await self._to(resource, [found], version)
        definition = self._definition(resource.key)
        return converted if definition is None else prune_and_default(definition, converted)

    async def _read(self, resource: ServedResource, objects: Sequence[JsonObject]) -> list[JsonObject]:
        converted = await self.converted(resource, objects)
        definition = self._definition(resource.key)
        return converted if definition is None else [prune(definition, each) for each in converted]

    async def _to(self, resource: ServedResource, objects: Sequence[JsonObject], api_version: str) -> list[JsonObject]:
        if resource.stored_as:
            return [from_stored(resource, each) for each in objects]
        definition = self._definition(resource.key)
        if definition is None:
            return [{**each, "apiVersion": api_version} for each in objects]
        return await self._convert(definition, objects, api_version)
