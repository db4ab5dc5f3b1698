"""Lists of many kinds at once, a few requests at a time; what one may not see is told, and does not stop the rest."""

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

AT_ONCE: Final = 4
"""Requests under way; each takes a connection, and the handshake of one costs more than most lists."""

Asked = type[Any] | Resource
"""A struct of `kohort.api`, or a resource to be read as plain JSON."""


@dataclass(frozen=True, slots=True)
class IncompleteKind:
    """A kind of which not everything could be read."""

    kind: str
    why: str
    """One line, in the server's words."""
    code: int = 403
    """403 where one may not, 404 where the server has no such kind, 422 where it makes no sense."""
    seen_in: str = ""
    """The one namespace of which it could be read; empty where nothing could."""


@dataclass(frozen=True, slots=True)
class KindListing:
    """All objects of one kind, as far as they could be seen."""

    objects: Mapping[ObjectKey, Any] = field(default_factory=dict)
    unseen: IncompleteKind | None = None
    unreadable: tuple[UndecodableObject, ...] = ()


def kind_of(asked: Asked) -> ResourceType[Any]:
    """How objects of a kind are read."""
    return unstructured_resource(asked) if isinstance(asked, Resource) else typed_resource(asked)


def resource_asked(asked: Asked) -> Resource:
    """The resource that is meant."""
    return asked if isinstance(asked, Resource) else resource_of(asked)


async def read_kinds(client: Client, kinds: Iterable[Asked], home: str) -> dict[Asked, KindListing]:
    """Every object of these kinds; where one may not look everywhere, those of the namespace `home`."""
    free = asyncio.Semaphore(AT_ONCE)
    wanted = list(dict.fromkeys(kinds))

    async def read(asked: Asked) -> KindListing:
        async with free:
            return await read_kind(client, asked, home)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(asked)) for asked in wanted]
    return {asked: task.result() for asked, task in zip(wanted, tasks, strict=True)}


async def served(client: Client, resources: Iterable[Resource]) -> list[Resource]:
    """Those of some resources whose API group the server has: who may not list a kind learns nothing of its absence."""
    groups = (await client.get_json("/apis")).get("groups") or ()
    names = {each.get("name") for each in groups}
    return [each for each in resources if each.group in names]


async def read_kind(client: Client, asked: Asked, home: str) -> KindListing:
    """Every object of a kind, or as much as one may see; raises what is no refusal."""
    kind = kind_of(asked)
    try:
        return _read(kind, await client.of(kind).list(EVERYTHING))
    except StatusError as error:
        if not _is_refusal(error):
            raise
        if home and kind.resource.namespaced and error.code == 403:
            return await _read_home(client, kind, home, str(error))
        return KindListing(unseen=IncompleteKind(kind.resource.kind, str(error), error.code))


async def _read_home(client: Client, kind: ResourceType[Any], home: str, why: str) -> KindListing:
    try:
        found = _read(kind, await client.of(kind).list(ListScope(home)))
    except StatusError as error:
        if not _is_refusal(error):
            raise
        return KindListing(unseen=IncompleteKind(kind.resource.kind, str(error), error.code))
    return KindListing(found.objects, IncompleteKind(kind.resource.kind, why, seen_in=home), found.unreadable)


def _is_refusal(error: StatusError) -> bool:
    """Whether it is about us and this kind: no right to list it, or no such kind."""
    return error.code in (403, 404, 405)


def _read(kind: ResourceType[Any], listing: ListResult[Any]) -> KindListing:
    objects = {kind.identity(each).key: each for each in listing.items}
    return KindListing(objects, None, listing.unreadable)
