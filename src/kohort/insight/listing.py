"""Lists many kinds concurrently; kinds that cannot be listed are reported and do not fail the others."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.options import EVERYTHING, ListScope
from kohort.kube.resource_client import ListResult
from kohort.kube.resource_types import (
    ResourceType,
    UndecodableObject,
    resource_of,
    typed_resource,
    unstructured_resource,
)

MAX_CONCURRENT: Final = 4
"""Concurrent requests; each needs a connection, whose handshake takes longer than most lists."""

ManifestKind = type[Any] | Resource
"""A struct of `kohort.api`, or a resource to be decoded as JSON."""
ListedKind = ManifestKind | ResourceType[Any]
"""The same, or a resource with a decoder of its own."""


@dataclass(frozen=True, slots=True)
class IncompleteKind:
    """A kind that could not be listed completely."""

    kind: str
    why: str
    """The message of the server."""
    code: int = 403
    """403 if forbidden, 404 if not served, 422 if invalid."""
    seen_in: str = ""
    """The only namespace that could be listed; empty if none."""


@dataclass(frozen=True, slots=True)
class KindListing:
    """All objects of one kind that could be listed."""

    objects: Mapping[ObjectKey, Any] = field(default_factory=dict)
    unseen: IncompleteKind | None = None
    unreadable: tuple[UndecodableObject, ...] = ()


def kind_of(listed: ListedKind) -> ResourceType[Any]:
    """The decoder of a kind."""
    if isinstance(listed, ResourceType):
        return listed
    return unstructured_resource(listed) if isinstance(listed, Resource) else typed_resource(listed)


def listed_resource(listed: ListedKind) -> Resource:
    """The resource of a kind."""
    if isinstance(listed, ResourceType):
        return listed.resource
    return listed if isinstance(listed, Resource) else resource_of(listed)


async def read_kinds(client: Client, kinds: Iterable[ListedKind], home: str) -> dict[ListedKind, KindListing]:
    """All objects of these kinds; those of the namespace `home` if listing all namespaces is forbidden."""
    free = asyncio.Semaphore(MAX_CONCURRENT)
    wanted = list(dict.fromkeys(kinds))

    async def read(listed: ListedKind) -> KindListing:
        async with free:
            return await read_kind(client, listed, home)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(listed)) for listed in wanted]
    return {listed: task.result() for listed, task in zip(wanted, tasks, strict=True)}


async def served(client: Client, resources: Iterable[Resource]) -> list[Resource]:
    """The resources whose API group is served: a forbidden list does not show whether a kind exists."""
    groups = (await client.get_json("/apis")).get("groups") or ()
    names = {each.get("name") for each in groups}
    return [each for each in resources if each.group in names]


async def read_kind(client: Client, listed: ListedKind, home: str) -> KindListing:
    """All objects of a kind that may be listed; raises errors other than 403, 404 and 405."""
    kind = kind_of(listed)
    try:
        return _read(kind, await client.of(kind).list(EVERYTHING))
    except StatusError as error:
        if not _is_unavailable(error):
            raise
        if home and kind.resource.namespaced and error.code == 403:
            return await _read_home(client, kind, home, str(error))
        return KindListing(unseen=IncompleteKind(kind.resource.kind, str(error), error.code))


async def _read_home(client: Client, kind: ResourceType[Any], home: str, why: str) -> KindListing:
    try:
        found = _read(kind, await client.of(kind).list(ListScope(home)))
    except StatusError as error:
        if not _is_unavailable(error):
            raise
        return KindListing(unseen=IncompleteKind(kind.resource.kind, str(error), error.code))
    return KindListing(found.objects, IncompleteKind(kind.resource.kind, why, seen_in=home), found.unreadable)


def _is_unavailable(error: StatusError) -> bool:
    """Whether the kind may not be listed, or is not served."""
    return error.code in (403, 404, 405)


def _read(kind: ResourceType[Any], listing: ListResult[Any]) -> KindListing:
    objects = {kind.identity(each).key: each for each in listing.items}
    return KindListing(objects, None, listing.unreadable)
