"""One write to our kinds, evaluated twice: by our functions and by kube-apiserver without webhooks.

The server gets it with `dryRun=All`, so that it stores nothing; the old object of an update is stored before.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from cluster.client import JsonClient, JsonResponse
from kohort.api.fields import FieldError
from kohort.api.kinds import CustomObject, kind_of
from kohort.api.kueue.admission import ObjectWrite, read
from kohort.api.kueue.conversion import V1BETA2, convert
from kohort.api.schema import schema_of
from kohort.api.structural import MISSING, default, prune, validate, validate_status

Json = Any
Causes = Counter[tuple[str, str]]
"""How often a field is rejected for a reason."""

_OURS_TO_SET = ("name", "namespace", "labels", "annotations", "finalizers")
NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The response to a write as a client sees it."""

    code: int
    causes: Causes = field(default_factory=Counter)
    warnings: tuple[str, ...] = ()
    object: Json = None


def kohort_result(write: ObjectWrite) -> WriteResult:
    """The result of our pruning, defaulting and validation."""
    kind = _kind(write.value)
    schema = schema_of(kind)
    value, unknown = prune(write.value, schema)
    warnings = _sorted(*filter(None, [kind.info.deprecation]), *(f'unknown field "{path}"' for path in unknown))
    if unknown and write.field_validation == "Strict":
        return WriteResult(400)
    value = default(_part_written(value, write, kind), schema)
    old = MISSING if write.old is None else read(write.old, value["apiVersion"])
    errors = validate_status(value, schema, old) if write.to_status else validate(value, schema, old)
    if errors:
        whole = "status" if write.to_status else "<nil>"
        return WriteResult(422, Counter((field_of(error, whole), error.kind.cause) for error in errors), warnings)
    seen = read(convert(value, V1BETA2), value["apiVersion"])
    return WriteResult(201 if write.old is None else 200, Counter(), warnings, _shown(seen))


def field_of(error: FieldError, whole: str) -> str:
    """The field of an error; for a number out of range we report the field, the server the whole object (API-9)."""
    return whole if error.detail.startswith("must fit into ") else str(error.path)


def _part_written(value: Json, write: ObjectWrite, kind: type[CustomObject]) -> Json:
    """A write to the object leaves its status alone; one to its status leaves the rest alone (API-4)."""
    if not kind.info.has_status:
        return value
    old = {} if write.old is None else read(write.old, value["apiVersion"])
    rest, status = (old, value) if write.to_status else (value, old)
    kept = {name: member for name, member in rest.items() if name != "status"}
    return {**kept, "status": status["status"]} if "status" in status else kept


def server_result(client: JsonClient, write: ObjectWrite) -> WriteResult:
    """The response of kube-apiserver."""
    body = {**write.value, "metadata": _our_metadata(write.value)}
    query = {"dryRun": "All", "fieldValidation": write.field_validation}
    if write.old is None:
        return _outcome(client.post(_collection(body), body, **query))
    path = f"{_collection(body)}/{body['metadata']['name']}"
    try:
        body["metadata"]["resourceVersion"] = _store(client, write.old)
        return _outcome(client.put(f"{path}/status" if write.to_status else path, body, **query))
    finally:
        client.delete(path)


def _store(client: JsonClient, old: Json) -> str:
    """Store the old object with its status; returns its resource version."""
    metadata = {name: member for name, member in _our_metadata(old).items() if name != "finalizers"}
    body = {**old, "metadata": metadata}
    answer = client.post(_collection(body), body)
    if answer.accepted and "status" in old and _kind(old).info.has_status:
        body["metadata"] = answer.body["metadata"]
        answer = client.put(f"{_collection(body)}/{metadata['name']}/status", body)
    assert answer.accepted, answer.body
    version: str = answer.body["metadata"]["resourceVersion"]
    return version


def _kind(value: Json) -> type[CustomObject]:
    kind = kind_of(value["apiVersion"], value["kind"])
    assert kind is not None
    return kind


def _collection(value: Json) -> str:
    resource = _kind(value).info.resource
    place = f"namespaces/{NAMESPACE}/" if resource.namespaced else ""
    return f"/apis/{resource.api_version}/{place}{resource.plural}"


def _our_metadata(value: Json) -> Json:
    """The metadata that a client sets, in the namespace of the comparison."""
    metadata = {name: member for name, member in value["metadata"].items() if name in _OURS_TO_SET}
    return {**metadata, "namespace": NAMESPACE} if _kind(value).info.resource.namespaced else metadata


def _outcome(answer: JsonResponse) -> WriteResult:
    if answer.accepted:
        return WriteResult(answer.code, Counter(), _sorted(*answer.warnings), _shown(answer.body))
    causes = answer.body.get("details", {}).get("causes", ())
    return WriteResult(
        answer.code, Counter((cause["field"], cause["reason"]) for cause in causes), _sorted(*answer.warnings)
    )


def _sorted(*warnings: str) -> tuple[str, ...]:
    """The server reports unknown fields in undefined order."""
    return tuple(sorted(warnings))


def _shown(value: Json) -> Json:
    """The object without its metadata, which always differs."""
    return {name: member for name, member in value.items() if name != "metadata"}
