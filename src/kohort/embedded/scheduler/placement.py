"""Selects a node for a pod or returns a fit error: pure, from the scheduler cache."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol

from kohort.embedded.scheduler.affinity_state import AffinityState, affinity_state, is_selected
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
    unschedulable_message,
)
from kohort.embedded.scheduler.filters import filter_by_spec, filter_by_usage
from kohort.embedded.scheduler.scores import MAX_SCORE, spec_score, usage_score
from kohort.embedded.scheduler.tables import Tables
from kohort.embedded.scheduler.terms import NO_RELATIONS

MIN_FEASIBLE_NODES: Final = 100
AFFINITY_WEIGHT: Final = 2.0
SPREAD_WEIGHT: Final = 2.0


@dataclass(frozen=True, slots=True)
class SelectedNode:
    """The node selected for a pod."""

    node: str


class StorageView(Protocol):
    """Volume filters used by the placer."""

    def problem(self, pod: PodInfo) -> str:
        """Why the pod fits no node at all; empty if no such problem."""

    def filter_failure(self, pod: PodInfo, node: NodeInfo) -> FilterFailure | None:
        """Why the pod's volumes do not allow the node, if they do not."""


def nodes_to_find(nodes: int) -> int:
    """Number of feasible nodes to score: all in small clusters, one in twenty in large ones."""
    return min(nodes, max(MIN_FEASIBLE_NODES, nodes // 20))


class Placer:
    """Selects nodes for pods; deterministic for a given history."""

    def __init__(self, cache: SchedulerCache, storage: StorageView) -> None:
        self._cache = cache
        self._storage = storage
        self._tables = Tables(cache)
        self._start = 0
        """Where the next search starts, so that all nodes are considered in turn."""

    def place(self, pod: PodInfo) -> SelectedNode | FitError:
        """The best node for the pod."""
        nodes = self._cache.nodes
        if not nodes:
            return FitError(NO_NODES, UnschedulableCause.NODE, {})
        problem = self._storage.problem(pod) if pod.requirements.claims else ""
        if problem:
            return FitError(unschedulable_message(len(nodes), problem), UnschedulableCause.STORAGE, {})
        if pod.requirements.names == frozenset():
            return FitError(unschedulable_message(len(nodes), NAMES_CONFLICT), NO_CAUSE, {})
        return self._on_nominated(pod) or self._from_table(pod) or self._by_search(pod)

    def filter_failure(self, pod: PodInfo, node: NodeInfo, affinity: AffinityState | None) -> FilterFailure | None:
        """The first filter that rejects the node; None if it fits."""
        requirements = pod.requirements
        return (
            filter_by_spec(requirements, node)
            or filter_by_usage(requirements, node, pod.uid)
            or (self._storage.filter_failure(pod, node) if requirements.claims else None)
            or (affinity.filter_failure(node) if affinity is not None else None)
        )

    def affinity(self, pod: PodInfo) -> AffinityState | None:
        """Affinity state of the pod; None if neither the pod nor any assigned pod has relevant terms."""
        is_unrelated = pod.requirements.relations is NO_RELATIONS and not is_selected(self._cache, pod)
        return None if is_unrelated else affinity_state(self._cache, pod)

    def _on_nominated(self, pod: PodInfo) -> SelectedNode | None:
        """The nominated node if it still fits."""
        node = self._cache.nodes.get(self._cache.nominated_to(pod.uid))
        if node is None or self.filter_failure(pod, node, self.affinity(pod)) is not None:
            return None
        return SelectedNode(node.name)

    def _from_table(self, pod: PodInfo) -> SelectedNode | FitError | None:
        """The cached result for pods with these requirements; None if there is none."""
        if not pod.requirements.is_plain or is_selected(self._cache, pod):
            return None
        table = self._tables.of(pod.requirements)
        if table is None:
            return None
        node = table.best()
        return SelectedNode(node.name) if node is not None else table.fit_error()

    def _by_search(self, pod: PodInfo) -> SelectedNode | FitError:
        affinity = self.affinity(pod)
        failures: dict[str, FilterFailure] = {}
        fitting = list(islice(self._fitting(pod, affinity, failures), nodes_to_find(len(self._cache.nodes))))
        if fitting:
            return SelectedNode(_best(pod, fitting, affinity).name)
        return fit_error(len(self._cache.nodes), failures)

    def _fitting(
        self, pod: PodInfo, affinity: AffinityState | None, failures: dict[str, FilterFailure]
    ) -> Iterator[NodeInfo]:
        """Feasible nodes, starting where the last search ended."""
        nodes = list(self._cache.nodes.values())
        names = pod.requirements.names
        begin = self._start % len(nodes)
        for node in (*nodes[begin:], *nodes[:begin]):
            self._start += 1
            failure = self.filter_failure(pod, node, affinity) if names is None or node.name in names else NOT_NAMED
            if failure is None:
                yield node
            else:
                failures[node.name] = failure


def _best(pod: PodInfo, nodes: Sequence[NodeInfo], affinity: AffinityState | None) -> NodeInfo:
    """The node with the highest score; ties go to the node that least recently got a pod."""
    requirements = pod.requirements
    scores = [spec_score(requirements, node) + usage_score(requirements, node) for node in nodes]
    if affinity is not None and affinity.weighted_terms:
        weighted_terms = _scaled([affinity.weighted_score(node) for node in nodes])
        scores = [score + AFFINITY_WEIGHT * weighted for score, weighted in zip(scores, weighted_terms, strict=True)]
    if affinity is not None and affinity.soft_spreads:
        spread_penalty = _scaled([affinity.spread_penalty(node) for node in nodes])
        scores = [
            score + SPREAD_WEIGHT * (MAX_SCORE - each) for score, each in zip(scores, spread_penalty, strict=True)
        ]
    ranked = zip(scores, nodes, strict=True)
    return min(ranked, key=lambda pair: (-pair[0], pair[1].last_assigned, pair[1].index))[1]


def _scaled(values: list[float]) -> list[float]:
    """Scales values linearly to 0..MAX_SCORE."""
    least, most = min(values), max(values)
    return [MAX_SCORE * (value - least) / (most - least) if most > least else 0.0 for value in values]
