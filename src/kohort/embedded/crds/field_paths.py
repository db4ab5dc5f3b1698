"""fieldPath of CEL rules: `.spec.x` or `.labels['a.b']`, relative to the rule."""

import re
from collections.abc import Mapping
from typing import Any

from kohort.embedded.crds.ratcheting import below

_STEP = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """The path does not exist in the schema."""


def normalized(path: str, schema: Mapping[str, Any]) -> str:
    """The path in the form of errors; raises if the schema has no such field."""
    text, position = "", 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise FieldPathError(f"expected a name after '.' or a quoted name in brackets, at {path[position:]!r}")
        name = match[1] if match[1] is not None else _ESCAPE.sub(_unescaped, match[2])
        is_named = bool(schema.get("properties"))
        if is_named and name not in schema["properties"]:
            raise FieldPathError("does not refer to a valid field")
        if not is_named and not isinstance(schema.get("additionalProperties"), Mapping):
            raise FieldPathError("does not refer to a valid field")
        text += f".{name}" if is_named else f"[{name}]"
        schema, position = below(schema, name), match.end()
    return text


def _unescaped(match: re.Match[str]) -> str:
    if match[1] not in _ESCAPES:
        raise FieldPathError(f"invalid escape char {match[0]}")
    return _ESCAPES[match[1]]
