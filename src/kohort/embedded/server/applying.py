"""Server-side apply: what a manager wants, merged with what others own; creates what is not there."""

from collections.abc import Mapping
from typing import Any

from kohort.embedded.ownership import apply, reset_fields
from kohort.embedded.server.operations import Operation
from kohort.embedded.server.semantics import Semantics
from kohort.embedded.server.versions import Object
from kohort.embedded.server.writing import MAX_ATTEMPTS, Writer, Written
from kohort.kube.errors import MODIFIED, StatusError, bad_request, conflict


class Applier:
    """Carries applies through the writer."""

    def __init__(self, writer: Writer, semantics: Semantics) -> None:
        self._writer = writer
        self._semantics = semantics

    async def apply(self, operation: Operation, config: Object) -> Written:
        """Apply a configuration; two that create the same object at once meet in the second round."""
        wanted = self._semantics.configuration(operation, _checked(operation, config))
        for _ in range(MAX_ATTEMPTS):
            try:
                return await self._update(operation, wanted)
            except StatusError as error:
                if not error.is_not_found or operation.subresource or error.details.get("name") != operation.name:
                    raise
            uid = (wanted.get("metadata") or {}).get("uid")
            if uid:
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise conflict(operation.about, why)
            try:
                return await self._writer.create_missing(operation, self._merged(operation, None, wanted))
            except StatusError as error:
                if not error.is_already_exists:
                    raise
        raise conflict(operation.about, MODIFIED)

    async def _update(self, operation: Operation, wanted: Object) -> Written:
        async def merged(old: Object) -> Object:
            return self._merged(operation, old, wanted)

        return await self._writer.update(operation, merged)

    def _merged(self, operation: Operation, live: Object | None, wanted: Object) -> Object:
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


def _checked(operation: Operation, config: Mapping[str, Any]) -> Object:
    metadata = config.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise bad_request("metadata must be an object")
    if metadata and metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    if not config.get("apiVersion") or not config.get("kind"):
        raise bad_request("apiVersion and kind must be set in an apply patch")
    named = dict(metadata or {})
    named.setdefault("name", operation.name)
    return {**config, "metadata": named}
