"""Handles custom objects by their schema as kube-apiserver does: drop nulls, prune, default, validate.

Works on plain JSON, so that the embedded server, the CLI and the webhooks return the results of kube-apiserver. The
order of errors, and which errors suppress others, are the same too (see the transcripts in tests/golden).
"""

import json
from collections.abc import Iterator
from dataclasses import replace

from kohort.api.checks import START, Trail, error_at, matches, node_errors, path_of
from kohort.api.codec import Json
from kohort.api.fields import NO_VALUE, ROOT, ErrorKind, FieldError, Path
from kohort.api.rules import Rule
from kohort.api.schema import Schema, default_json, has_rules, schema_of
from kohort.api.unchanged import MISSING, former_items, is_keyed, is_unchanged, item_key

__all__ = [
    "MISSING",
    "default",
    "matches",
    "plainly",
    "prune",
    "unknown_fields",
    "validate",
    "validate_status",
]

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
    """The value without nulls and unknown fields, and the paths of the unknown fields (API-3)."""
    unknown: list[Path] = []
    return _prune(value, schema, START, unknown), unknown


def unknown_fields(value: Json, struct: type) -> list[Path]:
    """Paths of the fields that the struct does not define."""
    return prune(value, schema_of(struct))[1]


_UNKNOWN = Schema("object")
"""A schema without members, for values that the schema does not describe."""


def _prune(value: Json, schema: Schema, trail: Trail, unknown: list[Path]) -> Json:
    """Prunes by the actual type of the value; validation reports wrong types later."""
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
            unknown.append(path_of((trail, name)))


def default(value: Json, schema: Schema) -> Json:
    """The value with the schema's defaults; changed objects are copied."""
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
    """All schema errors, and violated rules unless an error prevents their evaluation.

    With an old value, unchanged values are not validated again (a rule may have become stricter since). The object
    itself always counts as changed, because its metadata has no schema.
    """
    return _judged([*_schema_errors(value, schema, old, START)], value, schema, old)


def validate_status(value: Json, schema: Schema, old: Json) -> list[FieldError]:
    """The same for a write to the `status` subresource: only the status is validated."""
    errors: list[FieldError] = []
    if "status" in value:
        former = old.get("status", MISSING) if isinstance(old, dict) else MISSING
        found = _changed_errors(value["status"], schema.properties["status"], former, (START, "status"))
        errors = [replace(error, path=ROOT / "status") if error.path == ROOT else error for error in found]
    return _judged(errors, value, schema, old)


def plainly(errors: list[FieldError]) -> list[FieldError]:
    """The errors for users: one for a value of the wrong type, and no notes on what was not checked."""
    mistyped: set[Path] = set()
    kept = []
    for error in errors:
        if error.path not in mistyped and not _is_remark(error):
            kept.append(error)
        if error.kind is ErrorKind.TYPE_INVALID:
            mistyped.add(error.path)
    return kept


def _is_remark(error: FieldError) -> bool:
    """Whether the error has no path: it only adds to others."""
    return error.path == ROOT and error.kind is ErrorKind.INVALID and error.source == "schema"


def _judged(errors: list[FieldError], value: Json, schema: Schema, old: Json) -> list[FieldError]:
    """Schema errors, then duplicate items, then rules, each only if the previous step found none."""
    if next(_repeated(old, schema, START), None) is None:
        errors = [*errors, *_repeated(value, schema, START)]
    if any(error.kind in _BLOCKING for error in errors):
        return [*errors, RULES_UNCHECKED] if has_rules(schema) else errors
    return [*errors, *_broken_rules(value, schema, old, START)]


def _changed_errors(value: Json, schema: Schema, old: Json, trail: Trail) -> Iterator[FieldError]:
    if old is MISSING or not is_unchanged(value, old, schema):
        yield from _schema_errors(value, schema, old, trail)


def _schema_errors(value: Json, schema: Schema, old: Json, trail: Trail) -> Iterator[FieldError]:
    yield from node_errors(value, schema, trail)
    for below, member, former, step in _children(value, schema, old):
        yield from _changed_errors(member, below, former, (trail, step))


# Duplicate items


def _repeated(value: Json, schema: Schema, trail: Trail) -> Iterator[FieldError]:
    """Duplicate items of sets and maps, at every depth (API-5)."""
    if isinstance(value, list) and schema.merge is not None and schema.merge.list_type != "atomic":
        yield from _repeated_keys(value, schema, trail) if is_keyed(schema) else _repeated_values(value, value, trail)
    for below, member, _, step in _children(value, schema, MISSING):
        yield from _repeated(member, below, (trail, step))


def _repeated_keys(value: list[Json], schema: Schema, trail: Trail) -> Iterator[FieldError]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            yield error_at((trail, index), ErrorKind.INVALID, "must be an object", item)
            return
    keys = schema.merge.keys if schema.merge else ()
    yield from _repeated_values(
        value, [{key: item[key] for key in keys if key in (item or ())} for item in value], trail
    )


def _repeated_values(value: list[Json], identities: list[Json], trail: Trail) -> Iterator[FieldError]:
    """One error for each duplicate value, at its second occurrence."""
    seen: dict[str, int] = {}
    for index, identity in enumerate(identities):
        text = json.dumps(identity, sort_keys=True)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield error_at((trail, index), ErrorKind.DUPLICATE, "each entry may appear once", value[index])


# Rules


def _broken_rules(value: Json, schema: Schema, old: Json, trail: Trail) -> Iterator[FieldError]:
    for rule in schema.rules:
        if not _holds(rule, value, old) and (rule.is_transition or not _is_former(value, old, schema, trail)):
            yield FieldError(path_of(trail), ErrorKind.INVALID, rule.message, NO_VALUE, rule.spec, source="cel")
    if isinstance(value, list) and not is_keyed(schema) and _is_former(value, old, schema, trail):
        return  # items of such a list have no old value
    for below, member, former, step in _children(value, schema, old):
        yield from _broken_rules(member, below, former, (trail, step))


def _is_former(value: Json, old: Json, schema: Schema, trail: Trail) -> bool:
    """Whether the value equals the old one; the object itself never does."""
    return trail is not START and old is not MISSING and is_unchanged(value, old, schema)


def _holds(rule: Rule, value: Json, old: Json) -> bool:
    if rule.is_transition and old is MISSING:
        return True
    try:
        return rule.holds(value, None if old is MISSING else old)
    except (AttributeError, KeyError, TypeError):
        # The old object may not match the current schema; a rule that cannot be evaluated is violated.
        return False


# The tree


def _children(value: Json, schema: Schema, old: Json) -> Iterator[tuple[Schema, Json, Json, str | int]]:
    """Node, value, old value and step of each member or item."""
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
