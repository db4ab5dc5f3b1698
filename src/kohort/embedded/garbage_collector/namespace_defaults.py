"""Restores the default objects of namespaces after deletion: `default` service account, CA certificate.

The API server creates them with a namespace; the certificate is copied from a namespace that still has it.
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
_DEFAULT_OBJECTS = ((ServiceAccount.resource, "default"), (ConfigMap.resource, "kube-root-ca.crt"))

_SOURCES = ("kube-system", "kube-public", "default")
"""Namespaces that always exist; one of them has the certificate."""


class NamespaceDefaults:
    """Restores deleted default objects."""

    def __init__(self, client: Client, metadata_client: MetadataClient, monitors: Monitors) -> None:
        self._client = client
        self._metadata_client = metadata_client
        self._queue = WorkQueue[ObjectLocation](client.clock, NAME, metrics=client.metrics)
        self._controller = Controller(NAME, self._queue, self.reconcile, client.clock, client.metrics)
        monitors.subscribe(self._on_change)

    def start(self) -> None:
        """Starts the workers."""
        self._controller.start()

    async def stop(self) -> None:
        """Finishes reconciles in progress."""
        await self._controller.stop()

    def _on_change(self, old: GraphNode | None, new: GraphNode | None) -> None:
        if old is not None and new is None and (old.location.resource, old.location.name) in _DEFAULT_OBJECTS:
            self._queue.add(old.location)

    async def reconcile(self, location: ObjectLocation) -> None:
        """Restores one object unless its namespace is terminating."""
        space = await self._metadata_client.get(ObjectLocation(Namespace.resource, "", location.namespace))
        if space is None or space.is_terminating or await self._metadata_client.get(location) is not None:
            return
        body = await self._body(location)
        if body is None:
            log.warning("cannot recreate %s: missing in kube-system; restart the API server", location)
            return
        await self._client.of(location.resource).create(body, location.namespace)

    async def _body(self, location: ObjectLocation) -> dict[str, Json] | None:
        named: dict[str, Json] = {"metadata": {"name": location.name, "namespace": location.namespace}}
        if location.resource != ConfigMap.resource:
            return named
        for namespace in _SOURCES:
            try:
                found = await self._client.of(location.resource).get((namespace, location.name))
            except StatusError as error:
                if not error.is_not_found:
                    raise
            else:
                return {**named, "data": found.get("data")}
        return None
