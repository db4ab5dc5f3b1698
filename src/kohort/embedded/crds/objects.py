"""Custom resources in a write: defaulting and pruning before admission, validation after it.

The order of checks, and which of them prevent others, follow kube-apiserver.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kohort.api.codec import Json
from kohort.api.fields import ROOT, ErrorKind, FieldError, Path
from kohort.embedded.crds.checks import Findings, SchemaCheck, SchemaViolation, check_of
from kohort.embedded.crds.content_cache import ContentCache
from kohort.embedded.crds.embedded import embedded_problems, has_embedded, with_heads
from kohort.embedded.crds.lists import uniqueness_of
from kohort.embedded.crds.ratcheting import MISSING, is_unchanged
from kohort.embedded.crds.rules import RuleCheck, RuleNode, rules_of
from kohort.embedded.crds.scalars import shown_number
from kohort.embedded.crds.scales import scale_problems, status_scale_problems
from kohort.embedded.crds.shaping import Shape, shape_of
from kohort.embedded.crds.value_paths import START, ValuePath, field_path, schema_path
from kohort.embedded.resources import ServedResource

_BLOCKING = (
    ErrorKind.NOT_SUPPORTED,
    ErrorKind.REQUIRED,
    ErrorKind.TOO_LONG,
    ErrorKind.TOO_MANY,
    ErrorKind.TYPE_INVALID,
)

RULES_UNCHECKED = FieldError(
    ROOT,
    ErrorKind.INVALID,
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
    None,
    source="schema",
)


@dataclass(frozen=True, slots=True)
class Shaped:
    """An object with defaults and without unknown fields."""

    object: dict[str, Json]
    unknown: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """Errors of an object; warnings are ratcheted errors."""

    errors: tuple[FieldError, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CustomKind:
    """Compiled schema of one version."""

    schema: Mapping[str, Any]
    shape: Shape
    check: SchemaCheck
    status_check: SchemaCheck
    rules: RuleNode | None
    uniqueness: SchemaCheck | None
    has_embedded: bool


def compile_kind(schema: Mapping[str, Any]) -> CustomKind:
    """Compiles a structural schema."""
    complete = with_heads(schema)
    return CustomKind(
        schema=complete,
        shape=shape_of(complete),
        check=check_of(complete),
        status_check=check_of(complete["properties"].get("status") or {}),
        rules=rules_of(complete),
        uniqueness=uniqueness_of(complete),
        has_embedded=has_embedded(complete),
    )


def shape(resource: ServedResource, obj: Mapping[str, Json]) -> Shaped:
    """The object with defaults, without nulls and unknown fields."""
    unknown: list[ValuePath] = []
    made = _kind(resource).shape(dict(obj), START, unknown)
    return Shaped(made, tuple(map(schema_path, unknown)))


def validate(resource: ServedResource, obj: Mapping[str, Json], old: Mapping[str, Json] | None) -> ValidationResult:
    """Validation errors of a shaped object, by schema and rules; ratcheted against a former one."""
    kind, former = _kind(resource), MISSING if old is None else old
    found: Findings = []
    kind.check(obj, START, found)
    errors = [
        *_schema_errors(kind, found, obj, former),
        *scale_problems(resource.scale, obj),
        *(embedded_problems(obj, kind.schema) if kind.has_embedded else ()),
    ]
    return _judged(kind, errors, obj, former)


def validate_status(resource: ServedResource, obj: Mapping[str, Json], old: Mapping[str, Json]) -> ValidationResult:
    """The same for a write to `status`: only the status is validated."""
    kind = _kind(resource)
    found: Findings = []
    if "status" in obj:
        kind.status_check(obj["status"], START, found)
    found = [each._replace(trail=_in_status(each.trail), tied=each.tied and each.tied + 1) for each in found]
    errors = [*_schema_errors(kind, found, obj, old), *status_scale_problems(resource.scale, obj)]
    return _judged(kind, errors, obj, old)


def _in_status(trail: ValuePath) -> ValuePath:
    return (_in_status(trail[0]), trail[1]) if trail else (START, "status")


def _judged(kind: CustomKind, errors: list[FieldError], obj: Json, old: Json) -> ValidationResult:
    """The result, including rules unless an error prevents their evaluation."""
    errors += _repeated(kind, obj, old)
    if kind.rules is None:
        return ValidationResult(tuple(errors))
    if any(error.kind in _BLOCKING for error in errors):
        return ValidationResult((*errors, RULES_UNCHECKED))
    check = RuleCheck(kind.schema, obj, old)
    check.run(kind.rules)
    return ValidationResult((*errors, *check.errors), tuple(check.warnings))


def _schema_errors(kind: CustomKind, found: Findings, obj: Json, old: Json) -> list[FieldError]:
    if old is not MISSING:
        found = [each for each in found if not is_unchanged(each.trail, obj, old, kind.schema, each.tied)]
    # Alternatives may repeat a violation; the server reports it once.
    errors = {str(error): error for error in map(_field_error, found)}
    return list(errors.values())


def _field_error(finding: SchemaViolation) -> FieldError:
    path = ROOT if finding.is_placeless else schema_path(finding.trail)
    return FieldError(path, finding.kind, finding.detail, shown_number(finding.value), source="schema")


def _repeated(kind: CustomKind, obj: Json, old: Json) -> list[FieldError]:
    """Duplicate items of sets and maps, unless the former object had duplicates."""
    found = _found(kind.uniqueness, obj)
    if not found or (old is not MISSING and _found(kind.uniqueness, old)):
        return []
    return [FieldError(field_path(each.trail), each.kind, each.detail, each.value, source="schema") for each in found]


def _found(check: SchemaCheck | None, obj: Json) -> Findings:
    found: Findings = []
    if check is not None:
        check(obj, START, found)
    return found


class _Same:
    """A resource as a cache key, by identity."""

    __slots__ = ("resource",)

    def __init__(self, resource: ServedResource) -> None:
        self.resource = resource

    def __hash__(self) -> int:
        return id(self.resource.definition)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.resource.definition is self.resource.definition


def _kind(resource: ServedResource) -> CustomKind:
    return _compiled(_Same(resource))


_KINDS: ContentCache[CustomKind] = ContentCache(512)


@lru_cache(maxsize=512)
def _compiled(key: _Same) -> CustomKind:
    declared = (key.resource.definition.get("schema") or {}).get("openAPIV3Schema")
    schema = declared or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return _KINDS.get(schema, _compiled_copy)


def _compiled_copy(schema: Mapping[str, Any]) -> CustomKind:
    """Compiles a copy of the schema, which other definitions with the same schema share."""
    return compile_kind(deepcopy(schema))
