"""Ends namespaces: deletes everything in one that is to go, says in its status what is left, and lets it go when empty.

Pods go first, for they may need the rest to end well. Each pass asks the server anew what there is; an object that goes
from a namespace on its way out starts the next pass.
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
SOON = 0.1
"""Seconds in which objects that go are gathered, so that a thousand of them do not make a thousand passes."""
PATIENCE = 5.0
"""Seconds until the next pass when nothing goes: for what nobody tells, such as an API that comes back."""
_BACKGROUND = DeletionOptions(propagation="Background")
_PODS = ("", "pods")


class ContentError(KubeError):
    """Something in a namespace could not be deleted."""


class NamespaceController:
    """Watches over namespaces that are to go."""

    def __init__(self, client: Client, partials: MetadataClient, monitors: Monitors) -> None:
        self._client = client
        self._objects: ResourceClient[dict[str, Json]] = client.of(Namespace.resource)
        self._partials = partials
        self._leaving: set[str] = set()
        self._queue = WorkQueue[str](client.clock, NAME, metrics=client.metrics)
        self._controller = Controller(NAME, self._queue, self.reconcile, client.clock, client.metrics)
        monitors.subscribe(self._on_change)

    def start(self) -> None:
        """Begin to work."""
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Finish the passes that have begun."""
        await self._controller.stop()

    def _on_change(self, old: GraphNode | None, new: GraphNode | None) -> None:
        node = new or old
        if node is None:
            return
        if (node.place.resource.group, node.place.resource.plural) == ("", Namespace.resource.plural):
            self._on_namespace(node.place.name, new)
        elif new is None and node.place.namespace in self._leaving:
            self._queue.add_after(node.place.namespace, SOON)

    def _on_namespace(self, name: str, new: GraphNode | None) -> None:
        if new is None:
            self._leaving.discard(name)
        elif new.metadata.is_leaving and name not in self._leaving:
            self._leaving.add(name)
            self._queue.add(name)

    # One namespace

    async def reconcile(self, name: str) -> RequeueAfter | None:
        """One pass over a namespace that is to go."""
        found = await self._find(name)
        if found is None:
            return None
        remains = await self._clear(name)
        if remains.is_empty:
            await self._finalize(found)
            return None
        await self._show(found, remains)
        if remains.failures:
            raise ContentError(f"not everything in it can be deleted: {', '.join(remains.failures)}")
        return RequeueAfter(PATIENCE)

    async def _find(self, name: str) -> dict[str, Json] | None:
        """The namespace, if it still has to be emptied."""
        try:
            found = await self._objects.get(("", name))
        except StatusError as error:
            if error.is_not_found:
                return None
            raise
        held = FINALIZER in ((found.get("spec") or {}).get("finalizers") or ())
        return found if held and found["metadata"].get("deletionTimestamp") else None

    async def _clear(self, name: str) -> RemainingContent:
        """Delete what is there; everything but pods only when there are no pods any more."""
        surface = await discover(self._client)
        content = [each for each in surface.with_verbs("delete", "list") if each.resource.namespaced]
        pods = [each for each in content if (each.resource.group, each.resource.plural) == _PODS]
        remains = RemainingContent(undiscovered=surface.failed) + await self._clear_kinds(name, pods)
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
        """Delete all objects of a kind that are not on their way already; those that are left."""
        found = await self._list(name, served)
        staying = [each for each in found if not each.is_leaving]
        if not staying:
            return found
        if "deletecollection" in served.verbs:
            await self._client.of(served.resource).delete_collection(ListScope(name), _BACKGROUND)
        else:
            for each in staying:
                await self._partials.delete(
                    ObjectLocation(served.resource, name, each.name), each, _BACKGROUND.propagation
                )
        return await self._list(name, served)

    async def _list(self, name: str, served: DiscoveredResource) -> list[GcMetadata]:
        return [each async for each in self._partials.list(served.resource, name)]

    # Its status and its end

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
        """Nothing is left: let go."""
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
