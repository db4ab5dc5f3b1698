"""Validation of objects of Kueue's kinds, by the pipeline that handles writes.

All errors are reported at once: strict field validation of a server stops at unknown fields, while here they are
reported together with other errors. Only wrong types end the validation, because the rest cannot be evaluated.
"""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches

from kohort.api.codec import Json, from_json
from kohort.api.errors import ApiError, DecodeError
from kohort.api.fields import ROOT, ErrorKind, FieldError, Path, not_supported
from kohort.api.gates import FeatureGates
from kohort.api.kinds import CustomObject, all_kinds, kind_of
from kohort.api.kueue.admission import ObjectWrite, admit
from kohort.api.kueue.conversion import V1BETA2
from kohort.api.kueue.group import GROUP
from kohort.api.kueue.quotas import canonical_quotas
from kohort.api.schema import Schema, schema_of
from kohort.api.structural import default, plainly, prune, unknown_fields, validate

_STEP = re.compile(r"[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class Judged:
    """The result for an object."""

    errors: list[FieldError] = field(default_factory=list)
    hub: Json = None
    """The object as it would be stored, in v1beta2; None if it is rejected."""


def judge(value: Json, gates: FeatureGates) -> Judged:
    """Errors for which an API server would reject a new object of the group (API-3, API-9)."""
    kind = kind_of(value["apiVersion"], value["kind"])
    if kind is None:
        return Judged([_unknown_kind(value)])
    pruned, unknown = prune(value, schema_of(kind))
    errors = [_unknown_field(path, schema_of(kind)) for path in unknown]
    misshapen = _type_errors(pruned, kind)
    if misshapen:
        return Judged([*errors, *misshapen])
    try:
        verdict = admit(ObjectWrite(value), gates)
    except ApiError as error:
        return Judged([*errors, FieldError(ROOT, ErrorKind.INVALID, str(error))])
    return Judged([*errors, *plainly(verdict.errors)], verdict.stored)


def renamed_fields(value: Json) -> list[str]:
    """Fields of an older version's spec that v1beta2 has renamed."""
    kind = kind_of(V1BETA2, value["kind"])
    unknown = unknown_fields(value, kind) if kind else []
    return [path.text for path in unknown if path.text.startswith("spec.")]


def _unknown_kind(value: Json) -> FieldError:
    resources = [kind.info.resource for kind in all_kinds(GROUP)]
    versions = [each.api_version for each in resources if each.kind == value["kind"]]
    if versions:
        return not_supported(ROOT / "apiVersion", value["apiVersion"], sorted(versions), "API-1")
    return not_supported(ROOT / "kind", value["kind"], sorted({each.kind for each in resources}), "API-1")


def _type_errors(pruned: Json, kind: type[CustomObject]) -> list[FieldError]:
    """All schema errors of an object with a wrong type; else none, because `admit` finds the rest."""
    try:
        from_json(pruned, kind)
    except DecodeError:
        written = canonical_quotas(pruned) if kind.info.resource.kind == "ClusterQueue" else pruned
        errors = validate(default(written, schema_of(kind)), schema_of(kind))
        types_wrong = any(error.kind is ErrorKind.TYPE_INVALID for error in errors)
        return plainly(errors) if types_wrong else []
    return []


def _unknown_field(path: Path, schema: Schema) -> FieldError:
    above, _, name = path.text.rpartition(".")
    likely = get_close_matches(name, _fields_below(_STEP.findall(above), schema), n=1)
    remedy = f"did you mean {likely[0]}?" if likely else "check its spelling and indentation"
    return FieldError(path, ErrorKind.FORBIDDEN, f"unknown field; {remedy}", source="schema")


def _fields_below(steps: list[str], schema: Schema) -> list[str]:
    """The fields at a path; none if a key with dots makes it ambiguous."""
    for step in steps:
        below = schema.items if step.isdigit() else schema.properties.get(step)
        if below is None:
            return []
        schema = below
    return list(schema.properties)
