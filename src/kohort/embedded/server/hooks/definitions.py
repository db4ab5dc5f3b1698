"""CustomResourceDefinitions: completed when written, served at once, deleted together with their objects."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from kohort.api.codec import Json, JsonObject
from kohort.api.times import format_time
from kohort.embedded.admission.webhook_client import WebhookCallError, WebhookClient
from kohort.embedded.auth.users import LOOPBACK
from kohort.embedded.crds import WebhookConversionError, convert, default_crd, establish
from kohort.embedded.server.handlers.delete import CRD_CLEANUP, Deleter
from kohort.embedded.server.handlers.write_pipeline import is_released
from kohort.embedded.server.registry.resource_catalog import CRDS, ResourceCatalog
from kohort.embedded.server.registry.store_writer import StoreWriter
from kohort.embedded.server.requests.options import DeleteRequestOptions
from kohort.embedded.server.requests.write_operation import WriteOperation
from kohort.embedded.storage import RevisionConflictError, StorageEvent, StorageKey, Store
from kohort.kube.clock import Clock
from kohort.kube.controller import Controller
from kohort.kube.errors import StatusError, internal
from kohort.kube.watch_events import WatchEventType
from kohort.kube.workqueue import WorkQueue

_CONVERSION_SECONDS = 30.0
_STOP_TIMEOUT = 5.0
"""Seconds that a running cleanup may take at shutdown; a restart continues it."""


class CustomResourceDefinitions:
    """Updates the resource catalog from the stored definitions."""

    def __init__(
        self, store: Store, catalog: ResourceCatalog, store_writer: StoreWriter, deleter: Deleter, clock: Clock
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._store_writer = store_writer
        self._deleter = deleter
        self._clock = clock
        self._cleanup = Controller("definitions", WorkQueue[str](clock, "definitions"), self._clean_up, clock)

    def load(self) -> None:
        """Serves the stored definitions."""
        for entry in self._store.list(CRDS).entries:
            self._catalog.define(entry.object)
            if entry.object["metadata"].get("deletionTimestamp"):
                self._cleanup.queue.add(entry.key.name)

    def start(self) -> None:
        """Resumes the cleanup of definitions in deletion."""
        self._cleanup.start()

    def complete(self, new: JsonObject, _: JsonObject | None, operation: WriteOperation) -> JsonObject:
        """A definition with its status: accepted names and conditions."""
        if not _has_names(new):
            return new
        others = [entry.object for entry in self._store.list(CRDS).entries]
        return {**new, "status": establish(default_crd(new), others, format_time(operation.now))}

    async def on_change(self, change: StorageEvent) -> None:
        """Serves the changed definition, or starts its cleanup."""
        crd = change.entry.object
        if change.kind is WatchEventType.DELETED:
            self._catalog.forget(change.entry.key.name)
            return
        self._catalog.define(crd)
        if crd["metadata"].get("deletionTimestamp") and CRD_CLEANUP in (crd["metadata"].get("finalizers") or ()):
            self._cleanup.queue.add(change.entry.key.name)

    async def on_any_change(self, change: StorageEvent) -> None:
        """Continues a cleanup whose last object may have been deleted."""
        name = change.entry.key.resource
        if change.kind is not WatchEventType.DELETED or "." not in name:
            return
        entry = self._store.get(StorageKey(CRDS, "", name))
        if entry is not None and entry.object["metadata"].get("deletionTimestamp"):
            self._cleanup.queue.add(name)

    async def _clean_up(self, name: str) -> None:
        """Deletes all objects of a definition, then removes its finalizer; retries on failure."""
        resource = self._catalog.stored(name)
        for entry in self._store.list(name).entries if resource is not None else ():
            assert resource is not None  # noqa: S101 - else there is nothing to go through
            operation = WriteOperation(
                "update", resource, entry.key.namespace, entry.key.name, LOOPBACK, self._clock.wall()
            )
            try:
                await self._deleter.delete(operation, DeleteRequestOptions())
            except StatusError as error:
                if not error.is_not_found:
                    raise
        if not self._store.list(name, limit=1).entries:
            await self._remove_finalizer(name)

    async def _remove_finalizer(self, name: str) -> None:
        while (entry := self._store.get(StorageKey(CRDS, "", name))) is not None:
            metadata = entry.object["metadata"]
            finalizers = [each for each in metadata.get("finalizers") or () if each != CRD_CLEANUP]
            released = {**entry.object, "metadata": {**metadata, "finalizers": finalizers}}
            try:
                if is_released(released):
                    await self._store_writer.delete(entry)
                elif finalizers != metadata.get("finalizers"):
                    await self._store_writer.update(entry, released)
            except RevisionConflictError:
                continue
            return

    async def close(self) -> None:
        """Stops running cleanups."""
        await self._cleanup.stop(_STOP_TIMEOUT)


def _has_names(crd: Mapping[str, Any]) -> bool:
    """Whether the definition is complete enough to check its names; otherwise validation reports what is missing."""
    spec, name = crd.get("spec") or {}, (crd.get("metadata") or {}).get("name")
    versions = spec.get("versions") or ()
    named = bool(versions) and all(each.get("name") for each in versions)
    return bool(name and spec.get("group") and (spec.get("names") or {}).get("plural") and named)


class Conversion:
    """Converts custom objects between versions, by the definition's webhook if it has one."""

    def __init__(self, webhook_client: WebhookClient) -> None:
        self._webhook_client = webhook_client

    async def convert(
        self, crd: Mapping[str, Any], objects: Sequence[JsonObject], api_version: str
    ) -> list[JsonObject]:
        """The objects in the requested version."""
        client = ((crd["spec"].get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}

        async def call(review: dict[str, Json]) -> Json:
            try:
                return await self._webhook_client.post(client, review, _CONVERSION_SECONDS)
            except WebhookCallError as error:
                raise WebhookConversionError(str(error)) from None

        try:
            return [dict(each) for each in await convert(crd, objects, api_version, call, str(uuid.uuid4()))]
        except WebhookConversionError as error:
            raise internal(str(error)) from None
