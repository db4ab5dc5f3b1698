"""Validates the types of schema keywords.

Runs first and at all levels, so that later checks can rely on it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kohort.api.fields import ErrorKind, FieldError, Path

MAX_DEPTH = 64

RawSchema = Mapping[str, Any]
SchemaErrors = Iterator[FieldError]

_TEXT, _FLAG, _COUNT, _NUMBER = (str,), (bool,), (int,), (int, float)
_LIST, _OBJECT = (list,), (dict,)
_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("type", "format", "pattern", "title", "description", "id", "$schema", "$ref"), _TEXT),
    **dict.fromkeys(("nullable", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems"), _FLAG),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _COUNT),
    **dict.fromkeys(("required", "enum", "allOf", "anyOf", "oneOf"), _LIST),
    **dict.fromkeys(("properties", "patternProperties", "definitions", "dependencies", "externalDocs", "not"), _OBJECT),
    "items": (dict, list),
    "additionalProperties": (dict, bool),
    "additionalItems": (dict, bool),
    "x-kubernetes-list-type": _TEXT,
    "x-kubernetes-map-type": _TEXT,
    "x-kubernetes-list-map-keys": _LIST,
    "x-kubernetes-validations": _LIST,
    "x-kubernetes-int-or-string": _FLAG,
    "x-kubernetes-embedded-resource": _FLAG,
    "x-kubernetes-preserve-unknown-fields": _FLAG,
}
_RULE_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("rule", "message", "messageExpression", "fieldPath", "reason"), _TEXT),
    "optionalOldSelf": _FLAG,
}
_TEXTS = ("required", "x-kubernetes-list-map-keys")
_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def keyword_problems(schema: Any, path: Path, depth: int = 0) -> SchemaErrors:
    """Errors of keywords with values of a wrong type, at all levels."""
    if not isinstance(schema, dict):
        yield _wrong(path, schema, _OBJECT)
        return
    if depth > MAX_DEPTH:
        yield FieldError(path, ErrorKind.TOO_MANY, f"must not nest deeper than {MAX_DEPTH} levels")
        return
    yield from _typed(schema, _KINDS, path)
    for word in _TEXTS:
        yield from _entries(schema.get(word), _TEXT, path / word)
    rules = schema.get("x-kubernetes-validations")
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        place = (path / "x-kubernetes-validations")[index]
        yield from _typed(rule, _RULE_KINDS, place) if isinstance(rule, dict) else (_wrong(place, rule, _OBJECT),)
    for below, place in _children(schema, path):
        yield from keyword_problems(below, place, depth + 1)


def _typed(values: Mapping[str, Any], kinds: Mapping[str, tuple[type, ...]], path: Path) -> SchemaErrors:
    for word, value in values.items():
        wanted = kinds.get(word)
        if wanted is not None and value is not None and type(value) not in wanted:
            yield _wrong(path / word, value, wanted)


def _entries(values: Any, wanted: tuple[type, ...], path: Path) -> SchemaErrors:
    for index, value in enumerate(values if isinstance(values, list) else ()):
        if type(value) not in wanted:
            yield _wrong(path[index], value, wanted)


def _children(schema: Mapping[str, Any], path: Path) -> Iterator[tuple[Any, Path]]:
    members = schema.get("properties")
    for name, below in members.items() if isinstance(members, dict) else ():
        yield below, (path / "properties")[name]
    for word in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(word), dict):
            yield schema[word], path / word
    for word in ("allOf", "anyOf", "oneOf"):
        parts = schema.get(word)
        for index, below in enumerate(parts if isinstance(parts, list) else ()):
            yield below, (path / word)[index]


def _wrong(path: Path, value: Any, wanted: tuple[type, ...]) -> FieldError:
    names = " or ".join(_NAMES[kind] for kind in wanted)
    given = _NAMES.get(type(value), "null")
    return FieldError(path, ErrorKind.TYPE_INVALID, f"must be of type {names}", given, source="schema")
