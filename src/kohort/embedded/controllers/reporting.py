"""Writes the status of objects: only what changed, and only onto the state that it was decided on.

Every write names the resourceVersion it builds on. Its answer stands in for the cached object until the cache moves on.
"""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

from kohort.api.codec import Json
from kohort.api.core.objects import ObjectView
from kohort.api.struct import View
from kohort.embedded.controllers.seen import key_of
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.kinds import Kind
from kohort.kube.patches import MergePatch

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


class Reports(Generic[J]):
    """The status writes of one controller."""

    def __init__(self, client: Client, kind: Kind[J]) -> None:
        self._objects = client.of(kind)
        self._written: dict[str, tuple[frozenset[str], J]] = {}

    def newest(self, cached: J) -> J:
        """The object as it was last written here, while the cache still shows a state before that."""
        superseded, written = self._written.get(cached.metadata.uid, (frozenset[str](), cached))
        if cached.metadata.resource_version in superseded:
            return written
        self.forget(cached.metadata.uid)
        return cached

    def is_own(self, shown: J) -> bool:
        """Whether the cache shows nothing but what was written here."""
        superseded, written = self._written.get(shown.metadata.uid, (frozenset[str](), None))
        version = shown.metadata.resource_version
        return version in superseded or (written is not None and version == written.metadata.resource_version)

    async def write(self, found: J, changes: dict[str, Json]) -> J:
        """The object with its status changed; raises a conflict where it is not the newest state."""
        metadata = found.metadata
        base = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
        try:
            patch = MergePatch({"metadata": base, "status": changes})
            answer = await self._objects.patch(key_of(metadata), patch, subresource="status")
        except StatusError:
            self.forget(metadata.uid)
            raise
        superseded, _ = self._written.get(metadata.uid, (frozenset[str](), found))
        self._written[metadata.uid] = (superseded | {metadata.resource_version}, answer)
        return answer

    def forget(self, uid: str) -> None:
        """The cache has caught up, or the object is gone."""
        self._written.pop(uid, None)
