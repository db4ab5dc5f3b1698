"""Requests of pods that are not TAS pods, summed per node (TAS-27)."""

from collections.abc import Mapping, Set
from typing import Final, NamedTuple

from kohort.api.meta import ObjectKey
from kohort.controllers.topology.pods import PodRecord


class UsageChange(NamedTuple):
    """The nodes whose usage a change of a pod affects; one that moved affects two."""

    grown: frozenset[str] = frozenset()
    """A pod is new there, or has another request."""
    shrunk: frozenset[str] = frozenset()
    """A pod is gone."""


NO_CHANGE: Final = UsageChange()


class NodeUsageTotals:
    """The sum of requests of each node, kept up to date by the changes of pods."""

    def __init__(self) -> None:
        self._counted: dict[ObjectKey, PodRecord] = {}
        """Pods as they are counted: the last state of a deleted pod may differ from that."""
        self._sums: dict[str, dict[str, int]] = {}

    @property
    def nodes(self) -> Set[str]:
        """The nodes with counted pods."""
        return self._sums.keys()

    def of(self, node: str) -> dict[str, int]:
        """What the pods of a node request together, as a copy; empty without pods."""
        return dict(self._sums.get(node, ()))

    def put(self, pod: PodRecord) -> UsageChange:
        """Count a new or changed pod; one without a request of its own is not counted."""
        key = pod.identity.key
        if pod.amounts is None:
            return self.remove(key)
        before = self._counted.get(key)
        self._counted[key] = pod
        if before is not None and (before.node, before.amounts) == (pod.node, pod.amounts):
            return NO_CHANGE
        removed = self._subtract(before)
        self._add(pod.node, pod.amounts, 1)
        return UsageChange(grown=frozenset({pod.node}), shrunk=removed - {pod.node})

    def remove(self, key: ObjectKey) -> UsageChange:
        """Stop counting a pod."""
        return UsageChange(shrunk=self._subtract(self._counted.pop(key, None)))

    def _subtract(self, pod: PodRecord | None) -> frozenset[str]:
        if pod is None or pod.amounts is None:
            return frozenset()
        self._add(pod.node, pod.amounts, -1)
        return frozenset({pod.node})

    def _add(self, node: str, amounts: Mapping[str, int], sign: int) -> None:
        sums = self._sums.setdefault(node, {})
        for resource, amount in amounts.items():
            total = sums.get(resource, 0) + sign * amount
            if total:
                sums[resource] = total
            else:
                sums.pop(resource, None)
        if not sums:
            del self._sums[node]
