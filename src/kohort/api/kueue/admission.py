"""Handles a write of a Kueue object, from the request to the stored object and the response.

The order is that of kube-apiserver: prune, default, mutate, schema and CEL in the version of the request, webhooks in
v1beta2, store in v1beta2, respond in the version of the request (API-3, API-4, API-9, API-77).
"""

from dataclasses import dataclass, field
from typing import Literal

from kohort.api.codec import Json, from_json
from kohort.api.errors import ConversionError, DecodeError
from kohort.api.fields import ROOT, ErrorKind, FieldError, Path
from kohort.api.gates import FeatureGates
from kohort.api.kinds import CustomObject, KindInfo, kind_of
from kohort.api.kueue.conversion import V1BETA2, convert
from kohort.api.kueue.webhooks import MUTATED_ON_CREATE, mutate_on_create, webhook_errors
from kohort.api.meta import ObjectMeta
from kohort.api.objects import head_errors, metadata_errors
from kohort.api.schema import schema_of
from kohort.api.structural import MISSING, default, prune, validate, validate_status

FieldValidation = Literal["Ignore", "Warn", "Strict"]
WriteCode = Literal[200, 201, 400, 403, 422]


@dataclass(frozen=True, slots=True)
class ObjectWrite:
    """A write request of a client, and the stored object."""

    value: Json
    old: Json | None = None
    """The stored v1beta2 object; None on create."""
    to_status: bool = False
    """Whether the write goes to the `status` subresource."""
    field_validation: FieldValidation = "Warn"


@dataclass(frozen=True, slots=True)
class WriteVerdict:
    """The result of a write."""

    code: WriteCode
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    stored: Json = None
    """The v1beta2 object to store; None if the write is rejected."""

    @property
    def accepted(self) -> bool:
        """Whether the object is stored."""
        return self.code < 300


def admit(write: ObjectWrite, gates: FeatureGates) -> WriteVerdict:
    """Handles a write of one of the group's kinds."""
    kind = _kind(write.value)
    if kind is None:
        return WriteVerdict(400, head_errors(write.value) or [_unknown_kind(write.value)])
    value, unknown = prune(write.value, schema_of(kind))
    warnings = _warnings(kind.info, unknown, write)
    if unknown and write.field_validation == "Strict":
        return WriteVerdict(400, [_unknown_field(path) for path in unknown], warnings)
    value = default(_part_written(value, write), schema_of(kind))
    if write.old is None:
        value = default(mutate_on_create(value, gates), schema_of(kind))
    return _judged(value, write, kind, warnings, gates)


def read(stored: Json, api_version: str) -> Json:
    """A stored object in the requested version: defaults of the storage version, then conversion."""
    kind = kind_of(V1BETA2, stored["kind"])
    if kind is None:
        raise DecodeError(f"{stored['kind']} is not stored as {V1BETA2}")
    return convert(default(prune(stored, schema_of(kind))[0], schema_of(kind)), api_version)


def _kind(value: Json) -> type[CustomObject] | None:
    return None if head_errors(value) else kind_of(value["apiVersion"], value["kind"])


def _unknown_kind(value: Json) -> FieldError:
    detail = f"{value['apiVersion']} has no such kind"
    return FieldError(ROOT / "kind", ErrorKind.NOT_FOUND, detail, value["kind"], source="schema")


def _warnings(info: KindInfo, unknown: list[Path], write: ObjectWrite) -> list[str]:
    deprecation = [info.deprecation] if info.deprecation else []
    if write.field_validation != "Warn":
        return deprecation
    return [*deprecation, *(f'unknown field "{path}"' for path in unknown)]


def _unknown_field(path: Path) -> FieldError:
    return FieldError(path, ErrorKind.INVALID, "unknown field: check its spelling and place", source="schema")


def _part_written(value: Json, write: ObjectWrite) -> Json:
    """A write to an object ignores its status, a write to the status ignores the rest (API-4)."""
    kind = kind_of(value["apiVersion"], value["kind"])
    if kind is None or not kind.info.has_status:
        return value
    old = {} if write.old is None else read(write.old, value["apiVersion"])
    taken, kept = (old, value) if write.to_status else (value, old)
    merged = {name: member for name, member in taken.items() if name != "status"}
    return {**merged, "status": kept["status"]} if "status" in kept else merged


def _judged(
    value: Json, write: ObjectWrite, kind: type[CustomObject], warnings: list[str], gates: FeatureGates
) -> WriteVerdict:
    old = MISSING if write.old is None else read(write.old, value["apiVersion"])
    judge = validate_status if write.to_status else validate
    errors = [*_metadata_errors(value, kind), *judge(value, schema_of(kind), old)]
    if errors:
        return WriteVerdict(_refusal_code(errors, write, kind), errors, warnings)
    former = None if write.old is None else convert(old, V1BETA2)
    try:
        hub = convert(value, V1BETA2)
        errors = webhook_errors(hub, former, gates)
    except (DecodeError, ConversionError) as error:
        return WriteVerdict(400, [FieldError(ROOT, ErrorKind.TYPE_INVALID, str(error))], warnings)
    if errors:
        return WriteVerdict(403, errors, warnings)
    return WriteVerdict(201 if write.old is None else 200, [], warnings, hub)


def _metadata_errors(value: Json, kind: type[CustomObject]) -> list[FieldError]:
    try:
        metadata = from_json(value.get("metadata") or {}, ObjectMeta)
    except DecodeError as error:
        return [FieldError(ROOT / "metadata", ErrorKind.TYPE_INVALID, str(error), source="schema")]
    return metadata_errors(metadata, kind.info.resource)


def _refusal_code(errors: list[FieldError], write: ObjectWrite, kind: type[CustomObject]) -> WriteCode:
    """A mutating webhook cannot decode a wrong type, and rejects it before the schema does."""
    mutated = write.old is None and kind.info.resource.kind in MUTATED_ON_CREATE
    return 400 if mutated and any(map(is_undecodable, errors)) else 422


def is_undecodable(error: FieldError) -> bool:
    """Whether a value cannot be decoded by a webhook (API-9)."""
    return error.kind is ErrorKind.TYPE_INVALID or _is_bad_quantity(error)


def _is_bad_quantity(error: FieldError) -> bool:
    return error.source == "schema" and error.path.text.endswith(("Quota", "Limit", "weight"))
