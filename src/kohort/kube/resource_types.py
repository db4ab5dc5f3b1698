"""Resource types: a resource and the representation of its objects, as structs, JSON, or bytes with a view.

Bytes are decoded directly to the representation. An object that cannot be decoded is reported by name instead of
failing its whole list, because one malformed object must not stop all queues.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast

import msgspec

from kohort.api.codec import Json, decode, decode_json, encode
from kohort.api.core.objects import KindView, ObjectView, encode_view
from kohort.api.errors import ApiError, DecodeError
from kohort.api.kinds import CustomObject
from kohort.api.meta import ListMeta, ObjectKey, ObjectList, ObjectMeta
from kohort.api.resource import Resource
from kohort.api.struct import View

T = TypeVar("T")
S = TypeVar("S", bound=CustomObject | ObjectView)
V = TypeVar("V", bound=ObjectView)

Data = bytes | memoryview | msgspec.Raw


class ObjectIdentity(NamedTuple):
    """Key, UID and resourceVersion of an object."""

    key: ObjectKey
    uid: str
    version: str


class UndecodableObject(NamedTuple):
    """An object that could not be decoded."""

    identity: ObjectIdentity
    why: str


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """One page of a list."""

    items: Sequence[T]
    version: str
    """The resourceVersion of the whole list."""
    next: str = ""
    """The continue token of the next page; empty on the last one."""
    unreadable: tuple[UndecodableObject, ...] = ()


class PartialObjectMetadata(View):
    """The metadata of an object, which identifies it."""

    metadata: ObjectMeta = ObjectMeta()


class _RawList(View):
    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] = ()


def identity_of(metadata: ObjectMeta) -> ObjectIdentity:
    """The identity in metadata."""
    return ObjectIdentity(ObjectKey(metadata.namespace, metadata.name), metadata.uid, metadata.resource_version)


@dataclass(frozen=True)
class ResourceType(ABC, Generic[T]):
    """A resource whose objects are represented as `T`."""

    resource: Resource

    @abstractmethod
    def read(self, data: Data) -> T:
        """Decode an object; raises DecodeError."""

    @abstractmethod
    def identity(self, obj: T) -> ObjectIdentity:
        """The identity of an object."""

    @abstractmethod
    def body(self, obj: T) -> bytes:
        """Encode an object with `apiVersion` and `kind`; raises ApiError if fields would be lost."""

    def _item(self, data: msgspec.Raw) -> T:
        """Decode an item of a list, which may lack `apiVersion` and `kind`."""
        return self.read(data)

    def page(self, body: bytes) -> ListPage[T]:
        """Decode a page of a list; objects that cannot be decoded are listed separately."""
        listed = decode(body, _RawList)
        items, unreadable = list[T](), list[UndecodableObject]()
        for raw in listed.items:
            try:
                items.append(self._item(raw))
            except DecodeError as error:
                unreadable.append(unreadable_object(raw, error))
        return ListPage(items, listed.metadata.resource_version, listed.metadata.continue_, tuple(unreadable))


def unreadable_object(data: Data, error: DecodeError) -> UndecodableObject:
    """The identity of an object that could not be decoded; raises DecodeError if it has none."""
    return UndecodableObject(identity_of(decode(data, PartialObjectMetadata).metadata), str(error))


@dataclass(frozen=True)
class TypedResource(ResourceType[S]):
    """Objects as structs of `kohort.api`."""

    struct: type[S]
    transform: Callable[[S], S] | None = None
    """Reduces objects before they are cached; must keep the metadata."""

    def read(self, data: Data) -> S:
        """Decode and transform an object."""
        found = decode(data, self.struct)
        return self.transform(found) if self.transform else found

    def identity(self, obj: S) -> ObjectIdentity:
        """From the metadata."""
        return identity_of(obj.metadata)

    def body(self, obj: S) -> bytes:
        """The struct as JSON."""
        return body_of_struct(obj)

    def page(self, body: bytes) -> ListPage[S]:
        """Decode a page in one pass; item by item only if that fails."""
        try:
            listed = decode(body, cast("type[ObjectList[S]]", cast("Any", ObjectList)[self.struct]))
        except DecodeError:
            return super().page(body)
        items = [self._finished(item) for item in listed.items] if self._is_finishing else listed.items
        return ListPage(items, listed.metadata.resource_version, listed.metadata.continue_)

    @property
    def _is_finishing(self) -> bool:
        return self.transform is not None or issubclass(self.struct, KindView)

    def _item(self, data: msgspec.Raw) -> S:
        return self._finished(decode(data, self.struct))

    def _finished(self, obj: S) -> S:
        """The object as a get or a watch returns it: with `apiVersion` and `kind`, which items of lists lack."""
        if isinstance(obj, KindView) and not obj.kind:
            named = msgspec.structs.replace(obj, api_version=self.resource.api_version, kind=self.resource.kind)
            obj = cast("S", named)
        return self.transform(obj) if self.transform else obj


@dataclass(frozen=True)
class UnstructuredResource(ResourceType[dict[str, Json]]):
    """Objects as plain JSON."""

    def read(self, data: Data) -> dict[str, Json]:
        """Decode."""
        found = decode_json(data)
        if not isinstance(found, dict):
            raise DecodeError(f"not an object but {type(found).__name__}")
        return found

    def identity(self, obj: dict[str, Json]) -> ObjectIdentity:
        """From the metadata."""
        metadata = obj.get("metadata") or {}
        key = ObjectKey(metadata.get("namespace", ""), metadata.get("name", ""))
        return ObjectIdentity(key, metadata.get("uid", ""), metadata.get("resourceVersion", ""))

    def body(self, obj: dict[str, Json]) -> bytes:
        """The JSON, with `apiVersion` and `kind` added if missing."""
        return encode({"apiVersion": self.resource.api_version, "kind": self.resource.kind, **obj})

    def _item(self, data: msgspec.Raw) -> dict[str, Json]:
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind, **self.read(data)}


def body_of_struct(obj: CustomObject | KindView) -> bytes:
    """Encode a struct."""
    return encode(obj) if isinstance(obj, CustomObject) else encode_view(obj)


def typed_resource(struct: type[S]) -> TypedResource[S]:
    """The resource type of a struct of `kohort.api`."""
    return TypedResource(resource_of(struct), struct)


def unstructured_resource(resource: Resource) -> UnstructuredResource:
    """The resource type of any resource, as plain JSON."""
    return UnstructuredResource(resource)


def resource_of(struct: type[Any]) -> Resource:
    """The resource of a struct."""
    info = getattr(struct, "info", None)
    resource = info.resource if info is not None else getattr(struct, "resource", None)
    if not isinstance(resource, Resource):
        raise ApiError(f"{struct.__name__} declares no resource: add an `info` or a `resource`")
    return resource
