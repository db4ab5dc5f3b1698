"""A resource together with how its objects are read: as structs, as plain JSON, or as bytes under a view.

Bytes go straight to the form that is kept. What is not readable is told by name instead of failing its whole list,
because one odd object must not stop the queue for everybody.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast

import msgspec

from kohort.api.codec import Json, decode, decode_json, encode
from kohort.api.core.foreign import RawObject, new_object
from kohort.api.core.objects import KindView, ObjectView
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
    """Which object, which life of it, and which state of that life."""

    key: ObjectKey
    uid: str
    version: str


class UndecodableObject(NamedTuple):
    """An object that does not have the shape it is to be read in."""

    identity: ObjectIdentity
    why: str


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """One answer to a list request."""

    items: Sequence[T]
    version: str
    """The revision of the whole list."""
    next: str = ""
    """Where the next page starts; empty on the last one."""
    unreadable: tuple[UndecodableObject, ...] = ()


class PartialObjectMetadata(View):
    """As much of an object as tells which one it is."""

    metadata: ObjectMeta = ObjectMeta()


class _RawList(View):
    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] = ()


def identity_of(metadata: ObjectMeta) -> ObjectIdentity:
    """The identity that metadata tells of."""
    return ObjectIdentity(ObjectKey(metadata.namespace, metadata.name), metadata.uid, metadata.resource_version)


@dataclass(frozen=True)
class ResourceType(ABC, Generic[T]):
    """A resource whose objects are read as `T`."""

    resource: Resource

    @abstractmethod
    def read(self, data: Data) -> T:
        """One object; raises DecodeError."""

    @abstractmethod
    def identity(self, obj: T) -> ObjectIdentity:
        """Which object it is."""

    @abstractmethod
    def body(self, obj: T) -> bytes:
        """The object as it is sent, with `apiVersion` and `kind`; raises ApiError where that would lose fields."""

    @abstractmethod
    def _item(self, data: msgspec.Raw) -> T:
        """One item of a list, which may lack the `apiVersion` and `kind` that the same object has elsewhere."""

    def page(self, body: bytes) -> ListPage[T]:
        """One page of a list; what can't be read stands aside."""
        listed = decode(body, _RawList)
        items, unreadable = list[T](), list[UndecodableObject]()
        for raw in listed.items:
            try:
                items.append(self._item(raw))
            except DecodeError as error:
                unreadable.append(unreadable_object(raw, error))
        return ListPage(items, listed.metadata.resource_version, listed.metadata.continue_, tuple(unreadable))


def unreadable_object(data: Data, error: DecodeError) -> UndecodableObject:
    """The name of an object that can't be read; raises DecodeError where not even that is told."""
    return UndecodableObject(identity_of(decode(data, PartialObjectMetadata).metadata), str(error))


@dataclass(frozen=True)
class TypedResource(ResourceType[S]):
    """Objects as structs of `kohort.api`."""

    struct: type[S]
    transform: Callable[[S], S] | None = None
    """Makes objects smaller before they are kept; must leave the metadata."""

    def read(self, data: Data) -> S:
        """Decode, and make smaller where asked to."""
        found = decode(data, self.struct)
        return self.transform(found) if self.transform else found

    def identity(self, obj: S) -> ObjectIdentity:
        """From the metadata."""
        return identity_of(obj.metadata)

    def body(self, obj: S) -> bytes:
        """The struct as JSON."""
        return body_of_struct(obj)

    def page(self, body: bytes) -> ListPage[S]:
        """One pass over the bytes; item by item only where that fails."""
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
        """The same value that a get or a watch gives: with its head, which items of lists lack."""
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
        """The JSON, with its head where it has none."""
        return encode({"apiVersion": self.resource.api_version, "kind": self.resource.kind, **obj})

    def _item(self, data: msgspec.Raw) -> dict[str, Json]:
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind, **self.read(data)}


@dataclass(frozen=True)
class RawResource(ResourceType[RawObject[V]]):
    """Objects as the bytes that came, under a view: for what is read in part and written back whole."""

    view: type[V]

    def read(self, data: Data) -> RawObject[V]:
        """Keep the bytes, and see that they have the view's shape."""
        found = RawObject(bytes(data), self.view)
        _ = found.view
        return found

    def identity(self, obj: RawObject[V]) -> ObjectIdentity:
        """From the view's metadata."""
        return identity_of(obj.view.metadata)

    def body(self, obj: RawObject[V]) -> bytes:
        """The bytes."""
        return obj.raw

    def _item(self, data: msgspec.Raw) -> RawObject[V]:
        found = self.read(data)
        if found.view.kind:
            return found
        head = f'{{"kind":"{self.resource.kind}","apiVersion":"{self.resource.api_version}",'
        return self.read(head.encode() + found.raw[1:])


def body_of_struct(obj: CustomObject | KindView) -> bytes:
    """A struct as it is sent."""
    return encode(obj) if isinstance(obj, CustomObject) else new_object(obj).raw


def typed_resource(struct: type[S]) -> TypedResource[S]:
    """Objects of a kind that `kohort.api` has a struct for, as that struct."""
    return TypedResource(resource_of(struct), struct)


def unstructured_resource(resource: Resource) -> UnstructuredResource:
    """Objects of any resource, as plain JSON."""
    return UnstructuredResource(resource)


def raw_resource(view: type[V]) -> RawResource[V]:
    """Objects of a kind that somebody else defines, as bytes under a view."""
    return RawResource(view.resource, view)


def resource_of(struct: type[Any]) -> Resource:
    """The resource that a struct stands for."""
    info = getattr(struct, "info", None)
    resource = info.resource if info is not None else getattr(struct, "resource", None)
    if not isinstance(resource, Resource):
        raise ApiError(f"{struct.__name__} does not say which resource it is; give it an `info` or a `resource`")
    return resource
