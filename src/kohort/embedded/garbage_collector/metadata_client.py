"""Metadata-only access to objects of any resource (PartialObjectMetadata).

The server sends only metadata, which keeps watching every resource affordable.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from kohort.api.codec import Json, decode
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey, OwnerReference
from kohort.api.resource import Resource
from kohort.api.struct import View
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.options import DeletionOptions, ListScope
from kohort.kube.patches import MergePatch
from kohort.kube.resource_client import ResourceClient
from kohort.kube.resource_types import Data, ObjectIdentity, ResourceType
from kohort.kube.transport import Request, Response, Transport

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
"""Finalizers with which a server delegates the dependents of an object to the garbage collector."""

_ONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_MANY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_MERGE = {"Accept": _ONE, "Content-Type": MergePatch.media_type}


class ObjectLocation(NamedTuple):
    """Resource, namespace and name of an object."""

    resource: Resource
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.resource.kind} {where}"


class GcMetadata(View):
    """The metadata that garbage collection uses."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str = ""
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def is_terminating(self) -> bool:
        """Whether the object is being deleted."""
        return bool(self.deletion_timestamp)

    @property
    def is_orphaning(self) -> bool:
        """Whether it waits for its dependents to be orphaned."""
        return self.is_terminating and ORPHAN in self.finalizers

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for its dependents to be deleted."""
        return self.is_terminating and FOREGROUND in self.finalizers

    def references(self, uid: str) -> list[OwnerReference]:
        """The references to an owner."""
        return [reference for reference in self.owner_references if reference.uid == uid]

    def blocks(self, uid: str) -> bool:
        """Whether it blocks the foreground deletion of an owner."""
        return any(reference.block_owner_deletion for reference in self.references(uid))


class _Shell(View):
    metadata: GcMetadata = GcMetadata()


@dataclass(frozen=True)
class MetadataResource(ResourceType[GcMetadata]):
    """Objects of any resource as metadata; they cannot be written back."""

    def read(self, data: Data) -> GcMetadata:
        """The metadata."""
        return decode(data, _Shell).metadata

    def identity(self, obj: GcMetadata) -> ObjectIdentity:
        """Taken from the metadata."""
        return ObjectIdentity(ObjectKey(obj.namespace, obj.name), obj.uid, obj.resource_version)

    def body(self, obj: GcMetadata) -> bytes:
        """Not supported."""
        raise ApiError(f"{obj.name} cannot be written from metadata: patch it")


@dataclass(frozen=True, slots=True)
class MetadataTransport:
    """Transport that requests metadata in every list and watch."""

    inner: Transport

    async def send(self, request: Request, timeout: float) -> Response:
        """Sends the request with the metadata Accept header."""
        form = _ONE if ("watch", "1") in request.query else _MANY
        return await self.inner.send(replace(request, headers={**request.headers, "Accept": form}), timeout)

    async def close(self) -> None:
        """Closes the underlying transport."""
        await self.inner.close()


def _ignore_warning(_: str) -> None:
    """Drops deprecation warnings, since the garbage collector lists every resource."""


class MetadataClient:
    """Reads and changes the live metadata of objects."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.listing = replace(client, transport=MetadataTransport(client.transport), on_warning=_ignore_warning)
        """The same client for lists and watches."""

    async def get(self, location: ObjectLocation) -> GcMetadata | None:
        """Reads an object; None if it does not exist."""
        try:
            body = await self._client.call(
                Request("GET", location.resource.path(location.namespace, location.name), (), {"Accept": _ONE})
            )
        except StatusError as error:
            if is_gone(error, location):
                return None
            raise
        return decode(body, _Shell).metadata

    async def amend(self, location: ObjectLocation, seen: GcMetadata, change: Mapping[str, Json]) -> GcMetadata | None:
        """Patches the metadata of an unchanged object; None if it is gone."""
        state = {"uid": seen.uid, "resourceVersion": seen.resource_version, **change}
        patch = MergePatch({"metadata": state})
        path = location.resource.path(location.namespace, location.name)
        try:
            body = await self._client.call(Request("PATCH", path, (), _MERGE, patch.body()))
        except StatusError as error:
            if is_gone(error, location):
                return None
            raise
        return decode(body, _Shell).metadata

    async def delete(self, location: ObjectLocation, seen: GcMetadata, propagation: str) -> None:
        """Deletes an unchanged object if it still exists."""
        how = DeletionOptions(propagation=propagation, uid=seen.uid, version=seen.resource_version)
        try:
            await self._client.of(location.resource).delete((location.namespace, location.name), how)
        except StatusError as error:
            if not is_gone(error, location):
                raise

    async def list(self, resource: Resource, namespace: str = "") -> AsyncIterator[GcMetadata]:
        """All objects of a resource, in one namespace or all, page by page."""
        async for page in ResourceClient(self.listing, MetadataResource(resource)).pages(ListScope(namespace)):
            for found in page.items:
                yield found


def is_gone(error: StatusError, location: ObjectLocation) -> bool:
    """Whether the object itself was not found; a missing resource proves nothing."""
    return error.is_not_found and error.details.get("name") == location.name
