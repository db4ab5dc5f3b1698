"""Lists in strategic merge patches: items matched by key or value, and their final order.

Items of the patch keep its order, the others keep theirs; where both meet, an item that the patch moved or added goes
first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kohort.api.codec import Json
from kohort.embedded.patches.failures import go_text, go_type, unprocessable, without_reason

PATCH = "$patch"


@dataclass(frozen=True, slots=True)
class ListRule:
    """How the items of one list are matched and merged."""

    key: str
    """The merge key; empty for lists of scalars."""
    merge: Callable[[Mapping[str, Json], Mapping[str, Json]], dict[str, Json]]

    def identity(self, item: Json) -> Json:
        """The identity of an item."""
        if not self.key:
            return _hashable(item)
        if not isinstance(item, dict):
            raise without_reason(f"expected a map[string]interface {{}}, but received a {go_type(item)}")
        if self.key not in item:
            raise without_reason(f"map: {go_text(item)} does not contain declared merge key: {self.key}")
        return _hashable(item[self.key])


def _hashable(value: Json) -> Json:
    """A hashable value that distinguishes 1 from true."""
    return (go_type(value), value if not isinstance(value, dict | list) else go_text(value))


def plain(value: Json) -> Json:
    """A patch value as it is, without nulls and ineffective directives."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if one is not None and not name.startswith("$")}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def merge_items(original: list[Json], patch: list[Json], rule: ListRule) -> list[Json]:
    """The merged list: items of the patch are merged into matching ones or added."""
    if not original and not patch:
        return original
    _check_alike(original, patch)
    if not rule.key:
        merged = list({rule.identity(item): item for item in [*original, *patch]}.values())
        return in_order(merged, patch, original, rule)
    directed = [item for item in patch if isinstance(item, dict) and PATCH in item]
    changes = [item for item in patch if not (isinstance(item, dict) and PATCH in item)]
    _check_directives(directed)
    if any(item[PATCH] == "replace" for item in directed):
        return [plain(item) for item in changes]
    kept = _without_deleted(original, directed, rule)
    return in_order(_merged(kept, changes, rule), changes, original, rule)


def _check_directives(directed: list[Json]) -> None:
    for item in directed:
        if item[PATCH] == "merge":
            raise without_reason("merging lists cannot yet be specified in the patch")
        if item[PATCH] not in ("delete", "replace"):
            raise without_reason(f"unknown patch type: {go_text(item[PATCH])} in map: {go_text(item)}")


def _without_deleted(original: list[Json], directed: list[Json], rule: ListRule) -> list[Json]:
    deleted = {rule.identity(item) for item in directed}
    return [item for item in original if rule.identity(item) not in deleted] if deleted else original


def _merged(original: list[Json], changes: list[Json], rule: ListRule) -> list[Json]:
    merged = list(original)
    places: dict[Json, int] = {}
    for place, item in enumerate(merged):
        places.setdefault(rule.identity(item), place)
    for change in changes:
        identity = rule.identity(change)
        if identity in places:
            place = places[identity]
            merged[place] = rule.merge(merged[place], change)
        else:
            places[identity] = len(merged)
            merged.append(plain(change))
    return merged


def remove_values(original: list[Json], values: list[Json]) -> list[Json]:
    """A list of scalars without those that the patch deletes."""
    if original and values:
        _check_alike(original, values)
    gone = {_hashable(value) for value in values}
    return [value for value in original if _hashable(value) not in gone]


def in_order(items: list[Json], order: Sequence[Json], before: Sequence[Json], rule: ListRule) -> list[Json]:
    """The items in their final order, from the requested and the previous order."""
    if not items:
        return items
    wanted = {rule.identity(item): place for place, item in reversed(list(enumerate(order)))}
    had = {rule.identity(item): place for place, item in reversed(list(enumerate(before)))}
    named = sorted((item for item in items if rule.identity(item) in wanted), key=lambda i: wanted[rule.identity(i)])
    others = [item for item in items if rule.identity(item) not in wanted]
    result: list[Json] = []
    for other in others:
        place = had.get(rule.identity(other), len(had))
        while named and had.get(rule.identity(named[0]), -1) < place:
            result.append(named.pop(0))
        result.append(other)
    return result + named


def check_order(patch: list[Json], order: list[Json], rule: ListRule) -> None:
    """Rejects a patch whose items are missing in its `$setElementOrder` or ordered differently."""
    wanted = [rule.identity(item) for item in order]
    place = 0
    for item in patch:
        if isinstance(item, dict) and PATCH in item:
            continue
        identity = rule.identity(item)
        if identity not in wanted[place:]:
            text = (
                f"The order in patch list:\n{go_text(patch)}\n doesn't match $setElementOrder list:\n{go_text(order)}\n"
            )
            raise without_reason(text)
        place = wanted.index(identity, place) + 1


def _check_alike(original: list[Json], patch: list[Json]) -> None:
    kinds = {go_type(item) for item in (*original, *patch)}
    if len(kinds) > 1:
        raise without_reason(f"list element types are not identical: [{go_text(original)} {go_text(patch)}]")
    if kinds == {"[]interface {}"}:
        raise unprocessable()
