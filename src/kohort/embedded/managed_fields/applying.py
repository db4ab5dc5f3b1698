"""Server-side apply.

1. Merge the configuration into the live object, 2. remove fields that the manager dropped and no other manager owns,
3. report conflicts with other owners of changed fields, or take them over if forced, 4. record the applied fields.
"""

from datetime import datetime

from kohort.api.codec import JsonObject
from kohort.api.times import format_time
from kohort.embedded.managed_fields.comparison import Changes, applied_fields, same
from kohort.embedded.managed_fields.configurations import check_configuration
from kohort.embedded.managed_fields.conflicts import apply_conflict
from kohort.embedded.managed_fields.empty_objects import initial_state
from kohort.embedded.managed_fields.field_schema import field_schema_of
from kohort.embedded.managed_fields.field_sets import EMPTY, FieldSet
from kohort.embedded.managed_fields.last_applied import KUBECTL, last_applied_fields, with_last_applied
from kohort.embedded.managed_fields.managers import (
    APPLY,
    UPDATE,
    ManagerEntry,
    ManagerId,
    Managers,
    encoded,
    manager_id,
    stored_managers,
)
from kohort.embedded.managed_fields.merging import merged
from kohort.embedded.managed_fields.pruning import pruned
from kohort.embedded.managed_fields.tracking import NEVER_OWNED, changes_between, entries_of, ownable, with_entries
from kohort.embedded.openapi import SchemaNode
from kohort.embedded.patches.depth import limiting_depth

BEFORE_FIRST_APPLY = "before-first-apply"


@limiting_depth
def apply(
    live: JsonObject | None,
    config: JsonObject,
    manager: str,
    force: bool,  # noqa: FBT001  the name and meaning of the request's own parameter
    node: SchemaNode | None,
    api_version: str,
    now: datetime,
    subresource: str = "",
    reset: FieldSet = EMPTY,
) -> JsonObject:
    """The live object (None: a new one) with a manager's configuration applied, and its managedFields."""
    schema = field_schema_of(node)
    check_configuration(config, api_version, (live or config).get("kind", ""), schema)
    before = live or initial_state(config)
    managers = _initial_managers(live, api_version, node, now)
    who = manager_id(manager, APPLY, api_version, subresource)
    claimed = applied_fields(config, schema)
    both = merged(before, config, schema)
    last = managers[who].fields if who in managers else EMPTY
    owned = _owned(managers, who, claimed)
    result = pruned(both, last, owned, schema)
    changes = ownable(changes_between(before, result.seen, node), reset)
    is_changed = not live or not same(before, result.seen)
    noted = last_applied_fields(before, schema) if manager == KUBECTL and not subresource else EMPTY
    unresolved = {} if force else _unresolved(managers, who, changes, noted)
    if unresolved:
        raise apply_conflict(unresolved)
    managers = _other_managers(managers, who, changes)
    time = format_time(now) if is_changed else ""
    applied = _record_apply(managers, who, (claimed - NEVER_OWNED).without(reset), api_version, time)
    done = with_entries(result.obj if is_changed else before, encoded(applied))
    return with_last_applied(done, config) if manager == KUBECTL and not subresource else done


def _initial_managers(live: JsonObject | None, api_version: str, node: SchemaNode | None, now: datetime) -> Managers:
    """The managers so far; fields of an object without any belong to a `before-first-apply` manager."""
    if not live:
        return {}
    managers = stored_managers(entries_of(live))
    if managers:
        return managers
    past = ownable(changes_between(initial_state(live), live, node), EMPTY).changed
    who = manager_id(BEFORE_FIRST_APPLY, UPDATE, api_version, "")
    return {who: ManagerEntry(past, api_version, format_time(now))} if past else {}


def _owned(managers: Managers, who: ManagerId, claimed: FieldSet) -> FieldSet:
    """All fields that are owned after this apply."""
    owned = claimed
    for other, owner in managers.items():
        if other != who:
            owned = owned | owner.fields
    return owned


def _unresolved(managers: Managers, who: ManagerId, changes: Changes, noted: FieldSet) -> dict[ManagerId, FieldSet]:
    """Conflicts of this apply; fields from kubectl's own client-side apply are none."""
    conflicts = _conflicts(managers, who, changes)
    left = {other: fields - noted for other, fields in conflicts.items()}
    return {other: fields for other, fields in left.items() if fields}


def _conflicts(managers: Managers, who: ManagerId, changes: Changes) -> dict[ManagerId, FieldSet]:
    shared = {other: owner.fields & changes.changed for other, owner in managers.items() if other != who}
    return {other: fields for other, fields in shared.items() if fields}


def _other_managers(managers: Managers, who: ManagerId, changes: Changes) -> Managers:
    """The other managers' fields after the change."""
    conflicts = _conflicts(managers, who, changes)
    settled: Managers = {}
    for other, owner in managers.items():
        lost = conflicts.get(other, EMPTY)
        settled[other] = owner.with_fields(owner.fields - lost - changes.removed) if other != who else owner
    return settled


def _record_apply(managers: Managers, who: ManagerId, fields: FieldSet, api_version: str, time: str) -> Managers:
    """The managers including this apply; its time changes only if the object changed."""
    before = managers.get(who)
    if before is None:
        return {**managers, who: ManagerEntry(fields, api_version, time)}
    unchanged = not time and before.api_version == api_version and before.fields.tree == fields.tree
    return {**managers, who: before if unchanged else ManagerEntry(fields, api_version, time or before.time)}
