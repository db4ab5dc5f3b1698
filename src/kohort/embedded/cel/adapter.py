"""JSON values as typed CEL values by schema: timestamps, durations, doubles.

Most schemas need no conversion; then a value is used as it is.
"""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.cel.library.times import parse_duration, parse_timestamp
from kohort.embedded.cel.values import SetList, keyed

Adapter = Callable[[Json], Any]

KEYWORDS = frozenset(
    [
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    ]
)
_SIGNS = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_SIGN = re.compile(r"__|[./-]")
_NAME = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")


def escaped(name: str) -> str | None:
    """A property name escaped for CEL; None if it cannot be expressed."""
    if name in KEYWORDS:
        return f"__{name}__"
    return _SIGN.sub(lambda match: _SIGNS[match[0]], name) if _NAME.fullmatch(name) else None


Paths = frozenset[tuple[str, ...]]
"""The members that an expression accesses, by escaped names; an empty path is the whole value."""
WHOLE: Paths = frozenset({()})


def _inner(paths: Paths, name: str) -> Paths:
    """The accessed paths of one member."""
    if () in paths:
        return WHOLE
    spelled = escaped(name)
    return frozenset(path[1:] for path in paths if path[0] == spelled)


def adapter_of(schema: Mapping[str, Any], paths: Paths = WHOLE) -> Adapter | None:
    """The conversion of values of a schema to CEL values; None if none is needed.

    Only values on or below the accessed paths are converted.
    """
    if schema.get("x-kubernetes-int-or-string"):
        return None
    match schema.get("type"):
        case "number":
            return lambda value: float(value) if type(value) is int else value
        case "string":
            return _FORMATS.get(str(schema.get("format") or ""))
        case "array":
            return _list_adapter(schema)
    return _object_adapter(schema, paths)


def _or_text(read: Callable[[str], Any]) -> Adapter:
    def adapt(value: Json) -> Any:
        found = read(value) if isinstance(value, str) else None
        return value if found is None else found

    return adapt


def _bytes(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


_FORMATS: dict[str, Adapter] = {
    "date-time": _or_text(parse_timestamp),
    "date": _or_text(lambda text: parse_timestamp(f"{text}T00:00:00Z")),
    "duration": _or_text(parse_duration),
    "byte": _or_text(_bytes),
}


def _list_adapter(schema: Mapping[str, Any]) -> Adapter | None:
    item = adapter_of(schema.get("items") or {})
    wrap = _wrapper(schema)
    if item is None:
        return wrap

    def adapt(value: Json) -> Any:
        if not isinstance(value, list):
            return value
        made = [item(each) for each in value]
        return wrap(made) if wrap else made

    return adapt


def _wrapper(schema: Mapping[str, Any]) -> Adapter | None:
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return lambda value: SetList(value) if isinstance(value, list) else value
        case "map":
            return lambda value: keyed(value, keys) if isinstance(value, list) else value
    return None


def _object_adapter(schema: Mapping[str, Any], paths: Paths) -> Adapter | None:
    named = schema.get("properties") or {}
    found = {name: adapter_of(below, inner) for name, below in named.items() if (inner := _inner(paths, name))}
    adapters = {name: adapter for name, adapter in found.items() if adapter}
    renamed = {name: new for name in named if (new := escaped(name)) != name and new}
    additional = schema.get("additionalProperties")
    rest = adapter_of(additional) if isinstance(additional, Mapping) and not named else None
    if not adapters and not renamed and rest is None:
        return None

    def adapt(value: Json) -> Any:
        if not isinstance(value, dict):
            return value
        made = {}
        for name, member in value.items():
            change = adapters.get(name, rest)
            made[renamed.get(name, name)] = change(member) if change else member
        return made

    return adapt
