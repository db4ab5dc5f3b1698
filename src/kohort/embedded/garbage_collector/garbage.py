"""Deletes what has lost its owners, and does for owners what their finalizers ask: delete or release dependents first.

The graph says where to look; what is done is decided on live state, and every write holds only for the state it was
decided on (uid and resourceVersion). A cache that lags costs a look, never an object.
"""

import logging
from collections.abc import AsyncIterator, Iterable, Sequence

import msgspec

from kohort.api.codec import Json
from kohort.api.core.objects import ObjectReference
from kohort.api.meta import OwnerReference
from kohort.embedded.garbage_collector.gc_decisions import Delete, Detach, OwnerRefState, OwnerState, Verdict, decide
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
UNSEEN = 1.0
"""Seconds until an owner that exists but that no cache has shown yet is looked up again: it may go unseen."""
UNFOLLOWED = 30.0
"""Seconds until an owner of a kind that can't be followed, or that nobody serves, is looked up again."""
_LIMITS = RetryLimits(Backoff(base=0.005, cap=60.0, jitter=0.0), rate=50.0, burst=500)


class GarbageCollector:
    """Watches over owners and dependents."""

    def __init__(self, client: Client, partials: MetadataClient, monitors: Monitors, recorder: EventRecorder) -> None:
        self.graph = DependencyGraph()
        self._partials = partials
        self._monitors = monitors
        self._recorder = recorder
        self._owners = Owners(partials, monitors)
        self._queue = WorkQueue[GraphKey](client.clock, NAME, _LIMITS, client.metrics)
        self._controller = Controller(NAME, self._queue, self.reconcile, client.clock, client.metrics)
        monitors.subscribe(self._on_change)

    def start(self) -> None:
        """Begin to work; best when the monitors are live, or every first list is taken for news."""
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Finish what has begun, and take up nothing more."""
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
        """Do what an object's owners or its own finalizers call for."""
        node = self.graph.node(item.uid)
        if node is None:
            return None
        if node.metadata.is_orphaning:
            await self._orphan_dependents(node)
        elif node.metadata.is_waiting:
            return await self._await_dependents(node)
        elif not node.metadata.is_leaving and not self.graph.is_held(node):
            return await self._judge(node)
        return None

    # Objects that have owners

    async def _judge(self, node: GraphNode) -> RequeueAfter | None:
        """Look at the object and its owners as they are now, and act on that."""
        live = await self._partials.get(node.place)
        if live is None or live.uid != node.metadata.uid or live.is_leaving:
            return None
        self._report_strays(node.place, live)
        try:
            owners = [await self._owners.classify(node.place, each) for each in live.owner_references]
        except UnknownOwnerError as error:
            log.debug("%s stays: %s", node.place, error)
            return RequeueAfter(UNFOLLOWED)
        except MisplacedOwnerError as error:
            self._report(node.place, live, error.reference)
            return None
        dependents = len(self.graph.dependents(live.uid))
        await self._carry_out(node.place, live, decide(live, owners, dependents))
        return self._look_again(node.place, owners)

    async def _carry_out(self, place: ObjectLocation, live: GcMetadata, decided: Verdict) -> None:
        match decided:
            case Detach(references):
                await self._detach(place, live, references)
            case Delete(propagation):
                log.debug("%s goes after its owners", place)
                await self._partials.delete(place, live, propagation)

    def _look_again(self, child: ObjectLocation, owners: Sequence[OwnerRefState]) -> RequeueAfter | None:
        """An owner may come and go between two lists, and no cache would ever tell."""
        solid = (owned.reference for owned in owners if owned.hold is OwnerState.SOLID)
        unseen = [each for each in solid if self.graph.node(each.uid) is None]
        if not unseen:
            return None
        followed = all(self._monitors.follows(self._owners.place(child, each).resource) for each in unseen)
        return RequeueAfter(UNSEEN if followed else UNFOLLOWED)

    async def _detach(self, place: ObjectLocation, live: GcMetadata, references: Iterable[OwnerReference]) -> None:
        dropped = list(references)
        kept = [each for each in live.owner_references if each not in dropped]
        await self._partials.amend(place, live, {"ownerReferences": msgspec.to_builtins(kept) or None})

    # Owners on their way out

    async def _await_dependents(self, owner: GraphNode) -> RequeueAfter | None:
        """Foreground: dependents first, each in its own turn; the owner waits for those that block it."""
        uid = owner.metadata.uid
        if self.graph.blocking(uid):
            return None
        async for _, child in self._live_dependents(owner):
            if child.blocks(uid) and not self.graph.has_blocking(child.uid, uid):
                return RequeueAfter(UNSEEN)
        await self._release(owner, FOREGROUND)
        return None

    async def _orphan_dependents(self, owner: GraphNode) -> None:
        """Orphan: no dependent knows the owner any more, then the owner goes."""
        async for place, child in self._live_dependents(owner):
            await self._detach(place, child, child.references(owner.metadata.uid))
        await self._release(owner, ORPHAN)

    async def _live_dependents(self, owner: GraphNode) -> AsyncIterator[tuple[ObjectLocation, GcMetadata]]:
        """From lists, not from caches: a child that these do not show yet is a child all the same."""
        namespace = owner.place.namespace
        for resource in self._monitors.followed:
            if resource.namespaced or not namespace:
                async for child in self._partials.list(resource, namespace):
                    if child.references(owner.metadata.uid):
                        yield ObjectLocation(resource, child.namespace, child.name), child

    async def _release(self, owner: GraphNode, finalizer: str) -> None:
        live = await self._partials.get(owner.place)
        if live is None or live.uid != owner.metadata.uid or finalizer not in live.finalizers:
            return
        kept: Json = [each for each in live.finalizers if each != finalizer]
        await self._partials.amend(owner.place, live, {"finalizers": kept or None})

    # Events

    def _report_strays(self, place: ObjectLocation, live: GcMetadata) -> None:
        """Tell of owners that are there, but in a namespace where a reference can't reach them."""
        for reference in live.owner_references:
            owner = self.graph.node(reference.uid)
            if owner is not None and owner.place.namespace not in ("", place.namespace):
                self._report(place, live, reference)

    def _report(self, place: ObjectLocation, live: GcMetadata, reference: OwnerReference) -> None:
        kind, where = f"{reference.api_version}/{reference.kind}", place.namespace
        owner = f"[{kind}, namespace: {where}, name: {reference.name}, uid: {reference.uid}]"
        note = EventToRecord(
            "Warning", "OwnerRefInvalidNamespace", f'ownerRef {owner} does not exist in namespace "{where}"'
        )
        about = ObjectReference(
            api_version=place.resource.api_version,
            kind=place.resource.kind,
            namespace=place.namespace,
            name=place.name,
            uid=live.uid,
        )
        self._recorder.record(about, note)
