"""Tracks managed fields of creates, updates and patches: the manager that changes a field becomes its only owner.

Equal parts are skipped, and unchanged entries are kept.
"""

from datetime import datetime
from typing import Any

from kohort.api.codec import Json, JsonObject
from kohort.api.times import format_time
from kohort.embedded.managed_fields.comparison import Changes, compare
from kohort.embedded.managed_fields.empty_objects import initial_state
from kohort.embedded.managed_fields.field_schema import field_schema_of
from kohort.embedded.managed_fields.field_sets import EMPTY, FieldSet
from kohort.embedded.managed_fields.managers import (
    InvalidManagedFieldsError,
    ManagerEntry,
    ManagerId,
    Managers,
    capped,
    client_managers,
    encoded,
    manager_id,
    stored_managers,
)
from kohort.embedded.openapi import SchemaNode
from kohort.embedded.patches.depth import limiting_depth

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


@limiting_depth
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
    """The new object with its managedFields; `reset` are fields that this write cannot change."""
    live = stored_managers(entries_of(old)) if old else {}
    managers = _initial_managers(live, old, new, subresource)
    if old and not managers:
        return with_entries(new, [])
    changes = ownable(changes_between(old or initial_state(new), new, node), reset)
    if not changes and managers is live:
        return with_entries(new, entries_of(old) if old else [])
    who = manager_id(manager, operation, api_version, subresource)
    # The entry of the scale subresource has no time, as in kube-apiserver.
    time = "" if subresource == "scale" else format_time(now)
    return with_entries(new, encoded(capped(_updated(managers, who, changes, time))))


def _initial_managers(live: Managers, old: JsonObject | None, new: JsonObject, subresource: str) -> Managers:
    """The managers before this write; a client may rewrite them, or reset them by an empty list."""
    given = new["metadata"].get("managedFields")
    if subresource or given is None or (old and given == old["metadata"].get("managedFields")):
        return live
    if given in ([], [{}]):
        return {}
    try:
        return client_managers(given)
    except InvalidManagedFieldsError:
        return live


def _updated(managers: Managers, who: ManagerId, changes: Changes, time: str) -> Managers:
    lost = changes.changed | changes.removed
    updated = {other: owner.with_fields(owner.fields - lost) for other, owner in managers.items()}
    if changes.changed:
        before = managers[who].fields - changes.removed if who in managers else EMPTY
        updated[who] = ManagerEntry(before | changes.changed, who.api_version, time)
    return {other: owner for other, owner in updated.items() if owner.fields}


def changes_between(old: JsonObject, new: JsonObject, node: SchemaNode | None) -> Changes:
    """The differences, without fields that the server rewrites each time."""
    return compare(_comparable(old), _comparable(new), field_schema_of(node))


def ownable(changes: Changes, reset: FieldSet) -> Changes:
    """The part of a change that can be owned."""
    return Changes((changes.changed - NEVER_OWNED).without(reset), changes.removed.without(reset))


def _comparable(obj: JsonObject) -> JsonObject:
    """The object without managedFields and resourceVersion."""
    metadata = dict(obj.get("metadata") or {})
    metadata.pop("managedFields", None)
    metadata.pop("resourceVersion", None)
    return {**obj, "metadata": metadata}


def entries_of(obj: JsonObject) -> list[Any]:
    """The managedFields of a stored object."""
    found: list[Any] = (obj.get("metadata") or {}).get("managedFields") or []
    return found


def with_entries(obj: JsonObject, entries: Json) -> JsonObject:
    """The object with these managedFields, or without any."""
    metadata = obj["metadata"]
    if metadata.get("managedFields") is entries:
        return obj
    kept = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**obj, "metadata": {**kept, "managedFields": entries} if entries else kept}
