"""What an API server does to a custom object by its schema: drop nulls, prune, default, validate.

Works on plain JSON, so that the embedded server, the CLI and the webhooks give the very answers of a real one. Error
order and the ways one error hides another follow the real server too (see the golden transcripts in tests/golden).
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from typing import Any

from kohort.api.codec import Json
from kohort.api.fields import NO_VALUE, ROOT, ErrorKind, FieldError, Path
from kohort.api.markers import QUANTITY_REGEX, Bounds
from kohort.api.quantity import Quantity, QuantityError
from kohort.api.rules import Rule
from kohort.api.schema import Schema, default_json, has_rules, schema_of

MISSING: Any = object()
"""Stands for 'there was no former value here'."""

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


def _prune(value: Json, schema: Schema, trail: Trail, unknown: list[Path]) -> Json:
    if schema.type == "array" and isinstance(value, list) and schema.items:
        return [_prune(item, schema.items, (trail, index), unknown) for index, item in enumerate(value)]
    if schema.type == "object" and isinstance(value, dict):
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

    With a former value, what has not changed is not judged again (a rule may have become stricter since).
    """
    errors = list(_schema_errors(value, schema, old, _START))
    if any(error.kind in _BLOCKING for error in errors):
        return [*errors, RULES_UNCHECKED] if has_rules(schema) else errors
    return [*errors, *_broken_rules(value, schema, old, _START)]


def _is_unchanged(value: Json, old: Json) -> bool:
    return old is not MISSING and old == value and _same_types(value, old)


def _same_types(value: Json, old: Json) -> bool:
    """Tells true from 1 in values that are equal otherwise."""
    if isinstance(value, dict):
        return all(_same_types(member, old[name]) for name, member in value.items())
    if isinstance(value, list):
        return all(map(_same_types, value, old))
    return isinstance(value, bool) == isinstance(old, bool)


def _error(trail: Trail, kind: ErrorKind, detail: str, value: Any = NO_VALUE) -> FieldError:
    return FieldError(_path(trail), kind, detail, value, source="schema")


def _schema_errors(value: Json, schema: Schema, old: Json, trail: Trail) -> Iterator[FieldError]:
    if _is_unchanged(value, old):
        return
    problem = _type_problem(value, schema)
    if problem:
        yield _error(trail, ErrorKind.TYPE_INVALID, problem, value)
        return
    check = _CHECKS.get(schema.type)
    if check:
        yield from check(value, schema, trail)
    for below, member, former, step in _children(value, schema, old):
        yield from _schema_errors(member, below, former, (trail, step))


_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "object": ((dict,), "an object"),
    "array": ((list,), "a list"),
    "string": ((str,), "a text"),
    "boolean": ((bool,), "true or false"),
    "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
    "int-or-string": ((int, str), "a whole number or a text"),
}


def _type_problem(value: Json, schema: Schema) -> str:
    if schema.type == "any":
        return ""
    allowed, name = _TYPES[schema.type]
    if isinstance(value, bool):
        return "" if schema.type == "boolean" else f"must be {name}"
    if schema.type == "integer" and isinstance(value, float) and value.is_integer():
        return ""
    return "" if isinstance(value, allowed) else f"must be {name}"


def _children(value: Json, schema: Schema, old: Json) -> Iterator[tuple[Schema, Json, Json, str | int]]:
    """Node, value, former value and step of every member or item."""
    if isinstance(value, dict):
        former = old if isinstance(old, dict) else {}
        for name, member in value.items():
            below = schema.properties.get(name) or schema.additional
            if below is not None:
                yield below, member, former.get(name, MISSING), name
    elif isinstance(value, list) and schema.items:
        former_items = _by_key(old, schema)
        for index, item in enumerate(value):
            yield schema.items, item, former_items.get(_item_key(item, schema), MISSING), index


def _by_key(old: Json, schema: Schema) -> dict[Any, Json]:
    """Former items by map key; items of other lists have no identity and so no former value."""
    if not isinstance(old, list) or schema.merge is None or schema.merge.list_type != "map":
        return {}
    return {_item_key(item, schema): item for item in old}


def _item_key(item: Json, schema: Schema) -> Any:
    keys = schema.merge.keys if schema.merge else ()
    return tuple(str(item.get(key)) for key in keys) if isinstance(item, dict) else None


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
    elif schema.format == "date-time" and not _is_time(value):
        yield _error(trail, ErrorKind.TYPE_INVALID, "must be a time such as 2026-01-31T12:00:00Z", value)
    if schema.enum and value not in schema.enum:
        names = ", ".join(f'"{name}"' for name in schema.enum)
        yield _error(trail, ErrorKind.NOT_SUPPORTED, f"supported values: {names}", value)


def is_quantity(value: int | str) -> bool:
    """Whether what looks like a quantity can be read as one: the pattern lets `1e2.5` and `1e9999` through."""
    try:
        Quantity.parse(value)
    except QuantityError:
        return False
    return True


def _is_time(value: str) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


_FORMAT_LIMITS = {"int32": 2**31, "int64": 2**63}


def _number_errors(value: float, schema: Schema, trail: Trail) -> Iterator[FieldError]:
    bounds = schema.bounds
    limit = _FORMAT_LIMITS.get(schema.format)
    if limit and not -limit <= value < limit:
        yield _error(trail, ErrorKind.INVALID, f"must fit into {schema.format}", value)
    if bounds.minimum is not None and value < bounds.minimum:
        yield _error(trail, ErrorKind.INVALID, f"must be at least {bounds.minimum}", value)
    if bounds.maximum is not None and value > bounds.maximum:
        yield _error(trail, ErrorKind.INVALID, f"must be at most {bounds.maximum}", value)


def _int_or_string_errors(value: int | str, schema: Schema, trail: Trail) -> Iterator[FieldError]:
    if isinstance(value, str):
        yield from _string_errors(value, schema, trail)
    elif schema.pattern == QUANTITY_REGEX and not is_quantity(value):
        yield _error(trail, ErrorKind.TYPE_INVALID, "is too large for a quantity", value)
    else:
        yield from _number_errors(value, schema, trail)


def _array_errors(value: list[Json], schema: Schema, trail: Trail) -> Iterator[FieldError]:
    yield from _size_errors(len(value), schema.bounds.min_items, schema.bounds.max_items, "items", trail)
    if schema.merge is None or schema.merge.list_type == "atomic":
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        key = repr(_item_key(item, schema) if schema.merge.list_type == "map" else item)
        if key in seen:
            yield _error((trail, index), ErrorKind.DUPLICATE, "each entry may appear once", item)
        seen.add(key)


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


_CHECKS: dict[str, Callable[[Any, Schema, Trail], Iterator[FieldError]]] = {
    "string": _string_errors,
    "integer": _number_errors,
    "number": _number_errors,
    "int-or-string": _int_or_string_errors,
    "array": _array_errors,
    "object": _object_errors,
}


def _broken_rules(value: Json, schema: Schema, old: Json, trail: Trail) -> Iterator[FieldError]:
    if _is_unchanged(value, old):
        return
    for rule in schema.rules:
        if not _holds(rule, value, old):
            yield FieldError(_path(trail), ErrorKind.INVALID, rule.message, NO_VALUE, rule.spec, source="cel")
    for below, member, former, step in _children(value, schema, old):
        yield from _broken_rules(member, below, former, (trail, step))


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


def _path(trail: Trail) -> Path:
    steps: list[str | int] = []
    while trail:
        trail, step = trail
        steps.append(step)
    path = ROOT
    for step in reversed(steps):
        path = path[step] if isinstance(step, int) else path / step
    return path
