"""Serializes objects, lists and watch events in the negotiated format."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
import yaml

from kohort.api.codec import Json, JsonObject
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.encoding.negotiation import NegotiatedFormat, Representation, negotiate
from kohort.embedded.server.encoding.responses import ServerResponse, encode
from kohort.embedded.server.encoding.versions import EncodedObject, type_meta_prefix
from kohort.embedded.server.requests.request_info import ServerRequest
from kohort.embedded.tables import Include, table
from kohort.kube.errors import bad_request

_INCLUDES: tuple[Include, ...] = ("None", "Metadata", "Object")
_WallClock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """The negotiated format, and the object policy of Tables."""

    negotiated: NegotiatedFormat
    include: Include
    now: _WallClock

    @property
    def is_plain(self) -> bool:
        """Whether stored bytes are returned unchanged."""
        return self.negotiated.representation is Representation.OBJECT

    def one(self, resource: ServedResource, shown: EncodedObject) -> bytes:
        """Serializes one object."""
        if self.is_plain:
            return self._text(shown.data)
        if self.negotiated.representation is Representation.TABLE:
            version = {"resourceVersion": shown.object["metadata"].get("resourceVersion", "")}
            return self._text(encode(self.rows(resource, [shown.object], version)))
        return self._text(encode(self._partial(shown.object)))

    def many(self, resource: ServedResource, items: Sequence[EncodedObject], metadata: Mapping[str, Json]) -> bytes:
        """Serializes a list."""
        if self.is_plain:
            return self._text(plain_list(resource, items, metadata))
        if self.negotiated.representation is Representation.TABLE:
            return self._text(encode(self.rows(resource, [each.object for each in items], metadata)))
        partial = [self._partial(each.object) for each in items]
        version = f"meta.k8s.io/{self.negotiated.version}"
        kind = Representation.METADATA_LIST.value
        return self._text(encode({"kind": kind, "apiVersion": version, "metadata": metadata, "items": partial}))

    def event(self, kind: str, resource: ServedResource, shown: EncodedObject) -> bytes:
        """Serializes one watch event."""
        body = shown.data if self.is_plain else self.one(resource, shown)
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)

    def bookmark(self, resource: ServedResource, shown: EncodedObject) -> bytes:
        """Serializes a BOOKMARK event; a Table without rows carries the revision in its metadata."""
        if self.negotiated.representation is not Representation.TABLE:
            return self.event("BOOKMARK", resource, shown)
        rows = self.rows(resource, [], shown.object["metadata"])
        return b'{"type":"BOOKMARK","object":%b}\n' % encode(rows)

    def rows(
        self, resource: ServedResource, objects: Sequence[JsonObject], metadata: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Renders a Table of objects."""
        return table(resource, objects, self.now(), self.include, self.negotiated.version, metadata)

    def _partial(self, found: JsonObject) -> JsonObject:
        version = f"meta.k8s.io/{self.negotiated.version}"
        return {"kind": Representation.METADATA.value, "apiVersion": version, "metadata": found["metadata"]}

    def _text(self, data: bytes) -> bytes:
        if self.negotiated.media_type != "application/yaml":
            return data
        return yaml.safe_dump(msgspec.json.decode(data), sort_keys=True, allow_unicode=True).encode()

    def response(self, body: bytes, status: int = 200) -> ServerResponse:
        """A response with these bytes and the media type of the format."""
        return ServerResponse(status, body, self.negotiated.media_type)


def response_format(request: ServerRequest, now: _WallClock) -> ResponseFormat:
    """The format of the response to a request."""
    wanted = request.parameter("includeObject") or "Metadata"
    include = next((each for each in _INCLUDES if each == wanted), None)
    if include is None:
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{wanted[:64]}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    return ResponseFormat(negotiate(request.headers.get("Accept", "")), include, now)


def list_kind(resource: ServedResource) -> str:
    """The list kind, e.g. `PodList`."""
    return resource.list_kind or f"{resource.kind}List"


def plain_list(resource: ServedResource, items: Sequence[EncodedObject], metadata: Mapping[str, Json]) -> bytes:
    """Joins the encoded items into a list; items of built-in kinds omit kind and apiVersion, as in kube-apiserver."""
    if resource.is_custom:
        start, metadata = 1, {"continue": "", **metadata}
    else:
        start = len(type_meta_prefix(resource)) + 1
    names = encode(list_kind(resource)), encode(resource.api_version), encode(metadata)
    parts: list[bytes | memoryview] = [b'{"kind":%b,"apiVersion":%b,"metadata":%b,"items":[' % names]
    for item in items:
        parts += (b"{", memoryview(item.data)[start:], b",")
    if items:
        parts.pop()
    return b"".join((*parts, b"]}"))
