"""Objects of frameworks as known now: what the watch has shown, and ahead of it what we wrote ourselves.

They are kept as bytes without their managed fields, a fraction of what dicts take, and are made anew for every reader,
who may change what he gets.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import msgspec

from kohort.api.codec import JsonObject, decode_json, encode
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.options import EVERYTHING, ListScope
from kohort.kube.resource_types import Data, ObjectIdentity, ResourceType, UnstructuredResource

MOST_AHEAD: Final = 10_000
"""Own writes that are remembered; the watch shows nearly all within a second."""


_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class CachedObject:
    """One state of an object."""

    identity: ObjectIdentity
    created: str
    raw: bytes

    def json(self) -> JsonObject:
        """The object, free to change."""
        obj: JsonObject = decode_json(self.raw)
        return obj


@dataclass(frozen=True)
class CachedResource(ResourceType[CachedObject]):
    """Objects of any resource, kept small."""

    def read(self, data: Data) -> CachedObject:
        """Take in an object."""
        return self.keep(UnstructuredResource(self.resource).read(data))

    def keep(self, obj: JsonObject) -> CachedObject:
        """The object as it is kept, with the head that items of lists lack."""
        metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name != "managedFields"}
        notes = metadata.get("annotations") or {}
        if _LAST_APPLIED in notes:
            # A second copy of the whole object. Writes are patches, which leave alone what does not change here; the
            # name stays, so that none of them removes the annotations as a whole.
            metadata["annotations"] = {**notes, _LAST_APPLIED: ""}
        head = {"apiVersion": self.resource.api_version, "kind": self.resource.kind}
        identity = UnstructuredResource(self.resource).identity(obj)
        return CachedObject(
            identity, metadata.get("creationTimestamp") or "", encode({**head, **obj, "metadata": metadata})
        )

    def identity(self, obj: CachedObject) -> ObjectIdentity:
        """Which object it is."""
        return obj.identity

    def body(self, obj: CachedObject) -> bytes:
        """The bytes."""
        return obj.raw

    def _item(self, data: msgspec.Raw) -> CachedObject:
        return self.read(data)


def is_newer(one: str, other: str) -> bool:
    """Whether one resourceVersion is later; API servers number the states of a kind upwards."""
    if one.isdecimal() and other.isdecimal():
        return int(one) > int(other)
    return one != other


@cache
def _of_kept(values: Callable[[JsonObject], Iterable[Any]]) -> Callable[[CachedObject], Iterable[Any]]:
    """The index function over what is kept; one for each, by which a cache knows that it has the index already."""
    return lambda kept: set(values(kept.json()))


class ObjectAssumeCache:
    """All objects of one kind, in a scope."""

    def __init__(self, informers: SharedInformerFactory, resource: Resource, scope: ListScope = EVERYTHING) -> None:
        self.resource = resource
        self.kind = CachedResource(resource)
        self.informer: Informer[CachedObject] = informers.of(self.kind, scope)
        self._ahead: OrderedDict[ObjectKey, CachedObject] = OrderedDict()
        self.informer.subscribe(self._see)

    def index(self, name: str, values: Callable[[JsonObject], Iterable[Any]]) -> None:
        """Make objects findable under the values that a function gives."""
        self.informer.index(name, _of_kept(values))

    def get(self, key: ObjectKey) -> JsonObject | None:
        """The newest state that is known of an object."""
        kept = self._ahead.get(key) or self.informer.cache.get(key)
        return kept.json() if kept is not None else None

    def find(self, index: str, value: Any) -> Sequence[JsonObject]:
        """Objects under a value of an index, oldest first (DEV-2)."""
        found = sorted(self.informer.cache.find(index, value), key=lambda kept: (kept.created, kept.identity.key.name))
        return [self._ahead.get(kept.identity.key, kept).json() for kept in found]

    def keys(self, index: str, value: Any) -> list[ObjectKey]:
        """The places of objects under a value of an index."""
        return [kept.identity.key for kept in self.informer.cache.find(index, value)]

    def wrote(self, obj: JsonObject) -> None:
        """An own write was answered with this; it counts until the watch shows it or something later."""
        kept = self.kind.keep(obj)
        key = kept.identity.key
        shown = self.informer.cache.get(key)
        if shown is None or not is_newer(kept.identity.version, shown.identity.version):
            return
        self._ahead[key] = kept
        self._ahead.move_to_end(key)
        if len(self._ahead) > MOST_AHEAD:
            self._ahead.popitem(last=False)

    def _see(self, old: CachedObject | None, new: CachedObject | None) -> None:
        shown = new or old
        ahead = self._ahead.get(shown.identity.key) if shown is not None else None
        if shown is None or ahead is None:
            return
        if new is None or not is_newer(ahead.identity.version, new.identity.version):
            del self._ahead[shown.identity.key]
