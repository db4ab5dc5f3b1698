"""Writes the status of objects: only changes, and only if the object's UID is unchanged.

The response replaces the cached object until the cache shows a newer version.
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
    """A merge patch between two statuses of the same kind; empty if they are equal."""
    return dict(_changes(old, new))


def _changes(old: View, new: View) -> Iterator[tuple[str, Json]]:
    for known in msgspec.structs.fields(new):
        before, after = getattr(old, known.name), getattr(new, known.name)
        if before != after:
            yield known.encode_name, _value(after, known.default)


def _value(value: Any, default: Any) -> Json:
    if isinstance(value, View):
        # A merge patch keeps the members that it does not mention.
        members = ((known, getattr(value, known.name)) for known in msgspec.structs.fields(value))
        return {known.encode_name: _value(member, known.default) for known, member in members}
    return None if value == default else msgspec.to_builtins(value, str_keys=True)


class StatusWriter(Generic[J]):
    """Status writes of one controller, based on the newest known version."""

    def __init__(self, client: Client, kind: ResourceType[J]) -> None:
        self._objects = client.of(kind)
        self._unobserved = UnobservedWrites[J](client.clock)

    def newest(self, cached: J) -> J:
        """The object as last written, if the cache is older."""
        return self._unobserved.latest(cached)

    def is_own(self, shown: J) -> bool:
        """Whether the cached version is this controller's own write."""
        return self._unobserved.is_echo(shown)

    def forget(self, metadata: ObjectMeta) -> None:
        """Drops a deleted object."""
        self._unobserved.forget(metadata)

    async def write(self, found: J, changes: dict[str, Json]) -> J:
        """Writes status changes and returns the object; raises a conflict if it is not the newest version."""
        metadata = found.metadata
        base = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
        try:
            patch = MergePatch({"metadata": base, "status": changes})
            return self._unobserved.wrote(await self._objects.patch(key_of(metadata), patch, subresource="status"))
        except StatusError:
            self._unobserved.forget(metadata)
            raise


async def write_status(client: Client, found: J, old: View, new: View, required: tuple[str, ...] = ()) -> J | None:
    """Writes status changes of the object regardless of its resourceVersion; None if nothing changed.

    `required` counts are written even if zero.
    """
    changes = status_patch(old, new)
    if not changes:
        return None
    full = status_patch(type(new)(), new)
    patch = MergePatch(
        {
            "metadata": {"uid": found.metadata.uid},
            "status": {**changes, **{name: 0 for name in required if name not in full}},
        }
    )
    return await client.of(type(found)).patch(key_of(found.metadata), patch, subresource="status")
