"""Deletes objects without owners and processes the foreground and orphan finalizers of owners.

The graph selects candidates; decisions are based on live reads, and every write is conditional on the version it was
based on (UID and resourceVersion). A stale cache costs a read, never an object.
"""

import logging
from collections.abc import AsyncIterator, Iterable, Sequence

import msgspec

from kohort.api.codec import Json
from kohort.api.core.objects import ObjectReference
from kohort.api.meta import OwnerReference
from kohort.embedded.garbage_collector.gc_decisions import Delete, Detach, GcDecision, OwnerRefState, OwnerState, decide
from kohort.embedded.garbage_collector.graph import DependencyGraph, GraphKey, GraphNode
from kohort.embedded.garbage_collector.metadata_client import (
    FOREGROUND,
    ORPHAN,
    GcMetadata,
    MetadataClient,
    ObjectLocation,
)
from kohort.embedded.garbage_collector.monitors import Monitors
from kohort.embedded.garbage_collector.owners import MisplacedOwnerError, Owners, UnknownOwnerError
from kohort.kube.backoff import Backoff
from kohort.kube.client import Client
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.events import EventRecorder, EventToRecord
from kohort.kube.workqueue import RetryLimits, WorkQueue

log = logging.getLogger(__name__)

NAME = "garbage-collector-controller"
WORKERS = 16
UNSEEN_SECONDS = 1.0
"""Seconds until an owner that exists but is in no cache is checked again."""
UNWATCHED_SECONDS = 30.0
"""Seconds until an owner of a kind that is not watched or not served is checked again."""
_LIMITS = RetryLimits(Backoff(base=0.005, cap=60.0, jitter=0.0), rate=50.0, burst=500)


class GarbageCollector:
    """Processes owners and dependents."""

    def __init__(
        self, client: Client, metadata_client: MetadataClient, monitors: Monitors, recorder: EventRecorder
    ) -> None:
        self.graph = DependencyGraph()
        self._metadata_client = metadata_client
        self._monitors = monitors
        self._recorder = recorder
        self._owners = Owners(metadata_client, monitors)
        self._queue = WorkQueue[GraphKey](client.clock, NAME, _LIMITS, client.metrics)
        self._controller = Controller(NAME, self._queue, self.reconcile, client.clock, client.metrics)
        monitors.subscribe(self._on_change)

    def start(self) -> None:
        """Starts the workers; the monitors should have synced, or every initial list causes work."""
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Finishes reconciles in progress."""
        await self._controller.stop()

    def _on_change(self, old: GraphNode | None, new: GraphNode | None) -> None:
        if new is not None:
            self._add(self.graph.put(new))
        elif old is not None:
            self._add(self.graph.remove(old))

    def _add(self, items: Iterable[GraphKey]) -> None:
        for item in items:
            self._queue.add(item)

    async def reconcile(self, item: GraphKey) -> RequeueAfter | None:
        """Processes an object's owners or its own finalizers."""
        node = self.graph.node(item.uid)
        if node is None:
            return None
        if node.metadata.is_orphaning:
            await self._orphan_dependents(node)
        elif node.metadata.is_waiting:
            return await self._await_dependents(node)
        elif not node.metadata.is_terminating and not self.graph.has_live_owners(node):
            return await self._process(node)
        return None

    # Objects with owners

    async def _process(self, node: GraphNode) -> RequeueAfter | None:
        """Reads the object and its owners live and acts on the decision."""
        live = await self._metadata_client.get(node.location)
        if live is None or live.uid != node.metadata.uid or live.is_terminating:
            return None
        self._report_unreachable_owners(node.location, live)
        try:
            owners = [await self._owners.classify(node.location, each) for each in live.owner_references]
        except UnknownOwnerError as error:
            log.debug("keeping %s: %s", node.location, error)
            return RequeueAfter(UNWATCHED_SECONDS)
        except MisplacedOwnerError as error:
            self._report(node.location, live, error.reference)
            return None
        dependents = len(self.graph.dependents(live.uid))
        await self._execute(node.location, live, decide(live, owners, dependents))
        return self._requeue(node.location, owners)

    async def _execute(self, location: ObjectLocation, live: GcMetadata, decided: GcDecision) -> None:
        match decided:
            case Detach(references):
                await self._detach(location, live, references)
            case Delete(propagation):
                log.debug("deleting %s: its owners are gone", location)
                await self._metadata_client.delete(location, live, propagation)

    def _requeue(self, child: ObjectLocation, owners: Sequence[OwnerRefState]) -> RequeueAfter | None:
        """Requeues the child: an owner may be created and deleted between two lists without any event."""
        solid = (owned.reference for owned in owners if owned.state is OwnerState.SOLID)
        unseen = [each for each in solid if self.graph.node(each.uid) is None]
        if not unseen:
            return None
        watched = all(self._monitors.is_watched(self._owners.location(child, each).resource) for each in unseen)
        return RequeueAfter(UNSEEN_SECONDS if watched else UNWATCHED_SECONDS)

    async def _detach(self, location: ObjectLocation, live: GcMetadata, references: Iterable[OwnerReference]) -> None:
        dropped = list(references)
        kept = [each for each in live.owner_references if each not in dropped]
        await self._metadata_client.amend(location, live, {"ownerReferences": msgspec.to_builtins(kept) or None})

    # Terminating owners

    async def _await_dependents(self, owner: GraphNode) -> RequeueAfter | None:
        """Foreground: enqueues the dependents; the owner waits for those that block it."""
        uid = owner.metadata.uid
        if self.graph.blocking(uid):
            return None
        async for _, child in self._live_dependents(owner):
            if child.blocks(uid) and not self.graph.has_blocking(child.uid, uid):
                return RequeueAfter(UNSEEN_SECONDS)
        await self._release(owner, FOREGROUND)
        return None

    async def _orphan_dependents(self, owner: GraphNode) -> None:
        """Orphan: removes the owner from all dependents, then its finalizer."""
        async for location, child in self._live_dependents(owner):
            await self._detach(location, child, child.references(owner.metadata.uid))
        await self._release(owner, ORPHAN)

    async def _live_dependents(self, owner: GraphNode) -> AsyncIterator[tuple[ObjectLocation, GcMetadata]]:
        """Dependents by live lists, since caches may not show the newest ones yet."""
        namespace = owner.location.namespace
        for resource in self._monitors.watched:
            if resource.namespaced or not namespace:
                async for child in self._metadata_client.list(resource, namespace):
                    if child.references(owner.metadata.uid):
                        yield ObjectLocation(resource, child.namespace, child.name), child

    async def _release(self, owner: GraphNode, finalizer: str) -> None:
        live = await self._metadata_client.get(owner.location)
        if live is None or live.uid != owner.metadata.uid or finalizer not in live.finalizers:
            return
        kept: Json = [each for each in live.finalizers if each != finalizer]
        await self._metadata_client.amend(owner.location, live, {"finalizers": kept or None})

    # Events

    def _report_unreachable_owners(self, location: ObjectLocation, live: GcMetadata) -> None:
        """Records events for owners that exist in a namespace that the reference cannot address."""
        for reference in live.owner_references:
            owner = self.graph.node(reference.uid)
            if owner is not None and owner.location.namespace not in ("", location.namespace):
                self._report(location, live, reference)

    def _report(self, location: ObjectLocation, live: GcMetadata, reference: OwnerReference) -> None:
        kind, where = f"{reference.api_version}/{reference.kind}", location.namespace
        owner = f"[{kind}, namespace: {where}, name: {reference.name}, uid: {reference.uid}]"
        note = EventToRecord(
            "Warning", "OwnerRefInvalidNamespace", f'ownerRef {owner} does not exist in namespace "{where}"'
        )
        about = ObjectReference(
            api_version=location.resource.api_version,
            kind=location.resource.kind,
            namespace=location.namespace,
            name=location.name,
            uid=live.uid,
        )
        self._recorder.record(about, note)
