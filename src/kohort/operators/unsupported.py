"""Fields of a job that its stand-in ignores: those that the schema of the stand-in does not describe."""

from collections.abc import Iterator
from typing import Any, Final

from kohort.api.codec import JsonObject

LARGEST: Final = 20
"""Maximum number of fields that are reported for an object."""


def unsupported_fields(spec: Any, schema: JsonObject, path: str = "spec") -> Iterator[str]:
    """Paths of fields that are set and not described, and values that are not among the described ones."""
    if "enum" in schema and spec not in schema["enum"]:
        yield f"{path}={spec}"
    elif isinstance(spec, dict):
        yield from _of_object(spec, schema, path)
    elif isinstance(spec, list) and "items" in schema:
        for number, item in enumerate(spec):
            yield from unsupported_fields(item, schema["items"], f"{path}[{number}]")


def _of_object(spec: JsonObject, schema: JsonObject, path: str) -> Iterator[str]:
    if "additionalProperties" in schema:
        for name, value in spec.items():
            yield from unsupported_fields(value, schema["additionalProperties"], f"{path}.{name}")
        return
    if "properties" not in schema:
        return
    for name, value in spec.items():
        if name in schema["properties"]:
            yield from unsupported_fields(value, schema["properties"][name], f"{path}.{name}")
        elif value not in (None, "", [], {}):
            yield f"{path}.{name}"
