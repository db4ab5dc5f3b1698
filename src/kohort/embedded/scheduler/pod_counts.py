"""Incremental pod counts by node for affinity and topology spread, without iterating over all pods.

A selection is counted from its first query on; terms of assigned pods are always counted.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

from kohort.api.selectors import NOTHING
from kohort.embedded.scheduler.terms import AffinityTerm, PodLabels, PodSelection, Relations, WeightedTerm

MAX_SELECTIONS: Final = 512
MAX_MATCHES: Final = 4096

_NodeCounts = dict[str, int]
"""Number of pods by node."""
K = TypeVar("K")


class AssignedPod(NamedTuple):
    """The fields of an assigned pod that are counted."""

    namespace: str
    labels: PodLabels
    is_terminating: bool
    relations: Relations
    node: str


class PodCountsByNode:
    """Pod counts by node."""

    def __init__(self, assigned_pods: Callable[[], Iterator[AssignedPod]]) -> None:
        self._assigned_pods = assigned_pods
        self.namespaces: dict[str, PodLabels] = {}
        self.anti_affinity: dict[AffinityTerm, _NodeCounts] = {}
        """Required anti-affinity terms of assigned pods."""
        self.weighted: dict[WeightedTerm, _NodeCounts] = {}
        """Preferred terms of assigned pods and their required affinity, which scores with weight 1."""
        self._selections: OrderedDict[PodSelection, _NodeCounts] = OrderedDict()
        self._matches: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[PodSelection, ...]] = {}

    def count(self, selection: PodSelection) -> Mapping[str, int]:
        """The number of selected pods by node."""
        found = self._selections.get(selection)
        if found is not None:
            self._selections.move_to_end(selection)
            return found
        found = self._selections[selection] = {}
        for assigned in self._assigned_pods():
            if _is_counted(selection, assigned) and selection.match(
                assigned.namespace, assigned.labels, self.namespaces
            ):
                found[assigned.node] = found.get(assigned.node, 0) + 1
        if len(self._selections) > MAX_SELECTIONS:
            self._selections.popitem(last=False)
        self._matches.clear()
        return found

    def add(self, assigned: AssignedPod) -> None:
        """Counts a pod assigned to a node."""
        self._change(assigned, 1)

    def remove(self, assigned: AssignedPod) -> None:
        """Removes a pod from the counts."""
        self._change(assigned, -1)

    def set_namespace(self, name: str, labels: PodLabels | None) -> None:
        """Sets the labels of a namespace and drops the counts of selections that select namespaces if they changed."""
        before = self.namespaces.get(name)
        if labels is None:
            self.namespaces.pop(name, None)
        else:
            self.namespaces[name] = labels
        if before == labels:
            return
        self._matches.clear()
        for selection in [
            each for each in self._selections if any(p.namespace_selector is not NOTHING for p in each.peers)
        ]:
            del self._selections[selection]

    def _change(self, assigned: AssignedPod, delta: int) -> None:
        if self._selections:
            for selection in self._selections_of(assigned.namespace, assigned.labels):
                if _is_counted(selection, assigned):
                    _add(self._selections[selection], assigned.node, delta)
        relations = assigned.relations
        for term in relations.anti_affinity:
            _add_under(self.anti_affinity, term, assigned.node, delta)
        for weighted in relations.weighted_terms:
            _add_under(self.weighted, weighted, assigned.node, delta)
        for term in relations.affinity:
            _add_under(self.weighted, WeightedTerm(term, 1), assigned.node, delta)

    def _selections_of(self, namespace: str, labels: PodLabels) -> tuple[PodSelection, ...]:
        key = (namespace, tuple(sorted(labels.items())))
        found = self._matches.get(key)
        if found is None:
            if len(self._matches) >= MAX_MATCHES:
                self._matches.clear()
            matching = (
                selection for selection in self._selections if selection.match(namespace, labels, self.namespaces)
            )
            found = self._matches[key] = tuple(matching)
        return found


def _is_counted(selection: PodSelection, assigned: AssignedPod) -> bool:
    return selection.include_terminating or not assigned.is_terminating


def _add(counts: _NodeCounts, node: str, delta: int) -> None:
    now = counts.get(node, 0) + delta
    if now:
        counts[node] = now
    else:
        del counts[node]


def _add_under(all_counts: dict[K, _NodeCounts], key: K, node: str, delta: int) -> None:
    counts = all_counts.setdefault(key, {})
    _add(counts, node, delta)
    if not counts:
        del all_counts[key]
