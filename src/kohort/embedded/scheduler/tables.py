"""Heaps of feasible nodes by score, one per pod requirements; a refresh reevaluates only nodes that changed.

Among a thousand equal pods each costs the evaluation of the node that the previous one was assigned to.
"""

from collections import OrderedDict
from heapq import heapify, heappop, heappush
from typing import Final

from kohort.embedded.scheduler.cache import NodeInfo, SchedulerCache
from kohort.embedded.scheduler.diagnosis import FilterFailure, FitError, fit_error
from kohort.embedded.scheduler.filters import filter_by_spec, filter_by_usage
from kohort.embedded.scheduler.requirements import PodRequirements
from kohort.embedded.scheduler.scores import spec_score, usage_score

MAX_TABLES: Final = 128
_SPARE: Final = 64

_Entry = tuple[float, int, int, int, NodeInfo]
"""Negative score, sequence number of the last assignment, index and version of the node, node."""


class Table:
    """Feasible nodes for pods with equal, plain requirements."""

    def __init__(self, cache: SchedulerCache, requirements: PodRequirements) -> None:
        self._cache = cache
        self._requirements = requirements
        self._heap: list[_Entry] = []
        self._by_spec: dict[str, tuple[int, FilterFailure | None, float]] = {}
        self._failures: dict[str, FilterFailure] = {}
        self._sequence = -1
        self._fit_error: tuple[int, FitError] | None = None

    def best(self) -> NodeInfo | None:
        """The best feasible node."""
        self._refresh()
        heap = self._heap
        while heap:
            _, _, _, version, node = heap[0]
            if node.version == version and node.is_present:
                return node
            heappop(heap)
        return None

    def fit_error(self) -> FitError:
        """The fit error, cached until a node changes."""
        if self._fit_error is None or self._fit_error[0] != self._sequence:
            self._fit_error = (self._sequence, fit_error(len(self._cache.nodes), dict(self._failures)))
        return self._fit_error[1]

    def _refresh(self) -> None:
        now = self._cache.sequence
        if self._sequence == now:
            return
        changed = self._cache.changed_since(self._sequence) if self._sequence >= 0 else None
        if changed is None or len(self._heap) > 4 * len(self._cache.nodes) + _SPARE:
            self._rebuild()
        else:
            for node in {each.index: each for each in changed}.values():
                self._update(node)
        self._sequence = now

    def _rebuild(self) -> None:
        self._failures.clear()
        nodes = self._cache.nodes
        for name in self._by_spec.keys() - nodes.keys():
            del self._by_spec[name]
        entries = (self._entry(node) for node in nodes.values())
        self._heap = [entry for entry in entries if entry is not None]
        heapify(self._heap)

    def _update(self, node: NodeInfo) -> None:
        present = self._cache.nodes.get(node.name)
        if present is None:
            self._failures.pop(node.name, None)
            self._by_spec.pop(node.name, None)
        if present is not node:
            return  # another node object of the same name is in the log as well
        entry = self._entry(node)
        if entry is not None:
            heappush(self._heap, entry)

    def _entry(self, node: NodeInfo) -> _Entry | None:
        """The node's heap entry; None, with the failure recorded, if it does not fit."""
        cached = self._by_spec.get(node.name)
        if cached is None or cached[0] != node.spec_version:
            failure = filter_by_spec(self._requirements, node)
            score = spec_score(self._requirements, node) if failure is None else 0.0
            cached = self._by_spec[node.name] = (node.spec_version, failure, score)
        failure = cached[1] or filter_by_usage(self._requirements, node)
        if failure is not None:
            self._failures[node.name] = failure
            return None
        self._failures.pop(node.name, None)
        score = cached[2] + usage_score(self._requirements, node)
        return -score, node.last_assigned, node.index, node.version, node


class Tables:
    """LRU cache of tables for requirements that occur more than once."""

    def __init__(self, cache: SchedulerCache) -> None:
        self._cache = cache
        self._tables: OrderedDict[PodRequirements, Table | None] = OrderedDict()

    def of(self, requirements: PodRequirements) -> Table | None:
        """The table for the requirements; None at their first use, since many are used only once."""
        if requirements not in self._tables:
            self._tables[requirements] = None
            if len(self._tables) > MAX_TABLES:
                self._tables.popitem(last=False)
            return None
        self._tables.move_to_end(requirements)
        table = self._tables[requirements]
        if table is None:
            table = self._tables[requirements] = Table(self._cache, requirements)
        return table
