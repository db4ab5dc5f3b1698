"""Writes the status of objects: only what changed, and only onto the very object that it was worked out for.

The answer to a write stands in for the cached object until the cache moves on.
"""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

from kohort.api.codec import Json
from kohort.api.core.objects import ObjectView
from kohort.api.meta import ObjectMeta
from kohort.api.struct import View
from kohort.embedded.controllers.unobserved_writes import UnobservedWrites
from kohort.embedded.controllers.views import key_of
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.patches import MergePatch
from kohort.kube.resource_types import ResourceType

J = TypeVar("J", bound=ObjectView)


def status_patch(old: View, new: View) -> dict[str, Json]:
    """A merge patch from one status to another of the same kind; empty where they are equal."""
    return dict(_changes(old, new))


def _changes(old: View, new: View) -> Iterator[tuple[str, Json]]:
    for known in msgspec.structs.fields(new):
        before, after = getattr(old, known.name), getattr(new, known.name)
        if before != after:
            yield known.encode_name, _value(after, known.default)


def _value(value: Any, default: Any) -> Json:
    if isinstance(value, View):
        # A merge patch keeps the members that it does not name.
        members = ((known, getattr(value, known.name)) for known in msgspec.structs.fields(value))
        return {known.encode_name: _value(member, known.default) for known, member in members}
    return None if value == default else msgspec.to_builtins(value, str_keys=True)


class StatusWriter(Generic[J]):
    """The status writes of one controller, each onto the newest state that is known."""

    def __init__(self, client: Client, kind: ResourceType[J]) -> None:
        self._objects = client.of(kind)
        self._lag = UnobservedWrites[J](client.clock)

    def newest(self, cached: J) -> J:
        """The object as it was last written here, while the cache still shows a state before that."""
        return self._lag.latest(cached)

    def is_own(self, shown: J) -> bool:
        """Whether the cache shows nothing but what was written here."""
        return self._lag.is_echo(shown)

    def forget(self, metadata: ObjectMeta) -> None:
        """The object is gone."""
        self._lag.forget(metadata)

    async def write(self, found: J, changes: dict[str, Json]) -> J:
        """The object with its status changed; raises a conflict where it is not the newest state."""
        metadata = found.metadata
        base = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
        try:
            patch = MergePatch({"metadata": base, "status": changes})
            return self._lag.wrote(await self._objects.patch(key_of(metadata), patch, subresource="status"))
        except StatusError:
            self._lag.forget(metadata)
            raise


async def write_status(client: Client, found: J, old: View, new: View, required: tuple[str, ...] = ()) -> J | None:
    """Write what is new in the status of this very object, whatever its revision; None where nothing is.

    A server wants `required` numbers said even where they are nought.
    """
    changes = status_patch(old, new)
    if not changes:
        return None
    said = status_patch(type(new)(), new)
    patch = MergePatch(
        {
            "metadata": {"uid": found.metadata.uid},
            "status": {**changes, **{name: 0 for name in required if name not in said}},
        }
    )
    return await client.of(type(found)).patch(key_of(found.metadata), patch, subresource="status")
