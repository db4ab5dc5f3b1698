"""Maintains the `extension-apiserver-authentication` ConfigMap, by which aggregated servers trust this server."""

from typing import Final

from kohort.api.codec import JsonObject
from kohort.embedded.auth.bootstrap import AUTHENTICATION_CONFIGMAP
from kohort.embedded.auth.users import LOOPBACK
from kohort.embedded.server.handlers.write_pipeline import WritePipeline
from kohort.embedded.server.registry.resource_catalog import ResourceCatalog
from kohort.embedded.server.requests.options import WriteRequestOptions
from kohort.embedded.server.requests.write_operation import Method, WriteOperation
from kohort.embedded.storage import StorageEvent, StorageKey, Store
from kohort.kube.clock import Clock
from kohort.kube.watch_events import WatchEventType

CONFIG_MAP: Final = StorageKey("configmaps", "kube-system", AUTHENTICATION_CONFIGMAP)


class AuthenticationConfigMap:
    """Maintains the ConfigMap."""

    def __init__(
        self, store: Store, catalog: ResourceCatalog, writer: WritePipeline, clock: Clock, data: dict[str, str]
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._writer = writer
        self._clock = clock
        self._data = data

    async def ensure(self) -> None:
        """Writes the current content; members of other owners are kept."""
        entry = self._store.get(CONFIG_MAP)
        if entry is None:
            metadata = {"name": CONFIG_MAP.name, "namespace": CONFIG_MAP.namespace}
            body: JsonObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": self._data}
            await self._writer.create(self._operation("create", ""), body)
        elif self._restored(entry.object) != entry.object:
            await self._writer.update(self._operation("patch", CONFIG_MAP.name), self._restore)

    async def on_config_map(self, change: StorageEvent) -> None:
        """Restores the ConfigMap after a change or deletion."""
        if change.entry.key == CONFIG_MAP and change.kind is not WatchEventType.ADDED:
            await self.ensure()

    async def _restore(self, found: JsonObject) -> JsonObject:
        return self._restored(found)

    def _restored(self, found: JsonObject) -> JsonObject:
        return {**found, "data": {**(found.get("data") or {}), **self._data}}

    def _operation(self, method: Method, name: str) -> WriteOperation:
        resource = self._catalog.find_kind("v1", "ConfigMap")
        assert resource is not None  # noqa: S101 - a kind that is always there
        options = WriteRequestOptions(manager="kube-apiserver")
        return WriteOperation(method, resource, CONFIG_MAP.namespace, name, LOOPBACK, self._clock.wall(), options)
