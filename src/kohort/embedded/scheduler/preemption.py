"""Preemption: finds the fewest and least important victims per candidate node, then the best node.

What-if evaluations remove pods from the live cache, run the filters and restore the pods.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from kohort.embedded.scheduler.budgets import DisruptionLister, violating_pods
from kohort.embedded.scheduler.cache import NodeInfo, PodInfo, SchedulerCache
from kohort.embedded.scheduler.diagnosis import NO_VICTIMS, NOT_HELPED, FilterFailure, FitError, fit_error_message
from kohort.embedded.scheduler.placement import Placer
from kohort.embedded.scheduler.requirements import PodRequirements

MIN_CANDIDATES: Final = 100
NEVER_POLICY: Final = "not eligible due to preemptionPolicy=Never."
TERMINATING_VICTIM: Final = "not eligible due to a terminating pod on the nominated node."
_LOWEST: Final = 2**31
"""Offset that makes every priority positive, so that more victims never cost less."""
_NOT_STARTED: Final = float("inf")


@dataclass(frozen=True, slots=True)
class NodeCandidate:
    """A node with the victims to preempt on it."""

    node: NodeInfo
    victims: tuple[PodInfo, ...]
    """Most important first."""
    violating: int
    """Number of victims whose eviction violates a disruption budget."""

    @property
    def message(self) -> str:
        """Text appended to the pod's message."""
        count = len(self.victims)
        return f"preemption: found a potential placement for pod on node {self.node.name}, preempting {count} victims"


@dataclass(frozen=True, slots=True)
class PreemptionNotHelpful:
    """Preemption does not help; the reason is appended to the pod's message."""

    message: str
    clears_nomination: bool
    """Whether the nominated node of the pod is to be cleared."""


class PreemptionEvaluator:
    """Finds victims."""

    def __init__(self, cache: SchedulerCache, placer: Placer, budgets: DisruptionLister) -> None:
        self._cache = cache
        self._placer = placer
        self._budgets = budgets
        self._start = 0
        self._last: tuple[PodRequirements, int, PreemptionNotHelpful] | None = None
        """The last unsuccessful search, reused for equal pods while the cache is unchanged."""

    def search(self, pod: PodInfo, fit_error: FitError) -> NodeCandidate | PreemptionNotHelpful:
        """The cheapest node to preempt on, with its victims."""
        if not pod.requirements.may_preempt:
            return PreemptionNotHelpful(f"preemption: {NEVER_POLICY}", clears_nomination=False)
        if self._has_terminating_victim(pod, fit_error):
            return PreemptionNotHelpful(f"preemption: {TERMINATING_VICTIM}", clears_nomination=False)
        if self._last is not None and self._last[:2] == (pod.requirements, self._cache.sequence):
            return self._last[2]
        failures: dict[str, FilterFailure] = {}
        found = list(islice(self._candidates(pod, fit_error, failures), self._max_candidates(fit_error)))
        if found:
            return min(found, key=_cost)
        count = len(self._cache.nodes)
        others = [NOT_HELPED] * (count - len(failures))
        not_helpful = PreemptionNotHelpful(
            f"preemption: {fit_error_message(count, (*failures.values(), *others))}", clears_nomination=True
        )
        if pod.requirements.is_plain:
            self._last = (pod.requirements, self._cache.sequence, not_helpful)
        return not_helpful

    def _has_terminating_victim(self, pod: PodInfo, fit_error: FitError) -> bool:
        name = self._cache.nominated_to(pod.uid)
        node = self._cache.nodes.get(name)
        failure = fit_error.failures.get(name)
        if node is None or (failure is not None and failure.is_final):
            return False
        return any(
            each.is_terminating and each.requirements.priority < pod.requirements.priority
            for each in node.pods.values()
        )

    def _max_candidates(self, fit_error: FitError) -> int:
        """Number of candidates to compare."""
        return max(MIN_CANDIDATES, len(fit_error.failures) // 10)

    def _candidates(
        self, pod: PodInfo, fit_error: FitError, failures: dict[str, FilterFailure]
    ) -> Iterator[NodeCandidate]:
        nodes = [self._cache.nodes[name] for name, failure in fit_error.failures.items() if not failure.is_final]
        if not nodes:
            return
        if not self._cache.has_lower_priority(pod.requirements.priority):
            failures.update(dict.fromkeys((node.name for node in nodes), NO_VICTIMS))
            return
        begin = self._start % len(nodes)
        for node in (*nodes[begin:], *nodes[:begin]):
            self._start += 1
            found = self._candidate_on(pod, node)
            if isinstance(found, FilterFailure):
                failures[node.name] = found
            else:
                yield found

    def _candidate_on(self, pod: PodInfo, node: NodeInfo) -> NodeCandidate | FilterFailure:
        """The minimal set of victims on one node."""
        lower = sorted(
            (each for each in node.pods.values() if each.requirements.priority < pod.requirements.priority), key=_rank
        )
        if not lower:
            return NO_VICTIMS
        for each in lower:
            self._cache.remove_temporarily(each)
        out = list(lower)
        try:
            failure = self._filter_failure(pod, node)
            if failure is not None:
                return failure
            violating = violating_pods(lower, self._budgets)
            # Reprieve pods whose eviction violates a budget first, then the more important ones.
            for each in sorted(lower, key=lambda one: one.uid not in violating):
                self._cache.restore(each)
                out.remove(each)
                if self._filter_failure(pod, node) is not None:
                    self._cache.remove_temporarily(each)
                    out.append(each)
            victims = tuple(sorted(out, key=_rank))
            return NodeCandidate(node, victims, sum(each.uid in violating for each in victims))
        finally:
            for each in out:
                self._cache.restore(each)

    def _filter_failure(self, pod: PodInfo, node: NodeInfo) -> FilterFailure | None:
        return self._placer.filter_failure(pod, node, self._placer.affinity(pod))


def _rank(pod: PodInfo) -> tuple[int, float, str]:
    """Sort key by importance: higher priority first, then earlier start."""
    return -pod.requirements.priority, pod.started or _NOT_STARTED, pod.uid


def _cost(candidate: NodeCandidate) -> tuple[float, ...]:
    """Cost of preempting on a node: budget violations, highest priority, sum of priorities, number, start time."""
    victims = candidate.victims
    highest = max((each.requirements.priority for each in victims), default=-_LOWEST)
    total = sum(each.requirements.priority + _LOWEST for each in victims)
    return candidate.violating, highest, total, len(victims), -_earliest(victims, highest), candidate.node.index


def _earliest(victims: Sequence[PodInfo], priority: int) -> float:
    return min(
        (each.started or _NOT_STARTED for each in victims if each.requirements.priority == priority), default=0.0
    )
