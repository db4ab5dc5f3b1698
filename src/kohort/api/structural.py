"""What an API server does to a custom object by its schema: drop nulls, prune, default, validate.

Works on plain JSON, so that the embedded server, the CLI and the webhooks give the very answers of a real one. Error
order and the ways one error hides another follow the real server too (see the golden transcripts in tests/golden).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any

from kohort.api.codec import Json
from kohort.api.fields import NO_VALUE, ROOT, ErrorKind, FieldError, Path
from kohort.api.markers import QUANTITY_REGEX, Bounds
from kohort.api.quantity import Quantity, QuantityError
from kohort.api.rules import Rule
from kohort.api.schema import Schema, default_json, has_rules, schema_of
from kohort.api.unchanged import MISSING, former_items, is_keyed, is_unchanged, item_key

__all__ = [
    "MISSING",
    "default",
    "is_quantity",
    "matches",
    "plainly",
    "prune",
    "unknown_fields",
    "validate",
    "validate_status",
]

Trail = tuple[Any, ...]
"""The way to a node as a linked pair (parent, key); rendered only when there is an error to report."""

_START: Trail = ()

RULES_UNCHECKED = FieldError(
    ROOT,
    ErrorKind.INVALID,
    "some rules were not checked because the object is invalid; correct the other errors first",
    None,
    source="schema",
)
_BLOCKING = {
    ErrorKind.NOT_SUPPORTED,
    ErrorKind.REQUIRED,
    ErrorKind.TOO_LONG,
    ErrorKind.TOO_MANY,
    ErrorKind.TYPE_INVALID,
}


# Pruning and defaulting


def prune(value: Json, schema: Schema) -> tuple[Json, list[Path]]:
    """The value without nulls and without unknown fields, and the paths of what was unknown (API-3)."""
    unknown: list[Path] = []
    return _prune(value, schema, _START, unknown), unknown


def unknown_fields(value: Json, struct: type) -> list[Path]:
    """Paths of the fields that the struct does not define."""
    return prune(value, schema_of(struct))[1]


_UNKNOWN = Schema("object")
"""Knows no member: what lies where the schema has nothing to say."""


def _prune(value: Json, schema: Schema, trail: Trail, unknown: list[Path]) -> Json:
    """Goes by what the value is, not by what it should be: a wrong type is told later, by validation."""
    if isinstance(value, list) and (schema.items or not schema.preserves_unknown):
        return [_prune(item, schema.items or _UNKNOWN, (trail, index), unknown) for index, item in enumerate(value)]
    if isinstance(value, dict):
        return dict(_known_members(value, schema, trail, unknown))
    return value


def _known_members(
    value: dict[str, Json], schema: Schema, trail: Trail, unknown: list[Path]
) -> Iterator[tuple[str, Json]]:
    for name, member in value.items():
        below = schema.properties.get(name) or schema.additional
        if below is not None:
            if member is not None:
                yield name, _prune(member, below, (trail, name), unknown)
        elif schema.preserves_unknown:
            yield name, member
        else:
            unknown.append(_path((trail, name)))


def default(value: Json, schema: Schema) -> Json:
    """The value with the schema's defaults filled in; objects on the way are copied, not changed."""
    if schema.type == "array" and isinstance(value, list) and schema.items:
        return [default(item, schema.items) for item in value]
    if schema.type == "object" and isinstance(value, dict):
        return _default_members(value, schema)
    return value


def _default_members(value: dict[str, Json], schema: Schema) -> Json:
    filled = {}
    for name, member in value.items():
        below = schema.properties.get(name) or schema.additional
        filled[name] = default(member, below) if below else member
    for name, below in schema.properties.items():
        if below.has_default and name not in filled:
            filled[name] = default(default_json(below), below)
    return filled


# Validation


def validate(value: Json, schema: Schema, old: Json = MISSING) -> list[FieldError]:
    """All schema errors, and the broken rules unless an error keeps rules from being checked.

    With a former value, what has not changed is not judged again (a rule may have become stricter since). The object as
    a whole always counts as changed, because its metadata has no schema.
    """
    return _judged([*_schema_errors(value, schema, old, _START)], value, schema, old)


def validate_status(value: Json, schema: Schema, old: Json) -> list[FieldError]:
    """The same for a write to the `status` subresource: the schema judges nothing but the status."""
    errors: list[FieldError] = []
    if "status" in value:
        former = old.get("status", MISSING) if isinstance(old, dict) else MISSING
        found = _changed_errors(value["status"], schema.properties["status"], former, (_START, "status"))
        errors = [replace(error, path=ROOT / "status") if error.path == ROOT else error for error in found]
    return _judged(errors, value, schema, old)


def plainly(errors: list[FieldError]) -> list[FieldError]:
    """The errors as people want them: one for a value of the wrong type, and no remarks on what was not checked."""
    mistyped: set[Path] = set()
    kept = []
    for error in errors:
        if error.path not in mistyped and not (
            error.path == ROOT and error.kind is ErrorKind.INVALID and error.source == "schema"
        ):
            kept.append(error)
        if error.kind is ErrorKind.TYPE_INVALID:
            mistyped.add(error.path)
    return kept


def _judged(errors: list[FieldError], value: Json, schema: Schema, old: Json) -> list[FieldError]:
    """Schema errors, then repeated items, then rules, each in a round of its own."""
    if next(_repeated(old, schema, _START), None) is None:
        errors = [*errors, *_repeated(value, schema, _START)]
    if any(error.kind in _BLOCKING for error in errors):
        return [*errors, RULES_UNCHECKED] if has_rules(schema) else errors
    return [*errors, *_broken_rules(value, schema, old, _START)]


def _error(trail: Trail, kind: ErrorKind, detail: str, value: Any = NO_VALUE) -> FieldError:
    return FieldError(_path(trail), kind, detail, value, source="schema")


def _changed_errors(value: Json, schema: Schema, old: Json, trail: Trail) -> Iterator[FieldError]:
    if old is MISSING or not is_unchanged(value, old, schema):
        yield from _schema_errors(value, schema, old, trail)


def _schema_errors(value: Json, schema: Schema, old: Json, trail: Trail) -> Iterator[FieldError]:
    """A value of the wrong type is measured all the same: the real server reports both."""
    yield from _type_errors(value, schema, trail)
    match value:
        case bool():
            pass
        case str():
            yield from _string_errors(value, schema, trail)
        case int() | float():
            yield from _number_errors(value, schema, trail)
        case list():
            yield from _size_errors(len(value), schema.bounds.min_items, schema.bounds.max_items, "items", trail)
        case dict():
            yield from _object_errors(value, schema, trail)
    if schema.enum and value not in schema.enum:
        names = ", ".join(f'"{name}"' for name in schema.enum)
        yield _error(trail, ErrorKind.NOT_SUPPORTED, f"supported values: {names}", value)
    for below, member, former, step in _children(value, schema, old):
        yield from _changed_errors(member, below, former, (trail, step))


# Types

_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "object": ((dict,), "an object"),
    "array": ((list,), "a list"),
    "string": ((str,), "a text"),
    "boolean": ((bool,), "true or false"),
    "integer": ((), "a whole number"),
    "number": ((int, float), "a number"),
    "int-or-string": ((str,), "a whole number or a text"),
}
_WHOLE = ("integer", "int-or-string")
_FORMAT_LIMITS = {"int32": 2**31, "int64": 2**63}
_EXACT_FLOATS = 2**53


def _type_errors(value: Json, schema: Schema, trail: Trail) -> Iterator[FieldError]:
    if schema.type == "any" or _has_type(value, schema):
        return
    yield _error(trail, ErrorKind.TYPE_INVALID, _type_problem(value, schema), value)
    if schema.type == "int-or-string":
        # Real servers try both types in turn, and report that neither fits and why the first does not.
        yield _error(_START, ErrorKind.INVALID, "must be of one of the types that the schema names", value)
        yield from _type_errors(value, Schema("integer"), trail)
    if schema.type == "integer" and _is_number(value):
        yield _error(trail, ErrorKind.INVALID, f"must fit into {schema.format or 'int64'}", value)


def _type_problem(value: Json, schema: Schema) -> str:
    if schema.type == "int-or-string" and _is_number(value) and isinstance(value, int):
        return "is too large for a quantity"
    return f"must be {_TYPES[schema.type][1]}"


def _has_type(value: Json, schema: Schema) -> bool:
    if isinstance(value, bool):
        return schema.type == "boolean"
    if schema.type in _WHOLE and _is_number(value):
        return _is_whole(value)
    if schema.type == "string" and schema.format and isinstance(value, list):
        return True  # as on real servers, which look at the format and find no text to check
    return isinstance(value, _TYPES[schema.type][0])


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: float) -> bool:
    """Whether Go reads it as a whole number: what does not fit into 64 bits is a float there."""
    if isinstance(value, int) and -_FORMAT_LIMITS["int64"] <= value < _FORMAT_LIMITS["int64"]:
        return True
    return abs(value) < _EXACT_FLOATS and float(value).is_integer()


# Bounds


def _string_errors(value: str, schema: Schema, trail: Trail) -> Iterator[FieldError]:
    """The first problem of a text: one bad text is one error, as on the real server."""
    bounds = schema.bounds
    if bounds.max_length is not None and len(value) > bounds.max_length:
        yield _error(trail, ErrorKind.TOO_LONG, f"may not be longer than {bounds.max_length} characters")
    elif bounds.min_length is not None and len(value) < bounds.min_length:
        yield _error(trail, ErrorKind.INVALID, f"must have at least {bounds.min_length} characters", value)
    elif schema.pattern and not matches(schema.pattern, value):
        yield _error(trail, ErrorKind.INVALID, f"must match {schema.pattern}", value)
    elif schema.pattern == QUANTITY_REGEX and not is_quantity(value):
        yield _error(trail, ErrorKind.TYPE_INVALID, "must be a quantity such as 500m, 4 or 16Gi", value)
    if schema.format == "date-time" and not _is_time(value):
        yield _error(trail, ErrorKind.TYPE_INVALID, "must be a time such as 2026-01-31T12:00:00Z", value)


def is_quantity(value: int | str) -> bool:
    """Whether what looks like a quantity can be read as one: the pattern lets `1e2.5` and `1e9999` through."""
    try:
        Quantity.parse(value)
    except QuantityError:
        return False
    return True


_TIME = re.compile(
    r"(\d{4})(-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(Z|[+-]\d{2}:\d{2})(T.*)?\Z",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
"""What real servers take for a time: any offset, and anything after another T."""


def _is_time(value: str) -> bool:
    match = _TIME.match(value)
    if match is None:
        return False
    year = "2000" if match[1] == "0000" else match[1]  # Go knows a year 0, a leap year
    try:
        date.fromisoformat(year + match[2])
    except ValueError:
        return False
    return True


def _number_errors(value: float, schema: Schema, trail: Trail) -> Iterator[FieldError]:
    bounds = schema.bounds
    limit = _FORMAT_LIMITS.get(schema.format)
    if limit and _is_whole(value) and not -limit <= value < limit:
        yield _error(trail, ErrorKind.INVALID, f"must fit into {schema.format}", value)
    if bounds.minimum is not None and value < bounds.minimum:
        yield _error(trail, ErrorKind.INVALID, f"must be at least {bounds.minimum}", value)
    if bounds.maximum is not None and value > bounds.maximum:
        yield _error(trail, ErrorKind.INVALID, f"must be at most {bounds.maximum}", value)


def _object_errors(value: dict[str, Json], schema: Schema, trail: Trail) -> Iterator[FieldError]:
    bounds: Bounds = schema.bounds
    yield from _size_errors(len(value), bounds.min_properties, bounds.max_properties, "entries", trail)
    for name in schema.required:
        if name not in value:
            yield _error((trail, name), ErrorKind.REQUIRED, "must be given")


def _size_errors(size: int, least: int | None, most: int | None, what: str, trail: Trail) -> Iterator[FieldError]:
    if most is not None and size > most:
        yield _error(trail, ErrorKind.TOO_MANY, f"may have at most {most} {what}", size)
    if least is not None and size < least:
        yield _error(trail, ErrorKind.INVALID, f"must have at least {least} {what}", size)


# Repeated items


def _repeated(value: Json, schema: Schema, trail: Trail) -> Iterator[FieldError]:
    """Items that stand twice where each may stand once, at every depth (API-5)."""
    if isinstance(value, list) and schema.merge is not None and schema.merge.list_type != "atomic":
        yield from _repeated_keys(value, schema, trail) if is_keyed(schema) else _repeated_values(value, value, trail)
    for below, member, _, step in _children(value, schema, MISSING):
        yield from _repeated(member, below, (trail, step))


def _repeated_keys(value: list[Json], schema: Schema, trail: Trail) -> Iterator[FieldError]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            yield _error((trail, index), ErrorKind.INVALID, "must be an object", item)
            return
    keys = schema.merge.keys if schema.merge else ()
    yield from _repeated_values(
        value, [{key: item[key] for key in keys if key in (item or ())} for item in value], trail
    )


def _repeated_values(value: list[Json], identities: list[Json], trail: Trail) -> Iterator[FieldError]:
    """One error for each value that is repeated, however often, where it stands for the second time."""
    seen: dict[str, int] = {}
    for index, identity in enumerate(identities):
        text = json.dumps(identity, sort_keys=True)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield _error((trail, index), ErrorKind.DUPLICATE, "each entry may appear once", value[index])


# Rules


def _broken_rules(value: Json, schema: Schema, old: Json, trail: Trail) -> Iterator[FieldError]:
    for rule in schema.rules:
        if not _holds(rule, value, old) and (rule.is_transition or not _is_former(value, old, schema)):
            yield FieldError(_path(trail), ErrorKind.INVALID, rule.message, NO_VALUE, rule.spec, source="cel")
    if isinstance(value, list) and not is_keyed(schema) and _is_former(value, old, schema):
        return  # the items themselves can't tell that they are old
    for below, member, former, step in _children(value, schema, old):
        yield from _broken_rules(member, below, former, (trail, step))


def _is_former(value: Json, old: Json, schema: Schema) -> bool:
    return old is not MISSING and is_unchanged(value, old, schema)


def _holds(rule: Rule, value: Json, old: Json) -> bool:
    if rule.is_transition and old is MISSING:
        return True
    try:
        return rule.holds(value, None if old is MISSING else old)
    except (AttributeError, KeyError, TypeError):
        # The former object may have a shape that today's schema refuses; a rule that can't be evaluated is broken.
        return False


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # `$` must not match before a final newline: Kubernetes' expressions don't.
    return re.compile(pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern)


def matches(pattern: str, text: str) -> bool:
    """Whether a text matches a schema pattern, with the meaning the pattern has for Kubernetes."""
    return _compiled(pattern).search(text) is not None


# The tree


def _children(value: Json, schema: Schema, old: Json) -> Iterator[tuple[Schema, Json, Json, str | int]]:
    """Node, value, former value and step of every member or item."""
    if isinstance(value, dict):
        former = old if isinstance(old, dict) else {}
        for name, member in value.items():
            below = schema.properties.get(name) or schema.additional
            if below is not None:
                yield below, member, former.get(name, MISSING), name
    elif isinstance(value, list) and schema.items:
        known = former_items(old, schema)
        for index, item in enumerate(value):
            yield schema.items, item, known.get(item_key(item, schema), MISSING), index


def _path(trail: Trail) -> Path:
    steps: list[str | int] = []
    while trail:
        trail, step = trail
        steps.append(step)
    path = ROOT
    for step in reversed(steps):
        path = path[step] if isinstance(step, int) else path / step
    return path
