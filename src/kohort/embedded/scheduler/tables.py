"""For pods of one shape: which nodes take them, the best on top; only nodes that changed are looked at again.

With a thousand equal pods to place, each costs a look at the node that the one before it went to.
"""

from collections import OrderedDict
from heapq import heapify, heappop, heappush
from typing import Final

from kohort.embedded.scheduler.cache import NodeInfo, SchedulerCache
from kohort.embedded.scheduler.diagnosis import FilterFailure, FitError, fit_error
from kohort.embedded.scheduler.filters import refused_by_kind, refused_by_load
from kohort.embedded.scheduler.requirements import PodRequirements
from kohort.embedded.scheduler.scores import kind_score, load_score

MOST_TABLES: Final = 128
_SPARE: Final = 64

Entry = tuple[float, int, int, int, NodeInfo]
"""Score (negative), when a pod was last put there, age of the node, version, node."""


class Table:
    """All nodes, as pods of one shape see them; its pods must say nothing about others."""

    def __init__(self, cluster: SchedulerCache, demand: PodRequirements) -> None:
        self._cluster = cluster
        self._demand = demand
        self._heap: list[Entry] = []
        self._by_kind: dict[str, tuple[int, FilterFailure | None, float]] = {}
        self._refused: dict[str, FilterFailure] = {}
        self._seen = -1
        self._verdict: tuple[int, FitError] | None = None

    def best(self) -> NodeInfo | None:
        """The best node that takes such a pod now."""
        self._refresh()
        heap = self._heap
        while heap:
            _, _, _, version, node = heap[0]
            if node.version == version and node.is_present:
                return node
            heappop(heap)
        return None

    def verdict(self) -> FitError:
        """Why there is none; the same for all such pods until a node changes."""
        if self._verdict is None or self._verdict[0] != self._seen:
            self._verdict = (self._seen, fit_error(len(self._cluster.nodes), dict(self._refused)))
        return self._verdict[1]

    def _refresh(self) -> None:
        now = self._cluster.sequence
        if self._seen == now:
            return
        changed = self._cluster.changed_since(self._seen) if self._seen >= 0 else None
        if changed is None or len(self._heap) > 4 * len(self._cluster.nodes) + _SPARE:
            self._rebuild()
        else:
            for node in {each.index: each for each in changed}.values():
                self._look(node)
        self._seen = now

    def _rebuild(self) -> None:
        self._refused.clear()
        nodes = self._cluster.nodes
        for name in self._by_kind.keys() - nodes.keys():
            del self._by_kind[name]
        entries = (self._entry(node) for node in nodes.values())
        self._heap = [entry for entry in entries if entry is not None]
        heapify(self._heap)

    def _look(self, node: NodeInfo) -> None:
        present = self._cluster.nodes.get(node.name)
        if present is None:
            self._refused.pop(node.name, None)
            self._by_kind.pop(node.name, None)
        if present is not node:
            return  # another of the same name changed too, and has its own turn
        entry = self._entry(node)
        if entry is not None:
            heappush(self._heap, entry)

    def _entry(self, node: NodeInfo) -> Entry | None:
        """The node's place in the order; None, with the reason kept, where it refuses."""
        known = self._by_kind.get(node.name)
        if known is None or known[0] != node.shape:
            refusal = refused_by_kind(self._demand, node)
            score = kind_score(self._demand, node) if refusal is None else 0.0
            known = self._by_kind[node.name] = (node.shape, refusal, score)
        refusal = known[1] or refused_by_load(self._demand, node)
        if refusal is not None:
            self._refused[node.name] = refusal
            return None
        self._refused.pop(node.name, None)
        score = known[2] + load_score(self._demand, node)
        return -score, node.touched, node.index, node.version, node


class Tables:
    """The tables of shapes that come more than once; the least used goes first."""

    def __init__(self, cluster: SchedulerCache) -> None:
        self._cluster = cluster
        self._tables: OrderedDict[PodRequirements, Table | None] = OrderedDict()

    def of(self, demand: PodRequirements) -> Table | None:
        """The table of a shape; None for one that is seen for the first time, which may well be the last."""
        if demand not in self._tables:
            self._tables[demand] = None
            if len(self._tables) > MOST_TABLES:
                self._tables.popitem(last=False)
            return None
        self._tables.move_to_end(demand)
        table = self._tables[demand]
        if table is None:
            table = self._tables[demand] = Table(self._cluster, demand)
        return table
