"""Recorded results of Kubernetes' own libraries, and the schemas of the kinds in them, as in golden/README.md."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kohort.embedded.kinds import builtin_resources
from kohort.embedded.openapi import SchemaNode

_GOLDEN = Path(__file__).parent / "golden"


@cache
def _recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((_GOLDEN / f"{name}.json").read_bytes())
    return found


def cases(name: str) -> list[dict[str, Any]]:
    """All recorded cases of one kind of question."""
    found: list[dict[str, Any]] = _recorded(name)["cases"]
    return found


@cache
def _kinds() -> Mapping[str, SchemaNode | None]:
    return {resource.kind: resource.schema for resource in builtin_resources() if resource.group != "events.k8s.io"}


@cache
def _custom(name: str) -> SchemaNode:
    definitions = _recorded(name)["schema"]
    return SchemaNode(definitions["T"], definitions)


def schema(kind: str, name: str = "update") -> SchemaNode:
    """The schema of a built-in kind, or of the recorded custom kind `T`."""
    found = _custom(name) if kind == "T" else _kinds()[kind]
    assert found is not None
    return found


def plain(value: Any) -> Any:
    """A value without nulls and leftover directives: typed decoding, which comes next, drops both."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if one is not None and not name.startswith("$")}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value
