"""What can be done with the objects of one kind: read, list, watch, write, delete, and their subresources."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from kohort.api.codec import Json, decode, encode
from kohort.api.core.bodies import Eviction, Scale
from kohort.api.core.objects import KindView
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.kube.errors import StatusError
from kohort.kube.options import (
    AS_USUAL,
    EVERYTHING,
    PLAIN,
    WHOLE_LOG,
    DeletionOptions,
    ListScope,
    LogOptions,
    WriteOptions,
    query,
)
from kohort.kube.patches import ApplyPatch, MergePatch, Patch
from kohort.kube.resource_types import ListPage, ResourceType, UndecodableObject, body_of_struct
from kohort.kube.transport import Query, Request
from kohort.kube.watch import Watch

if TYPE_CHECKING:
    from kohort.kube.client import Client

T = TypeVar("T")

PAGE_SIZE = 500
JSON = {"Content-Type": "application/json"}
WATCH_SLACK = 15.0
"""Seconds that a watch may outlive the time it asked for before its connection counts as dead."""

AnyKey = ObjectKey | tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class ListResult(Generic[T]):
    """A whole list."""

    items: tuple[T, ...]
    version: str
    unreadable: tuple[UndecodableObject, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceClient(Generic[T]):
    """The objects of one kind on one API server."""

    client: Client
    kind: ResourceType[T]

    # Reading

    async def get(self, key: AnyKey) -> T:
        """One object; raises a StatusError that `is_not_found` where there is none."""
        return self.kind.read(await self.client.call(Request("GET", self._path(key))))

    async def page(self, scope: ListScope = EVERYTHING, *, limit: int = 0, start: str = "") -> ListPage[T]:
        """One page of a list, the newest state of all; `start` is the `next` of the page before."""
        asked = scope.query() + query((("limit", limit), ("continue", start)))
        return self.kind.page(await self.client.call(Request("GET", self._collection(scope), asked)))

    async def pages(self, scope: ListScope = EVERYTHING, *, limit: int = PAGE_SIZE) -> AsyncIterator[ListPage[T]]:
        """A list page by page; raises a StatusError that `is_expired` when it took the reader too long."""
        page = await self.page(scope, limit=limit)
        yield page
        while page.next:
            page = await self.page(scope, limit=limit, start=page.next)
            yield page

    async def list(self, scope: ListScope = EVERYTHING) -> ListResult[T]:
        """The whole list; in one piece where it changes too fast for pages."""
        try:
            found = [page async for page in self.pages(scope)]
        except StatusError as error:
            if not error.is_expired:
                raise
            found = [await self.page(scope)]
        items = tuple(item for page in found for item in page.items)
        return ListResult(items, found[-1].version, tuple(bad for page in found for bad in page.unreadable))

    @asynccontextmanager
    async def watch(self, since: str, scope: ListScope = EVERYTHING, *, seconds: int = 300) -> AsyncIterator[Watch[T]]:
        """What happens after a revision, for at most so long; open once the server has agreed."""
        options = (("watch", "1"), ("allowWatchBookmarks", "true"), ("resourceVersion", since))
        asked = (*scope.query(), *options, ("timeoutSeconds", str(seconds)))
        request = Request("GET", self._collection(scope), asked)
        response = await self.client.open(request, seconds + WATCH_SLACK)
        try:
            yield Watch(response, self.kind)
        finally:
            await response.close()

    # Writing

    async def create(self, obj: T, namespace: str = "", options: WriteOptions = PLAIN) -> T:
        """Create; the namespace is the object's own unless given."""
        place = namespace or self.kind.identity(obj).key.namespace
        request = Request("POST", self.kind.resource.path(place), options.query(), JSON, self.kind.body(obj))
        return self.kind.read(await self.client.call(request))

    async def update(self, obj: T, options: WriteOptions = PLAIN, subresource: str = "") -> T:
        """Replace the object; its resourceVersion decides whether somebody else was first."""
        if isinstance(obj, KindView):
            raise ApiError(f"a view of {obj.KIND} does not know all its fields: patch it, or read it with `foreign`")
        path = self._path(self.kind.identity(obj).key, subresource)
        return self.kind.read(await self.client.call(Request("PUT", path, options.query(), JSON, self.kind.body(obj))))

    async def patch(self, key: AnyKey, patch: Patch, options: WriteOptions = PLAIN, subresource: str = "") -> T:
        """Change a part of the object."""
        headers = {"Content-Type": patch.media_type}
        request = Request("PATCH", self._path(key, subresource), options.query() + patch.query(), headers, patch.body())
        return self.kind.read(await self.client.call(request, idempotent=patch.is_idempotent))

    async def apply(self, key: AnyKey, patch: ApplyPatch, manager: str, subresource: str = "") -> T:
        """Server-side apply in the name of a field manager."""
        return await self.patch(key, patch, WriteOptions(field_manager=manager), subresource)

    async def delete(self, key: AnyKey, how: DeletionOptions = AS_USUAL) -> None:
        """Delete; finalizers may keep the object for a while."""
        await self.client.call(Request("DELETE", self._path(key), (), JSON, how.body()))

    async def delete_collection(self, scope: ListScope, how: DeletionOptions = AS_USUAL) -> None:
        """Delete all that a scope selects."""
        await self.client.call(Request("DELETE", self._collection(scope), scope.query(), JSON, how.body()))

    # Subresources

    async def scale(self, key: AnyKey) -> Scale:
        """How many replicas there are and should be."""
        return decode(await self.client.call(Request("GET", self._path(key, "scale"))), Scale)

    async def rescale(self, key: AnyKey, replicas: int) -> Scale:
        """Set how many replicas there should be."""
        patch = MergePatch({"spec": {"replicas": replicas}})
        headers = {"Content-Type": patch.media_type}
        request = Request("PATCH", self._path(key, "scale"), (), headers, patch.body())
        return decode(await self.client.call(request, idempotent=True), Scale)

    async def evict(self, key: AnyKey, how: DeletionOptions = AS_USUAL) -> None:
        """Ask a pod to leave, as far as disruption budgets allow."""
        namespace, name = key
        body = Eviction(
            metadata=ObjectMeta(name=name, namespace=namespace),
            delete_options=None if how == AS_USUAL else how.options(),
        )
        await self._post(key, "eviction", body_of_struct(body))

    async def bind(self, key: AnyKey, node: str) -> None:
        """Place a pod on a node."""
        namespace, name = key
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        metadata = {"namespace": namespace, "name": name}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        await self._post(key, "binding", encode(binding))

    async def post(self, key: AnyKey, subresource: str, body: Json) -> bytes:
        """Post to any other subresource, such as a service account's `token`."""
        return await self._post(key, subresource, encode(body))

    async def log(self, key: AnyKey, options: LogOptions = WHOLE_LOG) -> bytes:
        """What a pod has written so far."""
        return await self.client.call(self._log_request(key, options.query()))

    async def follow_log(self, key: AnyKey, options: LogOptions = WHOLE_LOG) -> AsyncIterator[bytes]:
        """What a pod writes, as it does, until its container ends."""
        request = self._log_request(key, (*options.query(), ("follow", "true")))
        response = await self.client.open(request, float("inf"))
        try:
            async for chunk in response.chunks():
                yield chunk
        finally:
            await response.close()

    def _log_request(self, key: AnyKey, asked: Query) -> Request:
        return Request("GET", self._path(key, "log"), asked, {"Accept": "*/*"})

    async def _post(self, key: AnyKey, subresource: str, body: bytes) -> bytes:
        return await self.client.call(Request("POST", self._path(key, subresource), (), JSON, body))

    def _path(self, key: AnyKey, subresource: str = "") -> str:
        namespace, name = key
        if not name:
            raise ApiError(f"no name for a {self.kind.resource.kind}: name the object")
        return self.kind.resource.path(namespace, name, subresource)

    def _collection(self, scope: ListScope) -> str:
        return self.kind.resource.path(scope.namespace)
