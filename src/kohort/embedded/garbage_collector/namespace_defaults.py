"""Brings back what pods in every namespace count on when somebody deletes it: `default` accounts, the CA certificate.

Servers put these in place when a namespace comes; the certificate is copied from a namespace that still has it.
"""

import logging

from kohort.api.codec import Json
from kohort.api.core.config_objects import ConfigMap, ServiceAccount
from kohort.api.core.namespaces import Namespace
from kohort.embedded.garbage_collector.graph import GraphNode
from kohort.embedded.garbage_collector.metadata_client import MetadataClient, ObjectLocation
from kohort.embedded.garbage_collector.monitors import Monitors
from kohort.kube.client import Client
from kohort.kube.controller import Controller
from kohort.kube.errors import StatusError
from kohort.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

NAME = "furnishing-controller"
_FURNITURE = ((ServiceAccount.resource, "default"), (ConfigMap.resource, "kube-root-ca.crt"))

_SOURCES = ("kube-system", "kube-public", "default")
"""Namespaces that are always there; one of them has the certificate."""


class NamespaceDefaults:
    """Watches over the furniture of namespaces."""

    def __init__(self, client: Client, partials: MetadataClient, monitors: Monitors) -> None:
        self._client = client
        self._partials = partials
        self._queue = WorkQueue[ObjectLocation](client.clock, NAME, metrics=client.metrics)
        self._controller = Controller(NAME, self._queue, self.reconcile, client.clock, client.metrics)
        monitors.subscribe(self._on_change)

    def start(self) -> None:
        """Begin to work."""
        self._controller.start()

    async def stop(self) -> None:
        """Finish what has begun."""
        await self._controller.stop()

    def _on_change(self, old: GraphNode | None, new: GraphNode | None) -> None:
        if old is not None and new is None and (old.place.resource, old.place.name) in _FURNITURE:
            self._queue.add(old.place)

    async def reconcile(self, place: ObjectLocation) -> None:
        """Put one piece back, unless its namespace goes too."""
        space = await self._partials.get(ObjectLocation(Namespace.resource, "", place.namespace))
        if space is None or space.is_leaving or await self._partials.get(place) is not None:
            return
        body = await self._body(place)
        if body is None:
            log.warning(
                "%s can't be restored: no namespace of the system has it; a restart of the server brings it", place
            )
            return
        await self._client.of(place.resource).create(body, place.namespace)

    async def _body(self, place: ObjectLocation) -> dict[str, Json] | None:
        named: dict[str, Json] = {"metadata": {"name": place.name, "namespace": place.namespace}}
        if place.resource != ConfigMap.resource:
            return named
        for namespace in _SOURCES:
            try:
                found = await self._client.of(place.resource).get((namespace, place.name))
            except StatusError as error:
                if not error.is_not_found:
                    raise
            else:
                return {**named, "data": found.get("data")}
        return None
