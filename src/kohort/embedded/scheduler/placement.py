"""Finds a node for a pod, or says why there is none: pure, from the cluster as it is known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol

from kohort.embedded.scheduler.affinity_state import AffinityState, is_spoken_of, surroundings
from kohort.embedded.scheduler.cache import NodeInfo, PodInfo, SchedulerCache
from kohort.embedded.scheduler.diagnosis import (
    NAMES_CONFLICT,
    NO_CAUSE,
    NO_NODES,
    NOT_NAMED,
    FilterFailure,
    FitError,
    UnschedulableCause,
    fit_error,
    told_at_once,
)
from kohort.embedded.scheduler.filters import refused_by_kind, refused_by_load
from kohort.embedded.scheduler.scores import MOST, kind_score, load_score
from kohort.embedded.scheduler.tables import Tables
from kohort.embedded.scheduler.terms import NO_RELATIONS

ALWAYS_SCORED: Final = 100
PULL_WEIGHT: Final = 2.0
SPREAD_WEIGHT: Final = 2.0


@dataclass(frozen=True, slots=True)
class SelectedNode:
    """A node that takes the pod."""

    node: str


class StorageView(Protocol):
    """What placing asks about storage."""

    def problem(self, pod: PodInfo) -> str:
        """Why the pod can go to no node at all; empty for no reason."""

    def refused(self, pod: PodInfo, node: NodeInfo) -> FilterFailure | None:
        """What the pod's volumes have against a node."""


def enough(nodes: int) -> int:
    """How many nodes that fit are compared: all of a few, one in twenty of very many."""
    return min(nodes, max(ALWAYS_SCORED, nodes // 20))


class Placer:
    """Answers where pods go. Two of them with the same history give the same answers."""

    def __init__(self, cluster: SchedulerCache, storage: StorageView) -> None:
        self._cluster = cluster
        self._storage = storage
        self._tables = Tables(cluster)
        self._start = 0
        """Where the next search begins, so that every node has its turn."""

    def place(self, pod: PodInfo) -> SelectedNode | FitError:
        """The best node for the pod."""
        nodes = self._cluster.nodes
        if not nodes:
            return FitError(NO_NODES, UnschedulableCause.NODE, {})
        problem = self._storage.problem(pod) if pod.demand.claims else ""
        if problem:
            return FitError(told_at_once(len(nodes), problem), UnschedulableCause.STORAGE, {})
        if pod.demand.names == frozenset():
            return FitError(told_at_once(len(nodes), NAMES_CONFLICT), NO_CAUSE, {})
        return self._on_nominated(pod) or self._from_table(pod) or self._by_search(pod)

    def refused(self, pod: PodInfo, node: NodeInfo, near: AffinityState | None) -> FilterFailure | None:
        """Why one node does not take the pod; None where it does."""
        demand = pod.demand
        return (
            refused_by_kind(demand, node)
            or refused_by_load(demand, node, pod.uid)
            or (self._storage.refused(pod, node) if demand.claims else None)
            or (near.refused(node) if near is not None else None)
        )

    def near(self, pod: PodInfo) -> AffinityState | None:
        """What other pods have to say; None for nothing."""
        is_silent = pod.demand.relations is NO_RELATIONS and not is_spoken_of(self._cluster, pod)
        return None if is_silent else surroundings(self._cluster, pod)

    def _on_nominated(self, pod: PodInfo) -> SelectedNode | None:
        """The node where room was made for the pod, if it is still the place."""
        node = self._cluster.nodes.get(self._cluster.nominated_to(pod.uid))
        if node is None or self.refused(pod, node, self.near(pod)) is not None:
            return None
        return SelectedNode(node.name)

    def _from_table(self, pod: PodInfo) -> SelectedNode | FitError | None:
        """What is kept about pods of this shape; None where that does not answer."""
        if not pod.demand.is_plain or is_spoken_of(self._cluster, pod):
            return None
        table = self._tables.of(pod.demand)
        if table is None:
            return None
        node = table.best()
        return SelectedNode(node.name) if node is not None else table.verdict()

    def _by_search(self, pod: PodInfo) -> SelectedNode | FitError:
        near = self.near(pod)
        refusals: dict[str, FilterFailure] = {}
        fitting = list(islice(self._fitting(pod, near, refusals), enough(len(self._cluster.nodes))))
        if fitting:
            return SelectedNode(_best(pod, fitting, near).name)
        return fit_error(len(self._cluster.nodes), refusals)

    def _fitting(
        self, pod: PodInfo, near: AffinityState | None, refusals: dict[str, FilterFailure]
    ) -> Iterator[NodeInfo]:
        """The nodes that take the pod, from where the last search ended."""
        nodes = list(self._cluster.nodes.values())
        names = pod.demand.names
        begin = self._start % len(nodes)
        for node in (*nodes[begin:], *nodes[:begin]):
            self._start += 1
            refusal = self.refused(pod, node, near) if names is None or node.name in names else NOT_NAMED
            if refusal is None:
                yield node
            else:
                refusals[node.name] = refusal


def _best(pod: PodInfo, nodes: Sequence[NodeInfo], near: AffinityState | None) -> NodeInfo:
    """The best of several nodes; among equals the one that has waited longest for a pod."""
    demand = pod.demand
    scores = [kind_score(demand, node) + load_score(demand, node) for node in nodes]
    if near is not None and near.pulls:
        pulls = _scaled([near.pull(node) for node in nodes])
        scores = [score + PULL_WEIGHT * pull for score, pull in zip(scores, pulls, strict=True)]
    if near is not None and near.soft_spreads:
        crowding = _scaled([near.crowding(node) for node in nodes])
        scores = [score + SPREAD_WEIGHT * (MOST - each) for score, each in zip(scores, crowding, strict=True)]
    ranked = zip(scores, nodes, strict=True)
    return min(ranked, key=lambda pair: (-pair[0], pair[1].touched, pair[1].index))[1]


def _scaled(values: list[float]) -> list[float]:
    """From nothing for the least to all for the greatest."""
    least, most = min(values), max(values)
    return [MOST * (value - least) / (most - least) if most > least else 0.0 for value in values]
