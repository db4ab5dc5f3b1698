"""Aggregated ClusterRoles: their rules are updated whenever a selected role changes."""

import contextlib
from collections.abc import Iterable

from kohort.api.codec import Json, JsonObject
from kohort.api.selectors import Selector, SelectorError
from kohort.embedded.auth.rbac import CLUSTER_ROLES
from kohort.embedded.matching import labels_of, read_selector
from kohort.embedded.server.registry.store_writer import StoreWriter
from kohort.embedded.storage import RevisionConflictError, StorageEvent, Store, StoredObject


class RoleAggregation:
    """Updates the rules of aggregated ClusterRoles."""

    def __init__(self, store: Store, store_writer: StoreWriter) -> None:
        self._store = store
        self._store_writer = store_writer

    async def on_change(self, _: StorageEvent) -> None:
        """Recomputes every aggregated role; its own writes trigger this hook again until nothing changes."""
        for entry in self._store.list(CLUSTER_ROLES).entries:
            rules = self._rules(entry)
            if rules is not None and rules != (entry.object.get("rules") or []):
                try:
                    await self._store_writer.update(entry, {**entry.object, "rules": rules})
                except RevisionConflictError:
                    continue  # the concurrent change triggers this hook as well
                return

    def _rules(self, role: StoredObject) -> list[Json] | None:
        """The distinct rules of the roles that an aggregated role selects; None if the role is not aggregated."""
        aggregation = role.object.get("aggregationRule")
        if aggregation is None:
            return None
        selectors = _selectors(aggregation.get("clusterRoleSelectors") or ())
        rules: list[Json] = []
        for entry in self._store.list(CLUSTER_ROLES).entries:
            if entry.key != role.key and any(each.matches(labels_of(entry.object)) for each in selectors):
                rules += [rule for rule in _rules_of(entry.object) if rule not in rules]
        return rules


def _selectors(raw: Iterable[JsonObject]) -> list[Selector]:
    """The valid selectors; an invalid one selects nothing."""
    found = []
    for each in raw:
        with contextlib.suppress(SelectorError):
            found.append(read_selector(each))
    return found


def _rules_of(role: JsonObject) -> list[Json]:
    rules: list[Json] = role.get("rules") or []
    return rules
