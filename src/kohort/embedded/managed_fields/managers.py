"""`metadata.managedFields` as a table of managers, and back to the list in canonical order.

Unchanged entries are returned as the same objects, so that a write copies only what it changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kohort.api.codec import Json
from kohort.embedded.managed_fields.field_sets import FieldSet
from kohort.embedded.managed_fields.path_elements import ElementError

APPLY = "Apply"
UPDATE = "Update"
MAX_UPDATE_MANAGERS = 10
ANCIENT = "ancient-changes"

_EntryJson = Mapping[str, Any]


class ManagerId(NamedTuple):
    """Identity of a manager: name, operation, apiVersion and subresource."""

    manager: str
    operation: str
    api_version: str
    """Empty for apply, where a later version replaces an earlier one."""
    subresource: str


@dataclass(frozen=True, slots=True)
class ManagerEntry:
    """The fields of one manager, and their time."""

    fields: FieldSet
    api_version: str
    time: str = ""
    entry: _EntryJson | None = None
    """The original entry while it is unchanged."""

    def with_fields(self, fields: FieldSet) -> "ManagerEntry":
        """The same manager with other fields; itself if they are equal."""
        return self if fields.tree == self.fields.tree else ManagerEntry(fields, self.api_version, self.time)


Managers = dict[ManagerId, ManagerEntry]


class InvalidManagedFieldsError(ValueError):
    """Invalid managedFields from a client."""


def manager_id(manager: str, operation: str, api_version: str, subresource: str) -> ManagerId:
    """The identity under which a write is recorded."""
    return ManagerId(manager, operation, "" if operation == APPLY else api_version, subresource)


def stored_managers(entries: Iterable[_EntryJson]) -> Managers:
    """The managers in stored entries."""
    return {_id(entry): _owner(entry, FieldSet(entry.get("fieldsV1") or {})) for entry in entries}


def client_managers(entries: Json) -> Managers:
    """The managers in entries from a client."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidManagedFieldsError("managedFields is a list of objects")
    managers: Managers = {}
    for entry in entries:
        _check(entry)
        try:
            fields = FieldSet.from_fields_v1(entry.get("fieldsV1") or {})
        except ElementError as error:
            raise InvalidManagedFieldsError(str(error)) from None
        managers[_id(entry)] = ManagerEntry(fields, entry["apiVersion"], entry.get("time") or "")
    return managers


def _check(entry: _EntryJson) -> None:
    texts = (entry.get(name) or "" for name in ("manager", "operation", "apiVersion", "subresource", "time"))
    if not all(isinstance(text, str) for text in texts):
        raise InvalidManagedFieldsError("managedFields holds texts")
    if entry.get("operation") not in (APPLY, UPDATE) or not entry.get("apiVersion"):
        raise InvalidManagedFieldsError("an entry has the operation Apply or Update, and an apiVersion")
    if entry.get("fieldsType", "FieldsV1") not in ("", "FieldsV1"):
        raise InvalidManagedFieldsError("fieldsType is FieldsV1")


def _id(entry: _EntryJson) -> ManagerId:
    subresource = entry.get("subresource") or ""
    return manager_id(entry.get("manager") or "", entry["operation"], entry["apiVersion"], subresource)


def _owner(entry: _EntryJson, fields: FieldSet) -> ManagerEntry:
    return ManagerEntry(fields, entry["apiVersion"], entry.get("time") or "", entry)


def encoded(managers: Managers) -> list[_EntryJson]:
    """The entries of all managers with fields, in canonical order."""
    owners = [(who, owner) for who, owner in managers.items() if owner.fields]
    return [owner.entry or _entry(who, owner) for who, owner in sorted(owners, key=_order)]


def _order(one: tuple[ManagerId, ManagerEntry]) -> tuple[str, str, str, str, str]:
    who, owner = one
    return who.operation, owner.time, who.manager, owner.api_version, who.subresource


def _entry(who: ManagerId, owner: ManagerEntry) -> _EntryJson:
    entry: dict[str, Json] = {"manager": who.manager, "operation": who.operation, "apiVersion": owner.api_version}
    if owner.time:
        entry["time"] = owner.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owner.fields.tree
    if who.subresource:
        entry["subresource"] = who.subresource
    return entry


def capped(managers: Managers) -> Managers:
    """At most ten update managers: the oldest are merged into one per version."""
    updates = sorted(((who, owner) for who, owner in managers.items() if who.operation == UPDATE), key=_order)
    surplus = len(updates) - MAX_UPDATE_MANAGERS
    if surplus <= 0:
        return managers
    left = dict(managers)
    buckets: set[ManagerId] = set()
    for who, owner in updates:
        if surplus <= 0:
            break
        bucket = manager_id(ANCIENT, UPDATE, owner.api_version, "")
        del left[who]
        before = left.get(bucket)
        surplus -= bucket in buckets
        buckets.add(bucket)
        fields = owner.fields | before.fields if before is not None else owner.fields
        left[bucket] = ManagerEntry(fields, owner.api_version, owner.time)
    return left
