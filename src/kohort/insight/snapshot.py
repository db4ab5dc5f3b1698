"""One look at a cluster: its objects by kind, and an engine of our own that knows them and answers as a manager would.

`take(client, extra, home)` reads, concurrently, every kind that decisions depend on (`DECIDING`) and those in `extra`.
`snapshot.of(ClusterQueue)` then maps keys to objects; `snapshot.engine` explains, judges and sums; `snapshot.unseen`
lists what one may not see.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Final, TypeVar, get_args, overload

from kohort.api.codec import Json
from kohort.api.core.namespaces import Namespace
from kohort.api.kueue.v1beta2 import ClusterQueue, Workload
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.api.resource import Resource
from kohort.controllers.devices.claims import TEMPLATES
from kohort.engine.decisions import Reserve
from kohort.engine.engine import Engine
from kohort.engine.events import EngineObject, ObjectUpserted
from kohort.engine.settings import EngineSettings
from kohort.insight.devices import DeviceClaims, name_templates
from kohort.insight.listing import Asked, IncompleteKind, KindListing, read_kind, read_kinds, resource_asked
from kohort.insight.manager_settings import ObservedSettings, read_manager_settings
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.resource_types import UndecodableObject

T = TypeVar("T")

DECIDING: Final[tuple[type[Any], ...]] = (Workload, *(kind for kind in get_args(EngineObject) if kind is not Workload))
"""What decisions depend on: all that an engine takes; the longest list first, so that the others go beside it."""
NAME_LABEL: Final = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class NextTurn:
    """A cluster after one turn of its schedule."""

    engine: Engine
    admitted: frozenset[ObjectKey]
    """Who got quota in it."""


@dataclass(frozen=True)
class Snapshot:
    """A cluster as it was at one moment."""

    taken: datetime
    found: Mapping[Asked, KindListing]
    rules: ObservedSettings = field(default_factory=ObservedSettings)
    """By which the cluster's manager decides, as far as known."""

    @property
    def settings(self) -> EngineSettings:
        """What of its rules decisions depend on."""
        return self.rules.settings

    @overload
    def of(self, kind: type[T]) -> Mapping[ObjectKey, T]: ...
    @overload
    def of(self, kind: Resource) -> Mapping[ObjectKey, dict[str, Json]]: ...
    def of(self, kind: Asked) -> Mapping[ObjectKey, Any]:
        """Objects by (namespace, name) of a kind that was asked for; cluster-scoped ones have no namespace."""
        return self.found[kind].objects

    def sees(self, kind: Asked) -> bool:
        """Whether all objects of a kind are here."""
        return self.found[kind].unseen is None

    @property
    def unseen(self) -> tuple[IncompleteKind, ...]:
        """What could not be looked at, and why."""
        kinds = (read.unseen for read in self.found.values())
        return tuple(each for each in (*kinds, self.rules.unseen) if each is not None)

    @property
    def unreadable(self) -> tuple[tuple[str, UndecodableObject], ...]:
        """Kinds and objects that do not have the shape of their kind; nothing else here knows of them."""
        return tuple((resource_asked(kind).kind, bad) for kind, read in self.found.items() for bad in read.unreadable)

    @cached_property
    def engine(self) -> Engine:
        """An engine that knows all this and has decided nothing; made when first asked for."""
        return self._engine()

    @cached_property
    def next_turn(self) -> "NextTurn":
        """What the manager would decide now, taken on an engine of its own."""
        engine = self._engine()
        decided = engine.schedule(self.taken)
        return NextTurn(engine, frozenset(each.workload for each in decided if isinstance(each, Reserve)))

    def _engine(self) -> Engine:
        engine = Engine(self.settings)
        for kind in DECIDING[1:][::-1]:
            for each in self.found[kind].objects.values():
                engine.apply(ObjectUpserted(each), self.taken)
        for workload in self.of(Workload).values():
            self.claims.tell(engine, workload, self.taken)
        return engine

    @property
    def can_judge(self) -> bool:
        """Whether the engine knows enough for its answers to count: without ClusterQueues it knows of no quota."""
        return self.sees(ClusterQueue) and self.sees(Workload)

    @cached_property
    def claims(self) -> DeviceClaims:
        """What Workloads claim of devices."""
        return DeviceClaims(self.rules, self.found.get(TEMPLATES))


async def take_snapshot(client: Client, extra: Iterable[Asked] = (), home: str = "") -> Snapshot:
    """Look at everything that decisions depend on, and at some kinds more.

    `home` is the namespace to make do with where one may not look everywhere. Raises a StatusError that `is_not_found`
    where the server does not know Kueue's kinds.
    """
    try:
        async with asyncio.TaskGroup() as group:
            rules = group.create_task(read_manager_settings(client))
            reading = group.create_task(read_kinds(client, (*DECIDING, *extra), home))
    except ExceptionGroup as failures:
        raise _first(failures) from None
    found = reading.result()
    _require_kueue(found)
    found[Namespace] = await _with_home(client, found[Namespace], home)
    if TEMPLATES not in found and name_templates(found[Workload].objects.values(), rules.result()):
        found[TEMPLATES] = await read_kind(client, TEMPLATES, home)
    return Snapshot(client.clock.wall(), found, rules.result())


def _first(failures: ExceptionGroup) -> Exception:
    """What went wrong first; the rest was called off for it."""
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, ExceptionGroup) else failure


def _require_kueue(found: Mapping[Asked, KindListing]) -> None:
    unseen = found[Workload].unseen
    if unseen is not None and unseen.code == 404:
        raise StatusError(404, "NotFound", unseen.why)


async def _with_home(client: Client, read: KindListing, home: str) -> KindListing:
    """Namespaces with the one that is asked about, whose existence is known even to those who may not list any."""
    if read.unseen is None or not home:
        return read
    try:
        found = await client.of(Namespace).get(("", home))
    except StatusError as error:
        if error.code != 403:
            raise
        found = Namespace(metadata=ObjectMeta(name=home, labels={NAME_LABEL: home}))
    return KindListing(
        {ObjectKey("", home): found}, IncompleteKind("Namespace", read.unseen.why, seen_in=home), read.unreadable
    )
