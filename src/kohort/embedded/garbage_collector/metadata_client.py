"""Objects seen by their metadata alone: who they are, who owns them, and what holds them back from going.

Servers send nothing else when asked so, and nothing else is kept: the collector follows every kind there is.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

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
"""Finalizers by which a server hands the dependents of an object to the collector."""

_ONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_MANY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_MERGE = {"Accept": _ONE, "Content-Type": MergePatch.media_type}


class ObjectLocation(NamedTuple):
    """Where an object lives, whichever life of it that is."""

    resource: Resource
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.resource.kind} {where}"


class GcMetadata(View):
    """What the collector reads of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str = ""
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def is_leaving(self) -> bool:
        """Whether it has been deleted and only waits to go."""
        return bool(self.deletion_timestamp)

    @property
    def is_orphaning(self) -> bool:
        """Whether it waits for its dependents to be let go."""
        return self.is_leaving and ORPHAN in self.finalizers

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for its dependents to be deleted."""
        return self.is_leaving and FOREGROUND in self.finalizers

    def references(self, uid: str) -> list[OwnerReference]:
        """The references that name an owner."""
        return [reference for reference in self.owner_references if reference.uid == uid]

    def blocks(self, uid: str) -> bool:
        """Whether an owner that waits for its dependents must wait for this one."""
        return any(reference.block_owner_deletion for reference in self.references(uid))


class _Shell(View):
    metadata: GcMetadata = GcMetadata()


@dataclass(frozen=True)
class MetadataResource(ResourceType[GcMetadata]):
    """Objects of any resource as their metadata; they can't be written back."""

    def read(self, data: Data) -> GcMetadata:
        """The metadata."""
        return decode(data, _Shell).metadata

    def identity(self, obj: GcMetadata) -> ObjectIdentity:
        """As the metadata says."""
        return ObjectIdentity(ObjectKey(obj.namespace, obj.name), obj.uid, obj.resource_version)

    def body(self, obj: GcMetadata) -> bytes:
        """Never."""
        raise ApiError(f"{obj.name} is known by its metadata only and can't be written whole: patch it")

    def _item(self, data: msgspec.Raw) -> GcMetadata:
        return self.read(data)


@dataclass(frozen=True, slots=True)
class MetadataTransport:
    """Another transport that asks for metadata in every list and watch."""

    inner: Transport

    async def send(self, request: Request, timeout: float) -> Response:
        """Ask for less."""
        form = _ONE if ("watch", "1") in request.query else _MANY
        return await self.inner.send(replace(request, headers={**request.headers, "Accept": form}), timeout)

    async def close(self) -> None:
        """Close the other one."""
        await self.inner.close()


def _nobody_minds(_: str) -> None:
    """That a kind is deprecated is said to whoever chose it; the collector lists them all."""


class MetadataClient:
    """The live metadata of objects, read and changed one by one."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.listing = replace(client, transport=MetadataTransport(client.transport), on_warning=_nobody_minds)
        """The same client, for lists and watches."""

    async def get(self, place: ObjectLocation) -> GcMetadata | None:
        """An object as it is now; None where there is none of that name."""
        try:
            body = await self._client.call(
                Request("GET", place.resource.path(place.namespace, place.name), (), {"Accept": _ONE})
            )
        except StatusError as error:
            if is_gone(error, place):
                return None
            raise
        return decode(body, _Shell).metadata

    async def amend(self, place: ObjectLocation, seen: GcMetadata, change: Mapping[str, Json]) -> GcMetadata | None:
        """Change the metadata of an object that is still as it was seen; None when it has gone meanwhile."""
        state = {"uid": seen.uid, "resourceVersion": seen.resource_version, **change}
        patch = MergePatch({"metadata": state})
        path = place.resource.path(place.namespace, place.name)
        try:
            body = await self._client.call(Request("PATCH", path, (), _MERGE, patch.body()))
        except StatusError as error:
            if is_gone(error, place):
                return None
            raise
        return decode(body, _Shell).metadata

    async def delete(self, place: ObjectLocation, seen: GcMetadata, propagation: str) -> None:
        """Delete an object that is still as it was seen, if it is still there."""
        how = DeletionOptions(propagation=propagation, uid=seen.uid, version=seen.resource_version)
        try:
            await self._client.of(place.resource).delete((place.namespace, place.name), how)
        except StatusError as error:
            if not is_gone(error, place):
                raise

    async def list(self, resource: Resource, namespace: str = "") -> AsyncIterator[GcMetadata]:
        """All objects of a resource, in one namespace or in all, page by page."""
        async for page in ResourceClient(self.listing, MetadataResource(resource)).pages(ListScope(namespace)):
            for found in page.items:
                yield found


def is_gone(error: StatusError, place: ObjectLocation) -> bool:
    """Whether the object itself is not there; a server that does not serve its kind now proves nothing."""
    return error.is_not_found and error.details.get("name") == place.name
