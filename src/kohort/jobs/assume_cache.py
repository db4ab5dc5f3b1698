"""The assume cache of objects of job frameworks.

Objects are kept as compressed JSON without their managed fields, a small fraction of the size of dicts, and decoded for
every reader, which may change the result. Unqueued jobs and their owners are kept too, and these may be thousands.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from kohort.api.codec import JsonObject, decode_json, encode
from kohort.api.meta import ObjectKey
from kohort.kube.assume_cache import AssumeCache
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.options import EVERYTHING, ListScope
from kohort.kube.resource_types import Data, ObjectIdentity, ResourceType, UnstructuredResource

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_LEVEL: Final = 1
"""Pod templates repeat themselves: the fastest level leaves a quarter, the best one hardly less."""


@dataclass(frozen=True, slots=True)
class CachedObject:
    """One state of an object, encoded."""

    identity: ObjectIdentity
    created: str
    compressed: bytes

    @property
    def raw(self) -> bytes:
        """The object as JSON."""
        return zlib.decompress(self.compressed)

    def json(self) -> JsonObject:
        """The decoded object, which the caller may change."""
        obj: JsonObject = decode_json(self.raw)
        return obj


@dataclass(frozen=True)
class CachedResource(ResourceType[CachedObject]):
    """Objects of any resource in a compact form."""

    def read(self, data: Data) -> CachedObject:
        """Decode an object."""
        return self.to_cached(UnstructuredResource(self.resource).read(data))

    def to_cached(self, obj: JsonObject) -> CachedObject:
        """The object to cache, with the apiVersion and kind that items of lists lack."""
        metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name != "managedFields"}
        annotations = metadata.get("annotations") or {}
        if _LAST_APPLIED in annotations:
            # A second copy of the whole object. Writes are patches, which leave alone what does not change here; the
            # name stays, so that none of them removes the annotations as a whole.
            metadata["annotations"] = {**annotations, _LAST_APPLIED: ""}
        head = {"apiVersion": self.resource.api_version, "kind": self.resource.kind}
        identity = UnstructuredResource(self.resource).identity(obj)
        raw = encode({**head, **obj, "metadata": metadata})
        return CachedObject(identity, metadata.get("creationTimestamp") or "", zlib.compress(raw, _LEVEL))

    def identity(self, obj: CachedObject) -> ObjectIdentity:
        """Which object it is."""
        return obj.identity

    def body(self, obj: CachedObject) -> bytes:
        """The bytes."""
        return obj.raw


@cache
def _decoding(values: Callable[[JsonObject], Iterable[Any]]) -> Callable[[CachedObject], Iterable[Any]]:
    """The index function over encoded objects; the same one each time, by which a cache detects an existing index."""
    return lambda cached: set(values(cached.json()))


class ObjectAssumeCache:
    """All objects of one kind, in a scope."""

    def __init__(self, informers: SharedInformerFactory, kind: CachedResource, scope: ListScope = EVERYTHING) -> None:
        self.resource = kind.resource
        self.kind = kind
        self.informer: Informer[CachedObject] = informers.of(kind, scope)
        self._cache = AssumeCache(self.informer, self.kind.identity)

    def index(self, name: str, values: Callable[[JsonObject], Iterable[Any]]) -> None:
        """Index objects by the values that a function returns."""
        self.informer.index(name, _decoding(values))

    def get(self, key: ObjectKey) -> JsonObject | None:
        """The newest known state of an object."""
        cached = self._cache.get(key)
        return cached.json() if cached is not None else None

    def find(self, index: str, value: Any) -> Sequence[JsonObject]:
        """Objects under a value of an index, oldest first (DEV-2)."""
        found = sorted(self.informer.cache.find(index, value), key=lambda each: (each.created, each.identity.key.name))
        return [(self._cache.get(each.identity.key) or each).json() for each in found]

    def keys(self, index: str, value: Any) -> list[ObjectKey]:
        """Keys of objects under a value of an index."""
        return [each.identity.key for each in self.informer.cache.find(index, value)]

    def assume(self, obj: JsonObject) -> None:
        """Use the response to an own write until the watch shows it or something later.

        Objects that the informer does not have are ignored: they may be outside its scope.
        """
        cached = self.kind.to_cached(obj)
        if self.informer.cache.get(cached.identity.key) is not None:
            self._cache.assume(cached)
