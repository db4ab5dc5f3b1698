"""Renders a `Table`: built-in kinds by layout, custom resources by printer columns.

Other kinds show name and creation time.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from kohort.api.codec import Json, JsonMapping, encode
from kohort.embedded.kinds import to_stored
from kohort.embedded.resources import ServedResource, TableColumn
from kohort.embedded.tables.cells import Cells, TableLayout, dig, name_of
from kohort.embedded.tables.cluster import CLUSTER
from kohort.embedded.tables.durations import time_since
from kohort.embedded.tables.jsonpath import JsonPath, JsonPathError, compile_path
from kohort.embedded.tables.pods import PODS, pod_row_conditions
from kohort.embedded.tables.services import SERVICES
from kohort.embedded.tables.storage import STORAGE
from kohort.embedded.tables.workloads import WORKLOADS

Include = Literal["None", "Metadata", "Object"]
"""Object policy of table rows."""
TableVersion = Literal["v1", "v1beta1"]

_LAYOUTS: dict[str, TableLayout] = {"pods": PODS, **WORKLOADS, **CLUSTER, **SERVICES, **STORAGE}
_NAME = TableColumn("Name", format="name")
_CREATED = TableColumn("Created At", "date")
_AGE = TableColumn("Age", "date", path=".metadata.creationTimestamp")


def table(
    resource: ServedResource,
    objects: Iterable[JsonMapping],
    now: datetime,
    include: Include = "Metadata",
    version: TableVersion = "v1",
    metadata: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """Objects as rows; `metadata` is the list's metadata."""
    view = _layout(resource)
    group_version = f"meta.k8s.io/{version}"
    rows = [_row(resource, view, one, now, include, group_version) for one in objects]
    columns = [_definition(column) for column in view.columns]
    head = {"kind": "Table", "apiVersion": group_version, "metadata": dict(metadata or {})}
    return {**head, "columnDefinitions": columns, "rows": rows}


def _layout(resource: ServedResource) -> TableLayout:
    if resource.is_custom:
        return _custom(resource.columns or (_AGE,))
    return _LAYOUTS.get(resource.key) or TableLayout((_NAME, _CREATED), _plain)


def _definition(column: TableColumn) -> dict[str, Json]:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _row(
    resource: ServedResource, view: TableLayout, obj: JsonMapping, now: datetime, include: Include, group_version: str
) -> dict[str, Json]:
    cells = view.cells(to_stored(resource, obj) if resource.stored_as else obj, now)
    row: dict[str, Json] = {"cells": list(cells)}
    if resource.key == "pods" and (conditions := pod_row_conditions(obj)):
        row["conditions"] = conditions
    if include == "Object":
        row["object"] = obj
    elif include == "Metadata":
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": group_version,
            "metadata": obj.get("metadata") or {},
        }
    return row


def _plain(obj: JsonMapping, now: datetime) -> Cells:
    return (name_of(obj), dig(obj, "metadata", "creationTimestamp"))


# Custom columns


@lru_cache(maxsize=512)
def _custom(columns: tuple[TableColumn, ...]) -> TableLayout:
    paths = [(column, _path(column)) for column in columns]

    def cells(obj: JsonMapping, now: datetime) -> Cells:
        return (name_of(obj), *(_cell(column, path, obj, now) for column, path in paths))

    return TableLayout((_NAME, *columns), cells)


def _path(column: TableColumn) -> JsonPath | None:
    """A column with an invalid path stays empty, so that the table is still returned."""
    try:
        return compile_path(column.path)
    except JsonPathError:
        return None


def _cell(column: TableColumn, path: JsonPath | None, obj: JsonMapping, now: datetime) -> Json:
    found = path.find(obj) if path else []
    if not found:
        return None
    value = found[0]
    match column.type:
        case "integer":
            return _integer(value)
        case "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return time_since(value, now) if isinstance(value, str) else None
    return _text(value)


def _integer(value: Any) -> Json:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value)


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    return encode(value).decode()
