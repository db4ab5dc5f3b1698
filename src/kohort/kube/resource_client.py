"""The client of one resource: get, list, watch, write, delete, and subresources."""

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
    DEFAULT_DELETION,
    EVERYTHING,
    PLAIN,
    WHOLE_LOG,
    DeletionOptions,
    ListScope,
    LogOptions,
    WriteOptions,
    query,
)
from kohort.kube.patches import ApplyPatch, Patch
from kohort.kube.resource_types import ListPage, ResourceType, UndecodableObject, body_of_struct
from kohort.kube.transport import Query, Request
from kohort.kube.watch import Watch

if TYPE_CHECKING:
    from kohort.kube.client import Client

T = TypeVar("T")

PAGE_SIZE = 500
JSON = {"Content-Type": "application/json"}
WATCH_SLACK = 15.0
"""Seconds beyond its timeout after which a watch connection counts as dead."""

AnyKey = ObjectKey | tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class ListResult(Generic[T]):
    """A complete list."""

    items: tuple[T, ...]
    version: str
    unreadable: tuple[UndecodableObject, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceClient(Generic[T]):
    """The objects of one resource on one API server."""

    client: Client
    kind: ResourceType[T]

    # Reading

    async def get(self, key: AnyKey) -> T:
        """One object; raises a StatusError with `is_not_found` if it does not exist."""
        return self.kind.read(await self.client.call(Request("GET", self._path(key))))

    async def page(self, scope: ListScope = EVERYTHING, *, limit: int = 0, start: str = "") -> ListPage[T]:
        """One page of a consistent list; `start` is the `next` of the previous page."""
        asked = scope.query() + query((("limit", limit), ("continue", start)))
        return self.kind.page(await self.client.call(Request("GET", self._collection(scope), asked)))

    async def pages(self, scope: ListScope = EVERYTHING, *, limit: int = PAGE_SIZE) -> AsyncIterator[ListPage[T]]:
        """A list page by page; raises a StatusError with `is_expired` if reading takes too long."""
        page = await self.page(scope, limit=limit)
        yield page
        while page.next:
            page = await self.page(scope, limit=limit, start=page.next)
            yield page

    async def list(self, scope: ListScope = EVERYTHING) -> ListResult[T]:
        """The complete list; in one request if the pages expire."""
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
        """Watch from a resource version for at most so many seconds; the context is entered when the watch is open."""
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
        """Create an object; the namespace defaults to the object's."""
        place = namespace or self.kind.identity(obj).key.namespace
        request = Request("POST", self.kind.resource.path(place), options.query(), JSON, self.kind.body(obj))
        return self.kind.read(await self.client.call(request))

    async def update(self, obj: T, options: WriteOptions = PLAIN, subresource: str = "") -> T:
        """Replace an object; raises a conflict if its resourceVersion is outdated."""
        if isinstance(obj, KindView):
            raise ApiError(f"cannot update {obj.KIND} from a partial view: patch it, or read it as a raw resource")
        path = self._path(self.kind.identity(obj).key, subresource)
        return self.kind.read(await self.client.call(Request("PUT", path, options.query(), JSON, self.kind.body(obj))))

    async def patch(self, key: AnyKey, patch: Patch, options: WriteOptions = PLAIN, subresource: str = "") -> T:
        """Patch an object."""
        headers = {"Content-Type": patch.media_type}
        request = Request("PATCH", self._path(key, subresource), options.query() + patch.query(), headers, patch.body())
        return self.kind.read(await self.client.call(request, idempotent=patch.is_idempotent))

    async def apply(self, key: AnyKey, patch: ApplyPatch, manager: str, subresource: str = "") -> T:
        """Server-side apply with a field manager."""
        return await self.patch(key, patch, WriteOptions(field_manager=manager), subresource)

    async def delete(self, key: AnyKey, how: DeletionOptions = DEFAULT_DELETION) -> None:
        """Delete an object; finalizers may delay that."""
        await self.client.call(Request("DELETE", self._path(key), (), JSON, how.body()))

    async def delete_collection(self, scope: ListScope, how: DeletionOptions = DEFAULT_DELETION) -> None:
        """Delete all objects of a scope."""
        await self.client.call(Request("DELETE", self._collection(scope), scope.query(), JSON, how.body()))

    # Subresources

    async def scale(self, key: AnyKey) -> Scale:
        """The current and desired number of replicas."""
        return decode(await self.client.call(Request("GET", self._path(key, "scale"))), Scale)

    async def evict(self, key: AnyKey, how: DeletionOptions = DEFAULT_DELETION) -> None:
        """Evict a pod, subject to PodDisruptionBudgets."""
        namespace, name = key
        body = Eviction(
            metadata=ObjectMeta(name=name, namespace=namespace),
            delete_options=None if how == DEFAULT_DELETION else how.options(),
        )
        await self._post(key, "eviction", body_of_struct(body))

    async def post(self, key: AnyKey, subresource: str, body: Json) -> bytes:
        """Post to another subresource, such as `token` of a ServiceAccount."""
        return await self._post(key, subresource, encode(body))

    async def log(self, key: AnyKey, options: LogOptions = WHOLE_LOG) -> bytes:
        """The log of a pod."""
        return await self.client.call(self._log_request(key, options.query()))

    async def follow_log(self, key: AnyKey, options: LogOptions = WHOLE_LOG) -> AsyncIterator[bytes]:
        """The log of a pod as it is written, until its container ends."""
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
            raise ApiError(f"no name given for {self.kind.resource.kind}")
        return self.kind.resource.path(namespace, name, subresource)

    def _collection(self, scope: ListScope) -> str:
        return self.kind.resource.path(scope.namespace)
