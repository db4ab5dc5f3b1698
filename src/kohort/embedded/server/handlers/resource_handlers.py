"""Handlers of the verbs on resources: get, list, watch, create, update, patch, delete."""

from kohort.api.codec import Json, JsonObject
from kohort.api.fields import ROOT
from kohort.api.fields import invalid as field_invalid
from kohort.embedded.patches import PatchKind, apply_patch
from kohort.embedded.patches.kinds import CUSTOM_RESOURCE_PATCHES
from kohort.embedded.server.encoding.decoding import as_object, check_type_meta, duplicate_fields, read_body, read_value
from kohort.embedded.server.encoding.responses import ServerResponse, encode
from kohort.embedded.server.handlers.apply import Applier
from kohort.embedded.server.handlers.delete import Deleter, DeleteResult
from kohort.embedded.server.handlers.get_list import GetListHandler
from kohort.embedded.server.handlers.watch import WatchHandler
from kohort.embedded.server.handlers.write_pipeline import WritePipeline
from kohort.embedded.server.registry.resource_strategy import ResourceStrategy
from kohort.embedded.server.requests.options import (
    DeleteRequestOptions,
    WriteRequestOptions,
    delete_options,
    list_options,
)
from kohort.embedded.server.requests.resource_request import ResourceRequest
from kohort.embedded.server.requests.write_operation import WriteOperation
from kohort.kube.errors import ErrorSubject, StatusError, bad_request, invalid


def success(details: dict[str, Json]) -> JsonObject:
    """The `Status` returned by a delete without an object."""
    done: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**done, "details": details} if details else done


def write_defaults(options: DeleteRequestOptions) -> WriteRequestOptions:
    """Write options of the updates that a delete may cause."""
    return WriteRequestOptions(dry_run=options.dry_run)


class ResourceHandlers:
    """Handlers by verb."""

    def __init__(
        self,
        reader: GetListHandler,
        watcher: WatchHandler,
        writer: WritePipeline,
        deleter: Deleter,
        applier: Applier,
        strategy: ResourceStrategy,
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.deleter = deleter
        self._watcher = watcher
        self._applier = applier
        self._strategy = strategy

    async def get(self, call: ResourceRequest) -> ServerResponse:
        """Returns one object."""
        return await self.reader.get(call.resource, call.namespace, call.info.name, call.response_format)

    async def list(self, call: ResourceRequest) -> ServerResponse:
        """Returns a list of objects."""
        return await self.reader.list(call.resource, call.namespace, list_options(call.request), call.response_format)

    async def watch(self, call: ResourceRequest) -> ServerResponse:
        """Streams watch events."""
        return self._watcher.watch(call.resource, call.namespace, list_options(call.request), call.response_format)

    async def create(self, call: ResourceRequest) -> ServerResponse:
        """Creates an object."""
        operation = call.operation("create")
        body = self.body(call, operation)
        written = await self.writer.create(operation, body)
        return call.shown(written.shown, 201)

    async def update(self, call: ResourceRequest, subresource: str = "") -> ServerResponse:
        """Replaces an object."""
        operation = call.operation("update", subresource)
        written = await self.writer.replace(operation, self.body(call, operation))
        return call.shown(written.shown, 201 if written.is_new else 200)

    async def patch(self, call: ResourceRequest, subresource: str = "") -> ServerResponse:
        """Patches an object."""
        accepted = CUSTOM_RESOURCE_PATCHES if call.resource.is_custom else tuple(PatchKind)
        kind = PatchKind.from_content_type(call.request.headers.get("Content-Type", ""), accepted)
        if kind is PatchKind.APPLY:
            operation = call.operation("apply", subresource)
            written = await self._applier.apply(operation, as_object(read_value(call.request)))
            return call.shown(written.shown, 201 if written.is_new else 200)
        operation = call.operation("patch", subresource)
        patch = read_value(call.request)

        async def patched(old: JsonObject) -> JsonObject:
            return self._read_patched(operation, apply_patch(kind, old, patch, call.resource.schema), old)

        written = await self.writer.update(operation, patched)
        return call.shown(written.shown)

    def _read_patched(self, operation: WriteOperation, found: JsonObject, former: JsonObject) -> JsonObject:
        """Decodes the patched object; errors refer to the patch."""
        try:
            return self._strategy.read(operation, found, former)
        except StatusError as error:
            if error.reason != "BadRequest":
                raise
            why = error.message.partition(f" cannot be handled as a {operation.resource.kind}: ")[2] or error.message
            problem = field_invalid(ROOT / "patch", encode(found).decode(), why)
            raise invalid(ErrorSubject("", kind=""), [problem]) from None

    async def delete(self, call: ResourceRequest) -> ServerResponse:
        """Deletes an object."""
        options = delete_options(call.request, self._delete_body(call))
        deleted = await self.deleter.delete(call.operation_with("update", write_defaults(options)), options)
        return self._deleted(call, deleted)

    def _deleted(self, call: ResourceRequest, deleted: DeleteResult) -> ServerResponse:
        if not deleted.is_gone:
            return call.shown(deleted.shown)
        metadata = deleted.shown.object["metadata"]
        if call.resource.key == "pods":
            return call.shown(deleted.shown)
        known = {
            "name": metadata["name"],
            "group": call.resource.group,
            "kind": call.resource.plural,
            "uid": metadata["uid"],
        }
        details = {name: value for name, value in known.items() if value}
        return call.plain(success(details))

    async def delete_collection(self, call: ResourceRequest) -> ServerResponse:
        """Deletes the selected objects one by one; objects deleted meanwhile are skipped."""
        options = delete_options(call.request, self._delete_body(call))
        entries, metadata = self.reader.select(call.resource, call.namespace, list_options(call.request))
        for entry in entries:
            operation = WriteOperation(
                "update",
                call.resource,
                entry.key.namespace,
                entry.key.name,
                call.user,
                call.clock(),
                write_defaults(options),
                warnings=call.warnings,
            )
            try:
                await self.deleter.delete(operation, options)
            except StatusError as error:
                if not error.is_not_found:
                    raise
        response_format = call.response_format
        return response_format.response(response_format.many(call.resource, entries, metadata))

    def _delete_body(self, call: ResourceRequest) -> dict[str, Json]:
        if not call.request.body.strip():
            return {}
        body = read_body(call.request)
        if body.get("kind") not in (None, "", "DeleteOptions"):
            raise bad_request("the body of a delete must be DeleteOptions")
        return body

    def body(self, call: ResourceRequest, operation: WriteOperation) -> JsonObject:
        """The object in the request body, decoded for its kind."""
        duplicates = duplicate_fields(call.request) if operation.options.field_validation == "Strict" else []
        found = read_body(call.request, call.resource.kind)
        if call.resource.is_custom:
            check_type_meta(call.request, call.resource, found)
        return self._strategy.read(operation, found, duplicates=duplicates)
