"""Decodes request bodies: JSON, YAML and protobuf."""

import json
from collections.abc import Iterable
from typing import Any

from kohort.api.codec import Json, JsonObject, decode_json
from kohort.api.documents import read_documents
from kohort.api.errors import ApiError, DecodeError
from kohort.api.fields import ROOT
from kohort.api.fields import invalid as field_invalid
from kohort.embedded.protobuf import decode as decode_protobuf
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.requests.request_info import ServerRequest
from kohort.kube.errors import ErrorSubject, StatusError, bad_request, invalid, unsupported_media_type

JSON_TYPES = ("", "application/json", "*/*")
YAML_TYPE = "application/yaml"
PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf"
_OFFERED = "application/json, application/yaml, application/vnd.kubernetes.protobuf"


def read_body(request: ServerRequest, kind: str = "") -> JsonObject:
    """The object in the request body; `kind` is the expected kind, for error messages."""
    if request.content_type == PROTOBUF_TYPE:
        return _protobuf(request.body)
    try:
        return as_object(read_value(request))
    except StatusError as error:
        if not kind or error.reason != "BadRequest":
            raise
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {error}") from None


def check_type_meta(request: ServerRequest, resource: ServedResource, found: JsonObject) -> None:
    """Requires kind and apiVersion of a custom object; built-in objects may omit them."""
    for name, word in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not found.get(name):
            text = request.body[:256].decode(errors="replace")
            raise bad_request(
                f"the object provided is unrecognized (must be of type {resource.kind}): "
                f"Object '{word}' is missing in '{text}'"
            )
    if found["kind"] != resource.kind:
        metadata = found.get("metadata")
        name = str(metadata.get("name") or "") if isinstance(metadata, dict) else ""
        problem = field_invalid(ROOT / "kind", found["kind"], f"must be {resource.kind}")
        raise invalid(ErrorSubject("", resource.group, name, str(found["kind"])), [problem])


def as_object(value: Json) -> JsonObject:
    """The value as an object; raises 400 for any other JSON value."""
    if not isinstance(value, dict):
        raise bad_request("couldn't get version/kind; json parse error: the body must be a JSON object")
    return value


def _protobuf(body: bytes) -> JsonObject:
    try:
        return decode_protobuf(body)
    except ApiError as error:
        raise bad_request(f"unable to decode the protobuf body: {error}") from None


def read_value(request: ServerRequest) -> Json:
    """The JSON value in the request body."""
    kind = request.content_type
    if kind in JSON_TYPES or kind.endswith("+json"):
        return _json(request.body)
    if kind == YAML_TYPE or kind.endswith("+yaml"):
        return _yaml(request.body)
    raise unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {_OFFERED}"
    )


def _json(body: bytes) -> Json:
    if not body.strip():
        raise bad_request("couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)")
    try:
        return decode_json(body)
    except DecodeError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None


def _yaml(body: bytes) -> Json:
    """Decodes YAML as Kubernetes does; tries JSON first, which is faster and what clients mostly send."""
    if body.lstrip().startswith(b"{"):
        try:
            return decode_json(body)
        except DecodeError:
            pass
    try:
        documents = [document.value for document in read_documents(body, "body")]
    except ApiError as error:
        raise bad_request(f"error converting YAML to JSON: {error}") from None
    if len(documents) != 1:
        raise bad_request("the body must hold exactly one object")
    return documents[0]


def duplicate_fields(request: ServerRequest) -> list[str]:
    """Fields given twice in a JSON body, as strict field validation names them."""
    if request.content_type not in JSON_TYPES:
        return []
    found: list[str] = []

    def members(pairs: Iterable[tuple[str, Any]]) -> JsonObject:
        seen: JsonObject = {}
        for name, value in pairs:
            if name in seen:
                found.append(f'json: duplicate field "{name}"')
            seen[name] = value
        return seen

    try:
        json.loads(request.body, object_pairs_hook=members)
    except (ValueError, RecursionError):
        return []  # decoding the object fails as well, and returns the error
    return found
