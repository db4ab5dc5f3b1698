"""Server-side apply: a manager says all that it wants, and gets it where nobody else has a say.

1. merge the configuration into the live object, 2. remove what the manager dropped and nobody owns, 3. whoever else
owns what this changes is in conflict, or loses it when the apply is forced, 4. enter what the configuration claims.
"""

from datetime import datetime

from kohort.api.codec import JsonObject
from kohort.api.times import format_time
from kohort.embedded.managed_fields.comparison import Changes, applied_fields, same
from kohort.embedded.managed_fields.configurations import check_configuration
from kohort.embedded.managed_fields.conflicts import apply_conflict
from kohort.embedded.managed_fields.empty_objects import blank
from kohort.embedded.managed_fields.field_schema import shape_of
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
    trusted,
)
from kohort.embedded.managed_fields.merging import merged
from kohort.embedded.managed_fields.pruning import pruned
from kohort.embedded.managed_fields.tracking import NEVER_OWNED, changes_between, entries_of, ownable, with_entries
from kohort.embedded.openapi import SchemaNode
from kohort.embedded.patches.depth import refusing_depth

BEFORE_FIRST_APPLY = "before-first-apply"


@refusing_depth
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
    """The live object (none: a new one) with a manager's configuration applied, and its managedFields."""
    shape = shape_of(node)
    check_configuration(config, api_version, (live or config).get("kind", ""), shape)
    before = live or blank(config)
    managers = _starting(live, api_version, node, now)
    who = manager_id(manager, APPLY, api_version, subresource)
    claimed = applied_fields(config, shape)
    both = merged(before, config, shape)
    last = managers[who].fields if who in managers else EMPTY
    owned = _owned(managers, who, claimed)
    result = pruned(both, last, owned, shape)
    changes = ownable(changes_between(before, result.seen, node), reset)
    is_changed = not live or not same(before, result.seen)
    noted = last_applied_fields(before, shape) if manager == KUBECTL and not subresource else EMPTY
    refusals = {} if force else _refusals(managers, who, changes, noted)
    if refusals:
        raise apply_conflict(refusals)
    managers = _settled(managers, who, changes)
    time = format_time(now) if is_changed else ""
    applied = _entered(managers, who, (claimed - NEVER_OWNED).without(reset), api_version, time)
    done = with_entries(result.obj if is_changed else before, encoded(applied))
    return with_last_applied(done, config) if manager == KUBECTL and not subresource else done


def _starting(live: JsonObject | None, api_version: str, node: SchemaNode | None, now: datetime) -> Managers:
    """Who owns what so far; all of an object that nobody tracked belongs to its past."""
    if not live:
        return {}
    managers = trusted(entries_of(live))
    if managers:
        return managers
    past = ownable(changes_between(blank(live), live, node), EMPTY).changed
    who = manager_id(BEFORE_FIRST_APPLY, UPDATE, api_version, "")
    return {who: ManagerEntry(past, api_version, format_time(now))} if past else {}


def _owned(managers: Managers, who: ManagerId, claimed: FieldSet) -> FieldSet:
    """What anybody owns once this is applied."""
    owned = claimed
    for other, owner in managers.items():
        if other != who:
            owned = owned | owner.fields
    return owned


def _refusals(managers: Managers, who: ManagerId, changes: Changes, noted: FieldSet) -> dict[ManagerId, FieldSet]:
    """What stands against this apply; what kubectl itself once applied from the client does not."""
    conflicts = _conflicts(managers, who, changes)
    left = {other: fields - noted for other, fields in conflicts.items()}
    return {other: fields for other, fields in left.items() if fields}


def _conflicts(managers: Managers, who: ManagerId, changes: Changes) -> dict[ManagerId, FieldSet]:
    shared = {other: owner.fields & changes.changed for other, owner in managers.items() if other != who}
    return {other: fields for other, fields in shared.items() if fields}


def _settled(managers: Managers, who: ManagerId, changes: Changes) -> Managers:
    """Everybody else's fields after the change."""
    conflicts = _conflicts(managers, who, changes)
    settled: Managers = {}
    for other, owner in managers.items():
        lost = conflicts.get(other, EMPTY)
        settled[other] = owner.owning(owner.fields - lost - changes.removed) if other != who else owner
    return settled


def _entered(managers: Managers, who: ManagerId, fields: FieldSet, api_version: str, time: str) -> Managers:
    """The table with what this apply claims; the time moves only when the object changed."""
    before = managers.get(who)
    if before is None:
        return {**managers, who: ManagerEntry(fields, api_version, time)}
    unchanged = not time and before.api_version == api_version and before.fields.tree == fields.tree
    return {**managers, who: before if unchanged else ManagerEntry(fields, api_version, time or before.time)}
