"""One write to our kinds, judged twice: by our functions and by the real API server, without webhooks.

The real one is asked with `dryRun=All`, so that nothing is left behind; what an update meets is put there before.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from cluster.client import Answer, Client
from kohort.api.fields import FieldError
from kohort.api.kinds import CustomObject, kind_of
from kohort.api.kueue.admission import ObjectWrite, read
from kohort.api.kueue.conversion import V1BETA2, convert
from kohort.api.schema import schema_of
from kohort.api.structural import MISSING, default, prune, validate, validate_status

Json = Any
Causes = Counter[tuple[str, str]]
"""How often which field is refused for which reason."""

_OURS_TO_SET = ("name", "namespace", "labels", "annotations", "finalizers")
NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a client sees of a judgement."""

    code: int
    causes: Causes = field(default_factory=Counter)
    warnings: tuple[str, ...] = ()
    object: Json = None


def ours(write: ObjectWrite) -> Outcome:
    """What our pruning, defaulting and validation say."""
    kind = _kind(write.value)
    schema = schema_of(kind)
    value, unknown = prune(write.value, schema)
    warnings = _sorted(*filter(None, [kind.info.deprecation]), *(f'unknown field "{path}"' for path in unknown))
    if unknown and write.field_validation == "Strict":
        return Outcome(400)
    value = default(_part_written(value, write, kind), schema)
    old = MISSING if write.old is None else read(write.old, value["apiVersion"])
    errors = validate_status(value, schema, old) if write.to_status else validate(value, schema, old)
    if errors:
        whole = "status" if write.to_status else "<nil>"
        return Outcome(422, Counter((field_of(error, whole), error.kind.cause) for error in errors), warnings)
    seen = read(convert(value, V1BETA2), value["apiVersion"])
    return Outcome(201 if write.old is None else 200, Counter(), warnings, _shown(seen))


def field_of(error: FieldError, whole: str) -> str:
    """Where the error is; of a number out of range we name the field and the real server the whole (API-9)."""
    return whole if error.detail.startswith("must fit into ") else str(error.path)


def _part_written(value: Json, write: ObjectWrite, kind: type[CustomObject]) -> Json:
    """A write to the object leaves its status alone; one to its status leaves the rest alone (API-4)."""
    if not kind.info.has_status:
        return value
    old = {} if write.old is None else read(write.old, value["apiVersion"])
    rest, status = (old, value) if write.to_status else (value, old)
    kept = {name: member for name, member in rest.items() if name != "status"}
    return {**kept, "status": status["status"]} if "status" in status else kept


def theirs(client: Client, write: ObjectWrite) -> Outcome:
    """What the real API server says."""
    body = {**write.value, "metadata": _our_metadata(write.value)}
    query = {"dryRun": "All", "fieldValidation": write.field_validation}
    if write.old is None:
        return _outcome(client.post(_collection(body), body, **query))
    path = f"{_collection(body)}/{body['metadata']['name']}"
    try:
        body["metadata"]["resourceVersion"] = _put_there(client, write.old)
        return _outcome(client.put(f"{path}/status" if write.to_status else path, body, **query))
    finally:
        client.delete(path)


def _put_there(client: Client, old: Json) -> str:
    """Store what the write is to meet, status included; the version under which it lies there."""
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
    """The metadata that a client sets, in the namespace of this comparison."""
    metadata = {name: member for name, member in value["metadata"].items() if name in _OURS_TO_SET}
    return {**metadata, "namespace": NAMESPACE} if _kind(value).info.resource.namespaced else metadata


def _outcome(answer: Answer) -> Outcome:
    if answer.accepted:
        return Outcome(answer.code, Counter(), _sorted(*answer.warnings), _shown(answer.body))
    causes = answer.body.get("details", {}).get("causes", ())
    return Outcome(
        answer.code, Counter((cause["field"], cause["reason"]) for cause in causes), _sorted(*answer.warnings)
    )


def _sorted(*warnings: str) -> tuple[str, ...]:
    """Unknown fields come in no particular order from the real server."""
    return tuple(sorted(warnings))


def _shown(value: Json) -> Json:
    """The object without its metadata, where the two live in different worlds."""
    return {name: member for name, member in value.items() if name != "metadata"}
