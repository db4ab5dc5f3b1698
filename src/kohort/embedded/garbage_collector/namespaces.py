"""The namespace controller: deletes the content of terminating namespaces and finalizes them when empty.

Pods are deleted first, since they may need the other objects to terminate gracefully. Each pass uses live discovery; a
deletion in a terminating namespace triggers the next pass.
"""

import logging
from collections import Counter
from collections.abc import Sequence

from kohort.api.codec import Json
from kohort.api.core.namespaces import Namespace
from kohort.api.errors import ApiError
from kohort.api.times import format_time
from kohort.embedded.garbage_collector.conditions import RemainingContent, conditions
from kohort.embedded.garbage_collector.discovered_resources import DiscoveredResource, discover
from kohort.embedded.garbage_collector.graph import GraphNode
from kohort.embedded.garbage_collector.metadata_client import GcMetadata, MetadataClient, ObjectLocation
from kohort.embedded.garbage_collector.monitors import Monitors
from kohort.kube.client import Client
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.options import DeletionOptions, ListScope
from kohort.kube.patches import MergePatch
from kohort.kube.resource_client import ResourceClient
from kohort.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

NAME = "namespace-controller"
WORKERS = 4
FINALIZER = "kubernetes"
DELETION_DELAY = 0.1
"""Seconds for which deletions are collected before the next pass."""
RETRY_PERIOD = 5.0
"""Seconds until the next pass without events, for changes without notification such as an API becoming available."""
_BACKGROUND = DeletionOptions(propagation="Background")
_PODS = ("", "pods")


class ContentError(KubeError):
    """Content of a namespace could not be deleted."""


class NamespaceController:
    """Reconciles terminating namespaces."""

    def __init__(self, client: Client, metadata_client: MetadataClient, monitors: Monitors) -> None:
        self._client = client
        self._objects: ResourceClient[dict[str, Json]] = client.of(Namespace.resource)
        self._metadata_client = metadata_client
        self._terminating: set[str] = set()
        self._queue = WorkQueue[str](client.clock, NAME, metrics=client.metrics)
        self._controller = Controller(NAME, self._queue, self.reconcile, client.clock, client.metrics)
        monitors.subscribe(self._on_change)

    def start(self) -> None:
        """Starts the workers."""
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Finishes the passes in progress."""
        await self._controller.stop()

    def _on_change(self, old: GraphNode | None, new: GraphNode | None) -> None:
        node = new or old
        if node is None:
            return
        if (node.location.resource.group, node.location.resource.plural) == ("", Namespace.resource.plural):
            self._on_namespace(node.location.name, new)
        elif new is None and node.location.namespace in self._terminating:
            self._queue.add_after(node.location.namespace, DELETION_DELAY)

    def _on_namespace(self, name: str, new: GraphNode | None) -> None:
        if new is None:
            self._terminating.discard(name)
        elif new.metadata.is_terminating and name not in self._terminating:
            self._terminating.add(name)
            self._queue.add(name)

    # Content

    async def reconcile(self, name: str) -> RequeueAfter | None:
        """One pass over a terminating namespace."""
        found = await self._find(name)
        if found is None:
            return None
        remains = await self._clear(name)
        if remains.is_empty:
            await self._finalize(found)
            return None
        await self._show(found, remains)
        if remains.failures:
            raise ContentError(f"deleting namespace content failed: {', '.join(remains.failures)}")
        return RequeueAfter(RETRY_PERIOD)

    async def _find(self, name: str) -> dict[str, Json] | None:
        """The namespace if it still has to be emptied."""
        try:
            found = await self._objects.get(("", name))
        except StatusError as error:
            if error.is_not_found:
                return None
            raise
        held = FINALIZER in ((found.get("spec") or {}).get("finalizers") or ())
        return found if held and found["metadata"].get("deletionTimestamp") else None

    async def _clear(self, name: str) -> RemainingContent:
        """Deletes the content; everything but pods only when no pods are left."""
        discovered = await discover(self._client)
        content = [each for each in discovered.with_verbs("delete", "list") if each.resource.namespaced]
        pods = [each for each in content if (each.resource.group, each.resource.plural) == _PODS]
        remains = RemainingContent(undiscovered=discovered.failed) + await self._clear_kinds(name, pods)
        if remains.objects or remains.failures:
            return remains
        return remains + await self._clear_kinds(name, [each for each in content if each not in pods])

    async def _clear_kinds(self, name: str, kinds: Sequence[DiscoveredResource]) -> RemainingContent:
        remains = RemainingContent()
        for served in kinds:
            try:
                remains += _counted(served, await self._clear_kind(name, served))
            except (KubeError, ApiError) as error:
                remains += RemainingContent(failures=(f"{_qualified(served)}: {error}",))
        return remains

    async def _clear_kind(self, name: str, served: DiscoveredResource) -> list[GcMetadata]:
        """Deletes all objects of a resource; returns those that remain."""
        found = await self._list(name, served)
        staying = [each for each in found if not each.is_terminating]
        if not staying:
            return found
        if "deletecollection" in served.verbs:
            await self._client.of(served.resource).delete_collection(ListScope(name), _BACKGROUND)
        else:
            for each in staying:
                await self._metadata_client.delete(
                    ObjectLocation(served.resource, name, each.name), each, _BACKGROUND.propagation
                )
        return await self._list(name, served)

    async def _list(self, name: str, served: DiscoveredResource) -> list[GcMetadata]:
        return [each async for each in self._metadata_client.list(served.resource, name)]

    # Status and finalization

    async def _show(self, found: dict[str, Json], remains: RemainingContent) -> None:
        present = (found.get("status") or {}).get("conditions") or []
        wanted = conditions(present, remains, format_time(self._client.clock.wall()))
        if wanted == present:
            return
        metadata = found["metadata"]
        state = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        patch = MergePatch({"metadata": state, "status": {"conditions": wanted}})
        await self._objects.patch(("", metadata["name"]), patch, subresource="status")

    async def _finalize(self, found: dict[str, Json]) -> None:
        """Removes the kubernetes finalizer of an empty namespace."""
        spec = found["spec"]
        kept = [each for each in spec["finalizers"] if each != FINALIZER]
        log.debug("namespace %s is empty", found["metadata"]["name"])
        try:
            await self._objects.update({**found, "spec": {**spec, "finalizers": kept}}, subresource="finalize")
        except StatusError as error:
            if not error.is_not_found:
                raise


def _qualified(served: DiscoveredResource) -> str:
    return f"{served.resource.plural}.{served.resource.group}"


def _counted(served: DiscoveredResource, left: Sequence[GcMetadata]) -> RemainingContent:
    if not left:
        return RemainingContent()
    return RemainingContent(
        objects={_qualified(served): len(left)},
        finalizers=Counter(finalizer for each in left for finalizer in each.finalizers),
    )
