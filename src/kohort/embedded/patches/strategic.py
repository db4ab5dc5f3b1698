"""Strategic merge patch: objects merge member by member, lists by their schema.

Directives (`$patch`, `$retainKeys`, `$deleteFromPrimitiveList/x`, `$setElementOrder/x`) control the merge. A null in a
patch deletes, so that no null of a patch gets into an object.
"""

from kohort.api.codec import Json, JsonMapping
from kohort.embedded.openapi import SchemaNode
from kohort.embedded.patches.failures import go_text, go_type, without_reason
from kohort.embedded.patches.strategic_lists import ListRule, check_order, in_order, merge_items, plain, remove_values
from kohort.kube.errors import bad_request

PATCH = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_VALUES = "$deleteFromPrimitiveList/"
SET_ORDER = "$setElementOrder/"


def apply_strategic_patch(original: JsonMapping, patch: JsonMapping, node: SchemaNode | None) -> dict[str, Json]:
    """The object with the patch merged in by its schema."""
    if PATCH in patch:
        return _directed(patch)
    merged = _retained(original, patch)
    orders = {name[len(SET_ORDER) :]: order for name, order in patch.items() if name.startswith(SET_ORDER)}
    for name, order in orders.items():
        _reorder(merged, name, order, patch, node)
    # Values are deleted after the merge, so that one both given and deleted is gone in any order.
    for name, change in sorted(patch.items(), key=_deletions_last):
        if not name.startswith(SET_ORDER) and name != RETAIN_KEYS and name not in orders:
            _merge_member(merged, name, change, node)
    return merged


def _deletions_last(change: tuple[str, Json]) -> bool:
    return change[0].startswith(DELETE_VALUES)


def _directed(patch: JsonMapping) -> dict[str, Json]:
    directive = patch[PATCH]
    if directive == "replace":
        return {name: plain(value) for name, value in patch.items() if name != PATCH and value is not None}
    if directive == "delete":
        return {}
    raise without_reason(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")


def _retained(original: JsonMapping, patch: JsonMapping) -> dict[str, Json]:
    """The original's members that `$retainKeys` keeps."""
    if RETAIN_KEYS not in patch:
        return dict(original)
    kept = patch[RETAIN_KEYS]
    given = (name for name, value in patch.items() if value is not None and not name.startswith("$"))
    if not isinstance(kept, list) or any(name not in kept for name in given):
        raise bad_request("invalid patch format of retainKeys")
    return {name: value for name, value in original.items() if name in kept}


def _merge_member(merged: dict[str, Json], key: str, change: Json, node: SchemaNode | None) -> None:
    deletes = key.startswith(DELETE_VALUES)
    name = key.removeprefix(DELETE_VALUES)
    if change is None:
        merged.pop(name, None)
    elif deletes:
        if isinstance(merged.get(name), list) and isinstance(change, list):
            merged[name] = remove_values(merged[name], change)
    else:
        _put(merged, name, _merged_value(merged.get(name), change, _member(node, name)))


def _put(merged: dict[str, Json], name: str, value: Json) -> None:
    if value is _DROPPED:
        merged.pop(name, None)
    else:
        merged[name] = value


def _member(node: SchemaNode | None, name: str) -> SchemaNode | None:
    return node.member(name) if node is not None else None


def _merged_value(original: Json, change: Json, node: SchemaNode | None) -> Json:
    strategies = node.patch_strategies if node is not None else ()
    if isinstance(original, dict) and isinstance(change, dict) and "replace" not in strategies:
        return apply_strategic_patch(original, change, node)
    if isinstance(original, list) and isinstance(change, list) and "merge" in strategies:
        return merge_items(original, change, _rule(node))
    return plain(change) if isinstance(original, list) and isinstance(change, list) else _taken(change)


def _rule(node: SchemaNode | None) -> ListRule:
    items = node.items if node is not None else None
    key = node.patch_merge_key if node is not None else ""
    return ListRule(key, lambda original, change: apply_strategic_patch(original, change, items))


def _reorder(merged: dict[str, Json], name: str, order: Json, patch: JsonMapping, node: SchemaNode | None) -> None:
    """Merges a list with its `$setElementOrder`."""
    if not isinstance(order, list):
        raise without_reason(f"expected a []interface {{}}, but received a {_received(order)}")
    field = _member(node, name)
    rule, change, original = _rule(field), patch.get(name), merged.get(name)
    if name in patch and isinstance(change, list):
        check_order(change, order, rule)
    if [] in (original, change) and not original and not change:
        raise without_reason("no elements in any of the given slices")
    result = _merged_value(original, change, field) if change is not None else original
    if (
        isinstance(original, list)
        and isinstance(result, list)
        and field is not None
        and "merge" in field.patch_strategies
    ):
        result = in_order(result, order, original, rule)
    _put(merged, name, _DROPPED if result is None else result)


def _received(value: Json) -> str:
    return "%!s(<nil>)" if value is None else go_type(value)


_DROPPED: Json = object()
"""Placeholder of a value that a directive removed."""


def _taken(change: Json) -> Json:
    """A patch value without counterpart: without nulls and without objects that carry a directive."""
    if isinstance(change, dict):
        if PATCH in change:
            return _DROPPED
        taken = {name: _taken(value) for name, value in change.items() if value is not None}
        return {name: value for name, value in taken.items() if value is not _DROPPED and not name.startswith("$")}
    if isinstance(change, list):
        return [item for item in map(_taken, change) if item is not _DROPPED]
    return change
