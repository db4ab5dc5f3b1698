"""Validation of structural schemas: every value has one type, where pruning and defaulting can find it."""

from collections.abc import Iterator, Mapping
from typing import Literal

from kohort.api.fields import FieldError, Path, forbidden, invalid, not_supported, required
from kohort.embedded.cel.regex import RegexError, compile_pattern
from kohort.embedded.crds.checks import Findings, check_of
from kohort.embedded.crds.content_cache import ContentCache
from kohort.embedded.crds.embedded import with_heads
from kohort.embedded.crds.keywords import RawSchema, SchemaErrors, keyword_problems
from kohort.embedded.crds.list_structure import list_problems
from kohort.embedded.crds.rule_structure import rule_problems
from kohort.embedded.crds.shaping import shape_of
from kohort.embedded.crds.value_paths import START, ValuePath

Level = Literal["root", "field", "item"]

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_COMBINED = ("allOf", "anyOf", "oneOf")
_UNTYPED = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_PRESERVE, _EMBEDDED = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"


_VALIDATED: ContentCache[tuple[FieldError, ...]] = ContentCache(1024)
"""Digests of valid schemas; the result does not depend on the path."""


def structure_problems(schema: RawSchema, path: Path) -> list[FieldError]:
    """Errors of a schema."""
    return list(_VALIDATED.get(schema, lambda given: tuple(_all_problems(given, path)), lambda found: not found))


def _all_problems(schema: RawSchema, path: Path) -> list[FieldError]:
    malformed = list(keyword_problems(schema, path))
    if malformed:
        return malformed
    found = [*_root_problems(schema, path), *_problems(schema, path, "root")]
    # Rules and defaults are validated only if the structure is valid.
    if found:
        return found
    complete = with_heads(schema)
    return [*rule_problems(complete, path), *_default_problems(complete, path)]


def _root_problems(schema: RawSchema, path: Path) -> SchemaErrors:
    if schema.get("type") not in (None, "", "object"):
        yield invalid(path / "type", schema["type"], "must be object at the root")
    if schema.get("nullable"):
        yield forbidden(path / "nullable", "nullable cannot be true at the root")
    if schema.get("additionalProperties"):
        yield forbidden(path / "additionalProperties", "must not be used at the root")
    yield from _head_problems(schema, path)


def _head_problems(schema: RawSchema, path: Path) -> SchemaErrors:
    """Errors of type meta and metadata in a schema."""
    members, place = schema.get("properties") or {}, path / "properties"
    for name in ("apiVersion", "kind"):
        if name in members and members[name].get("type") != "string":
            yield invalid(place[name] / "type", members[name].get("type") or "", "must be string")
    metadata = members.get("metadata") or {}
    if metadata and metadata.get("type") != "object":
        yield invalid(place["metadata"] / "type", metadata.get("type") or "", "must be object")
    elif set(metadata) - {"type", "description", "properties"} or set(metadata.get("properties") or ()) - _HEAD_MEMBERS:
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(place["metadata"], detail)


_HEAD_MEMBERS = {"name", "generateName"}


def _problems(schema: RawSchema, path: Path, level: Level) -> SchemaErrors:
    yield from _type_problems(schema, path, level)
    yield from _keyword_problems(schema, path)
    yield from list_problems(schema, path)
    yield from _combination_problems(schema, path)
    for below, place, inner in _children(schema, path):
        yield from _problems(below, place, inner)


def _children(schema: RawSchema, path: Path) -> Iterator[tuple[RawSchema, Path, Level]]:
    for name, below in (schema.get("properties") or {}).items():
        yield below, (path / "properties")[name], "field"
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield schema["additionalProperties"], path / "additionalProperties", "field"
    if isinstance(schema.get("items"), Mapping):
        yield schema["items"], path / "items", "item"


def _type_problems(schema: RawSchema, path: Path, level: Level) -> SchemaErrors:
    kind = schema.get("type")
    if kind and kind not in TYPES:
        yield not_supported(path / "type", kind, TYPES)
    if schema.get(_INT_OR_STRING):
        for extension in (_PRESERVE, _EMBEDDED):
            if schema.get(extension):
                yield invalid(path / extension, value=True, detail=f"must be false if {_INT_OR_STRING} is true")
    elif schema.get(_EMBEDDED):
        yield from _embedded_problems(schema, path)
    elif not kind and not schema.get(_PRESERVE):
        yield required(path / "type", _UNTYPED[level])
    if kind == "array" and schema.get("items") is None:
        yield required(path / "items", "must be specified")


def _embedded_problems(schema: RawSchema, path: Path) -> SchemaErrors:
    if not schema.get("type"):
        yield required(path / "type", f"must be object if {_EMBEDDED} is true")
    elif schema["type"] != "object":
        yield invalid(path / "type", schema["type"], f"must be object if {_EMBEDDED} is true")
    if schema.get("additionalProperties"):
        yield forbidden(path / "additionalProperties", f"must not be used if {_EMBEDDED} is set")
    if not schema.get("properties") and not schema.get(_PRESERVE):
        yield required(path / "properties", f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}")
    yield from _head_problems(schema, path)


def _keyword_problems(schema: RawSchema, path: Path) -> SchemaErrors:
    for word in _UNSUPPORTED:
        if schema.get(word):
            yield forbidden(path / word, f"{word} is not supported")
    if isinstance(schema.get("items"), list):
        yield forbidden(path / "items", "items must be a schema object and not an array")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(path / "uniqueItems", detail)
    if schema.get("properties") and schema.get("additionalProperties"):
        yield forbidden(path / "additionalProperties", "additionalProperties and properties are mutual exclusive")
    if schema.get(_PRESERVE) is False:
        yield invalid(path / _PRESERVE, value=False, detail="must be true or undefined")
    yield from _pattern_problems(schema, path)


def _pattern_problems(schema: RawSchema, path: Path) -> SchemaErrors:
    try:
        compile_pattern(str(schema.get("pattern") or ""))
    except RegexError as error:
        detail = f"must be a valid regular expression, but isn't: {error}"
        yield invalid(path / "pattern", schema["pattern"], detail)


# Combinations may restrict typed values only.

_EMPTY = ("type", "title", "description", "x-kubernetes-list-map-keys")
_UNDEFINED = ("additionalProperties", "default", "x-kubernetes-list-type", "x-kubernetes-map-type")
_FALSE = ("nullable", _PRESERVE, _EMBEDDED, _INT_OR_STRING)


def _combination_problems(schema: RawSchema, path: Path) -> SchemaErrors:
    if schema.get(_INT_OR_STRING):
        # The two types of int-or-string may be given by `anyOf`.
        schema = {name: value for name, value in schema.items() if name not in ("anyOf", "allOf")}
    for word in _COMBINED:
        for index, part in enumerate(schema.get(word) or ()):
            yield from _part_problems(part, schema, (path / word)[index], path)
    if schema.get("not"):
        yield from _part_problems(schema["not"], schema, path / "not", path)


def _part_problems(part: RawSchema, typed: RawSchema, path: Path, typed_path: Path) -> SchemaErrors:
    """Errors of a combined schema, and of members that the enclosing schema does not define."""
    for words, text in ((_EMPTY, "empty"), (_UNDEFINED, "undefined"), (_FALSE, "false")):
        for word in words:
            if part.get(word):
                yield forbidden(path / word, f"must be {text} to be structural")
    for name, below in (part.get("properties") or {}).items():
        place, known = (path / "properties")[name], (typed.get("properties") or {}).get(name)
        if known is None:
            yield required((typed_path / "properties")[name], f"because it is defined in {place}")
        else:
            yield from _part_problems(below, known, place, (typed_path / "properties")[name])
    if part.get("items"):
        if not typed.get("items"):
            yield required(typed_path / "items", f"because it is defined in {path / 'items'}")
        else:
            yield from _part_problems(part["items"], typed["items"], path / "items", typed_path / "items")
    for word in _COMBINED:
        for index, each in enumerate(part.get(word) or ()):
            yield from _part_problems(each, typed, (path / word)[index], typed_path)


# Defaults


def _default_problems(schema: RawSchema, path: Path) -> SchemaErrors:
    """Errors of defaults that the schema would prune or reject."""
    if "default" in schema:
        yield from _one_default_problems(schema, path / "default")
        return
    for below, place, _ in _children(schema, path):
        yield from _default_problems(below, place)


def _one_default_problems(schema: RawSchema, path: Path) -> SchemaErrors:
    default = schema["default"]
    unknown: list[ValuePath] = []
    shaped = shape_of(schema)(default, START, unknown)
    if unknown:
        yield invalid(path, default, "must not have unknown fields")
    found: Findings = []
    check_of(schema)(shaped, START, found)
    for each in found:
        yield FieldError(path, each.kind, each.detail.replace(" in body", "", 1).strip(), each.value)
