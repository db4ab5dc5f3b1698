"""Helpers of row renderers: nested fields, ages, containers, labels and selectors as text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kohort.api.codec import Json, JsonMapping
from kohort.embedded.resources import TableColumn
from kohort.embedded.tables.durations import time_since

Cells = tuple[Json, ...]

NONE = "<none>"
UNSET = "<unset>"


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The columns of a kind, and the function that renders its cells."""

    columns: tuple[TableColumn, ...]
    cells: Callable[[JsonMapping, datetime], Cells]


def layout(columns: str, cells: Callable[[JsonMapping, datetime], Cells]) -> TableLayout:
    """A layout from its columns, separated by `|`; `:type` unless string, `+` for wide output only."""
    return TableLayout(tuple(_column(text) for text in columns.split("|")), cells)


def _column(text: str) -> TableColumn:
    name, _, kind = text.removesuffix("+").partition(":")
    return TableColumn(
        name=name,
        type=kind or "string",
        format="name" if name == "Name" else "",
        priority=1 if text.endswith("+") else 0,
    )


def dig(obj: Any, *path: str) -> Any:
    """A nested value, or None."""
    for name in path:
        obj = obj.get(name) if isinstance(obj, Mapping) else None
    return obj


def number(obj: JsonMapping, *path: str) -> int:
    """A nested count, 0 if missing."""
    return int(dig(obj, *path) or 0)


def name_of(obj: JsonMapping) -> str:
    """The object's name."""
    return str(dig(obj, "metadata", "name") or "")


def default_marked(obj: JsonMapping, annotation: str) -> str:
    """The name, marked if an annotation makes the object the default of its kind."""
    is_default = (dig(obj, "metadata", "annotations") or {}).get(annotation) == "true"
    return f"{name_of(obj)} (default)" if is_default else name_of(obj)


def age(obj: JsonMapping, now: datetime) -> str:
    """Time since the object was created."""
    return time_since(dig(obj, "metadata", "creationTimestamp"), now)


def is_deleted(obj: JsonMapping) -> bool:
    """Whether the object is terminating."""
    return bool(dig(obj, "metadata", "deletionTimestamp"))


def containers(template: Any) -> tuple[str, str]:
    """Names and images of a template's containers."""
    found = dig(template, "spec", "containers") or ()
    return ",".join(one.get("name", "") for one in found), ",".join(one.get("image", "") for one in found)


def labels_text(labels: Mapping[str, str] | None) -> str:
    """Labels as `a=b,c=d`."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_text(selector: JsonMapping | None) -> str:
    """A label selector in its string form."""
    given = selector or {}
    parts = [(key, f"{key}={value}") for key, value in (given.get("matchLabels") or {}).items()]
    parts += [(each.get("key", ""), _expression(each)) for each in given.get("matchExpressions") or ()]
    return ",".join(text for _, text in sorted(parts)) or NONE


def _expression(each: JsonMapping) -> str:
    key, values = str(each.get("key", "")), ",".join(sorted(each.get("values") or ()))
    forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
    return forms.get(str(each.get("operator")), f"!{key}")


def bool_text(value: Json) -> str:
    """True or False as Kubernetes' tables spell them."""
    return "True" if value else "False"
