"""Server-side apply: merges an applied configuration and creates the object if it does not exist."""

from collections.abc import Mapping
from typing import Any

from kohort.api.codec import JsonObject
from kohort.embedded.managed_fields import apply, reset_fields
from kohort.embedded.server.handlers.write_pipeline import MAX_ATTEMPTS, WritePipeline, WriteResult
from kohort.embedded.server.registry.resource_strategy import ResourceStrategy
from kohort.embedded.server.requests.write_operation import WriteOperation
from kohort.kube.errors import MODIFIED, StatusError, bad_request, conflict


class Applier:
    """Performs server-side apply through the write pipeline."""

    def __init__(self, writer: WritePipeline, strategy: ResourceStrategy) -> None:
        self._writer = writer
        self._strategy = strategy

    async def apply(self, operation: WriteOperation, config: JsonObject) -> WriteResult:
        """Applies a configuration; retries as an update if the object is created concurrently."""
        wanted = self._strategy.configuration(operation, _checked(operation, config))
        for _ in range(MAX_ATTEMPTS):
            try:
                return await self._update(operation, wanted)
            except StatusError as error:
                if not error.is_not_found or operation.subresource or error.details.get("name") != operation.name:
                    raise
            uid = (wanted.get("metadata") or {}).get("uid")
            if uid:
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise conflict(operation.error_subject, why)
            try:
                return await self._writer.create_missing(operation, self._merged(operation, None, wanted))
            except StatusError as error:
                if not error.is_already_exists:
                    raise
        raise conflict(operation.error_subject, MODIFIED)

    async def _update(self, operation: WriteOperation, wanted: JsonObject) -> WriteResult:
        async def merged(old: JsonObject) -> JsonObject:
            return self._merged(operation, old, wanted)

        return await self._writer.update(operation, merged)

    def _merged(self, operation: WriteOperation, live: JsonObject | None, wanted: JsonObject) -> JsonObject:
        options, resource = operation.options, operation.resource
        return apply(
            live,
            wanted,
            options.manager,
            options.force,
            resource.schema,
            resource.api_version,
            operation.now,
            operation.subresource,
            reset_fields(resource, operation.subresource),
        )


def _checked(operation: WriteOperation, config: Mapping[str, Any]) -> JsonObject:
    metadata = config.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise bad_request("metadata must be an object")
    if metadata and metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    if not config.get("apiVersion") or not config.get("kind"):
        raise bad_request("apiVersion and kind must be set in an apply patch")
    validation_subject = dict(metadata or {})
    validation_subject.setdefault("name", operation.name)
    return {**config, "metadata": validation_subject}
