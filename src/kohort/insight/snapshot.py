"""A snapshot of a cluster: its objects by kind, and an engine loaded with them.

`take_snapshot(client, extra, home)` lists all kinds that decisions depend on (`DECIDING`) and those of `extra`.
`snapshot.of(ClusterQueue)` maps keys to objects; `snapshot.engine` explains and evaluates; `snapshot.unseen` has the
kinds that could not be listed.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Final, TypeVar, get_args, overload

from kohort.api.codec import Json
from kohort.api.core.namespaces import Namespace
from kohort.api.kueue.v1beta2 import ClusterQueue, ResourceFlavor, Workload
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.api.resource import Resource
from kohort.controllers.devices.claims import TEMPLATES
from kohort.controllers.topology.node_usage import NodeUsageTotals
from kohort.controllers.topology.pods import PODS, PodRecord
from kohort.engine.decisions import Reserve
from kohort.engine.engine import Engine
from kohort.engine.events import EngineObject, NodeUsageChanged, ObjectUpserted
from kohort.engine.settings import EngineSettings
from kohort.insight.devices import DeviceClaims, name_templates
from kohort.insight.listing import IncompleteKind, KindListing, ListedKind, listed_resource, read_kind, read_kinds
from kohort.insight.manager_settings import ObservedSettings, read_manager_settings
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.resource_types import ResourceType, UndecodableObject

T = TypeVar("T")

DECIDING: Final[tuple[type[Any], ...]] = (Workload, *(kind for kind in get_args(EngineObject) if kind is not Workload))
"""All kinds that an engine takes; the longest list first, so that the others are read concurrently."""
NAME_LABEL: Final = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class NextRun:
    """A cluster after one scheduling run."""

    engine: Engine
    admitted: frozenset[ObjectKey]
    """Workloads with reserved quota after it."""


@dataclass(frozen=True)
class Snapshot:
    """A consistent read of a cluster."""

    taken: datetime
    found: Mapping[ListedKind, KindListing]
    rules: ObservedSettings = field(default_factory=ObservedSettings)
    """Settings of the cluster's manager, as far as known."""

    @property
    def settings(self) -> EngineSettings:
        """The settings of the engine."""
        return self.rules.settings

    @overload
    def of(self, kind: type[T]) -> Mapping[ObjectKey, T]: ...
    @overload
    def of(self, kind: Resource) -> Mapping[ObjectKey, dict[str, Json]]: ...
    @overload
    def of(self, kind: ResourceType[T]) -> Mapping[ObjectKey, T]: ...
    def of(self, kind: ListedKind) -> Mapping[ObjectKey, Any]:
        """Objects of a kind by key; cluster-scoped ones have no namespace."""
        return self.found[kind].objects

    def sees(self, kind: ListedKind) -> bool:
        """Whether all objects of a kind could be listed."""
        return self.found[kind].unseen is None

    @property
    def unseen(self) -> tuple[IncompleteKind, ...]:
        """Kinds that could not be listed completely."""
        kinds = (read.unseen for read in self.found.values())
        return tuple(each for each in (*kinds, self.rules.unseen) if each is not None)

    @property
    def unreadable(self) -> tuple[tuple[str, UndecodableObject], ...]:
        """Kinds and objects that could not be decoded; they are not part of the snapshot."""
        return tuple((listed_resource(kind).kind, bad) for kind, read in self.found.items() for bad in read.unreadable)

    @cached_property
    def engine(self) -> Engine:
        """An engine loaded with the objects, before any scheduling run; created on demand."""
        return self._engine()

    @cached_property
    def next_run(self) -> "NextRun":
        """The result of a scheduling run now, on a separate engine."""
        engine = self._engine()
        decided = engine.schedule(self.taken)
        return NextRun(engine, frozenset(each.workload for each in decided if isinstance(each, Reserve)))

    def _engine(self) -> Engine:
        engine = Engine(self.settings)
        for kind in DECIDING[1:][::-1]:
            for each in self.found[kind].objects.values():
                engine.apply(ObjectUpserted(each), self.taken)
        for workload in self.of(Workload).values():
            self.claims.apply(engine, workload, self.taken)
        totals = self._node_usage()
        for node in totals.nodes:
            engine.apply(NodeUsageChanged(node, totals.of(node)), self.taken)
        return engine

    def _node_usage(self) -> NodeUsageTotals:
        """Usage of nodes by pods that have no topology assignment; pods are listed only for flavors with a topology."""
        totals = NodeUsageTotals()
        pods: Mapping[ObjectKey, PodRecord] = self.of(PODS) if PODS in self.found else {}
        for pod in pods.values():
            totals.put(pod)
        return totals

    @property
    def can_evaluate(self) -> bool:
        """Whether the engine has all ClusterQueues and Workloads, without which its results would be wrong."""
        return self.sees(ClusterQueue) and self.sees(Workload)

    @cached_property
    def claims(self) -> DeviceClaims:
        """Device claims of Workloads."""
        return DeviceClaims(self.rules, self.found.get(TEMPLATES))


async def take_snapshot(client: Client, extra: Iterable[ListedKind] = (), home: str = "") -> Snapshot:
    """List all kinds that decisions depend on, and those of `extra`.

    `home` is the namespace to list if listing all namespaces is forbidden. Raises a StatusError that `is_not_found` if
    the server does not serve Kueue's kinds.
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
    if any(flavor.spec.topology_name for flavor in found[ResourceFlavor].objects.values()):
        found[PODS] = await read_kind(client, PODS, "")
    return Snapshot(client.clock.wall(), found, rules.result())


def _first(failures: ExceptionGroup) -> Exception:
    """The first error; the other tasks were cancelled because of it."""
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, ExceptionGroup) else failure


def _require_kueue(found: Mapping[ListedKind, KindListing]) -> None:
    unseen = found[Workload].unseen
    if unseen is not None and unseen.code == 404:
        raise StatusError(404, "NotFound", unseen.why)


async def _with_home(client: Client, read: KindListing, home: str) -> KindListing:
    """Namespaces with `home`, which exists even if namespaces cannot be listed."""
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
