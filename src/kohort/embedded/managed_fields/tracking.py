"""Creates, updates and patches: whoever changes a field owns it from then on, alone.

Nothing is computed that did not change: equal parts are skipped, and untouched entries go back as they came.
"""

from datetime import datetime
from typing import Any

from kohort.api.codec import Json, JsonObject
from kohort.api.times import format_time
from kohort.embedded.managed_fields.comparison import Changes, compare
from kohort.embedded.managed_fields.empty_objects import blank
from kohort.embedded.managed_fields.field_schema import shape_of
from kohort.embedded.managed_fields.field_sets import EMPTY, FieldSet
from kohort.embedded.managed_fields.managers import (
    InvalidManagedFieldsError,
    ManagerEntry,
    ManagerId,
    Managers,
    capped,
    encoded,
    manager_id,
    received,
    trusted,
)
from kohort.embedded.openapi import SchemaNode
from kohort.embedded.patches.depth import refusing_depth

NEVER_OWNED = FieldSet.of(
    "apiVersion",
    "kind",
    "metadata",
    "metadata.name",
    "metadata.namespace",
    "metadata.creationTimestamp",
    "metadata.selfLink",
    "metadata.uid",
    "metadata.clusterName",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.resourceVersion",
)


@refusing_depth
def track_update(
    old: JsonObject | None,
    new: JsonObject,
    manager: str,
    operation: str,
    subresource: str,
    api_version: str,
    node: SchemaNode | None,
    now: datetime,
    reset: FieldSet = EMPTY,
) -> JsonObject:
    """The new state with its managedFields; `reset` are fields that a write through this door can't change."""
    live = trusted(entries_of(old)) if old else {}
    managers = _starting(live, old, new, subresource)
    if old and not managers:
        return with_entries(new, [])
    changes = ownable(changes_between(old or blank(new), new, node), reset)
    if not changes and managers is live:
        return with_entries(new, entries_of(old) if old else [])
    who = manager_id(manager, operation, api_version, subresource)
    # Whoever scales owns the count without a time, on servers of all versions.
    time = "" if subresource == "scale" else format_time(now)
    return with_entries(new, encoded(capped(_updated(managers, who, changes, time))))


def _starting(live: Managers, old: JsonObject | None, new: JsonObject, subresource: str) -> Managers:
    """Who owns what before this write: a client may also rewrite that, or reset it with an empty list."""
    given = new["metadata"].get("managedFields")
    if subresource or given is None or (old and given == old["metadata"].get("managedFields")):
        return live
    if given in ([], [{}]):
        return {}
    try:
        return received(given)
    except InvalidManagedFieldsError:
        return live


def _updated(managers: Managers, who: ManagerId, changes: Changes, time: str) -> Managers:
    lost = changes.changed | changes.removed
    updated = {other: owner.owning(owner.fields - lost) for other, owner in managers.items()}
    if changes.changed:
        before = managers[who].fields - changes.removed if who in managers else EMPTY
        updated[who] = ManagerEntry(before | changes.changed, who.api_version, time)
    return {other: owner for other, owner in updated.items() if owner.fields}


def changes_between(old: JsonObject, new: JsonObject, node: SchemaNode | None) -> Changes:
    """What differs, but for what the server writes anew each time."""
    return compare(_comparable(old), _comparable(new), shape_of(node))


def ownable(changes: Changes, reset: FieldSet) -> Changes:
    """The part of a change that anybody can own."""
    return Changes((changes.changed - NEVER_OWNED).without(reset), changes.removed.without(reset))


def _comparable(obj: JsonObject) -> JsonObject:
    """The object without its ownership and version."""
    metadata = dict(obj.get("metadata") or {})
    metadata.pop("managedFields", None)
    metadata.pop("resourceVersion", None)
    return {**obj, "metadata": metadata}


def entries_of(obj: JsonObject) -> list[Any]:
    """The managedFields of an object that is stored."""
    found: list[Any] = (obj.get("metadata") or {}).get("managedFields") or []
    return found


def with_entries(obj: JsonObject, entries: Json) -> JsonObject:
    """The object with these managedFields; without any when there are none."""
    metadata = obj["metadata"]
    if metadata.get("managedFields") is entries:
        return obj
    kept = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**obj, "metadata": {**kept, "managedFields": entries} if entries else kept}
