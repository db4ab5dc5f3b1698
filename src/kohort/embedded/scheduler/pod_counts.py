"""How many pods of which kind are on which node: for affinity and spreading, without walking over all pods.

A crowd is counted from the moment somebody asks for it; what pods on nodes say about others is counted always.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

from kohort.api.selectors import NOTHING
from kohort.embedded.scheduler.terms import AffinityTerm, Labels, PodSelection, Relations, WeightedTerm

MOST_CROWDS: Final = 512
MOST_MATCHES: Final = 4096

Counts = dict[str, int]
"""Pods by node."""
K = TypeVar("K")


class AssignedPod(NamedTuple):
    """A pod on a node, as far as it is counted."""

    namespace: str
    labels: Labels
    is_leaving: bool
    relations: Relations
    node: str


class PodCountsByNode:
    """Counts of pods by node."""

    def __init__(self, residents: Callable[[], Iterator[AssignedPod]]) -> None:
        self._residents = residents
        self.namespaces: dict[str, Labels] = {}
        self.repelling: dict[AffinityTerm, Counts] = {}
        """Required anti-affinity of pods on nodes."""
        self.pulling: dict[WeightedTerm, Counts] = {}
        """Their preferences, and their required affinity, which counts a little for others."""
        self._crowds: OrderedDict[PodSelection, Counts] = OrderedDict()
        self._matches: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[PodSelection, ...]] = {}

    def count(self, crowd: PodSelection) -> Mapping[str, int]:
        """How many of the crowd are on which node."""
        found = self._crowds.get(crowd)
        if found is not None:
            self._crowds.move_to_end(crowd)
            return found
        found = self._crowds[crowd] = {}
        for resident in self._residents():
            if _is_counted(crowd, resident) and crowd.match(resident.namespace, resident.labels, self.namespaces):
                found[resident.node] = found.get(resident.node, 0) + 1
        if len(self._crowds) > MOST_CROWDS:
            self._crowds.popitem(last=False)
        self._matches.clear()
        return found

    def add(self, resident: AssignedPod) -> None:
        """A pod came to a node."""
        self._shift(resident, 1)

    def remove(self, resident: AssignedPod) -> None:
        """A pod left a node."""
        self._shift(resident, -1)

    def set_namespace(self, name: str, labels: Labels | None) -> None:
        """The labels of a namespace; crowds that select namespaces are counted anew where they changed."""
        before = self.namespaces.get(name)
        if labels is None:
            self.namespaces.pop(name, None)
        else:
            self.namespaces[name] = labels
        if before == labels:
            return
        self._matches.clear()
        for crowd in [each for each in self._crowds if any(p.namespace_selector is not NOTHING for p in each.peers)]:
            del self._crowds[crowd]

    def _shift(self, resident: AssignedPod, by: int) -> None:
        if self._crowds:
            for crowd in self._crowds_of(resident.namespace, resident.labels):
                if _is_counted(crowd, resident):
                    _add(self._crowds[crowd], resident.node, by)
        said = resident.relations
        for term in said.anti_affinity:
            _add_under(self.repelling, term, resident.node, by)
        for pull in said.pulls:
            _add_under(self.pulling, pull, resident.node, by)
        for term in said.affinity:
            _add_under(self.pulling, WeightedTerm(term, 1), resident.node, by)

    def _crowds_of(self, namespace: str, labels: Labels) -> tuple[PodSelection, ...]:
        key = (namespace, tuple(sorted(labels.items())))
        found = self._matches.get(key)
        if found is None:
            if len(self._matches) >= MOST_MATCHES:
                self._matches.clear()
            matching = (crowd for crowd in self._crowds if crowd.match(namespace, labels, self.namespaces))
            found = self._matches[key] = tuple(matching)
        return found


def _is_counted(crowd: PodSelection, resident: AssignedPod) -> bool:
    return crowd.with_leaving or not resident.is_leaving


def _add(counts: Counts, node: str, by: int) -> None:
    now = counts.get(node, 0) + by
    if now:
        counts[node] = now
    else:
        del counts[node]


def _add_under(all_counts: dict[K, Counts], key: K, node: str, by: int) -> None:
    counts = all_counts.setdefault(key, {})
    _add(counts, node, by)
    if not counts:
        del all_counts[key]
