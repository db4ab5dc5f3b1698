"""Whom a pod may push out: on each node that could help the fewest and least important pods, then the best such node.

What-if questions take pods out of the live cluster, look, and put them back.
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

ALWAYS_COMPARED: Final = 100
NEVER: Final = "not eligible due to preemptionPolicy=Never."
WAITING: Final = "not eligible due to a terminating pod on the nominated node."
_LOWEST: Final = 2**31
"""Makes every priority positive, so that more victims never weigh less."""
_NOT_STARTED: Final = float("inf")


@dataclass(frozen=True, slots=True)
class NodeCandidate:
    """A node, and who must leave it."""

    node: NodeInfo
    victims: tuple[PodInfo, ...]
    """The most important first."""
    broken: int
    """Victims whose going breaks a disruption budget."""

    @property
    def message(self) -> str:
        """What is added to the pod's message."""
        count = len(self.victims)
        return f"preemption: found a potential placement for pod on node {self.node.name}, preempting {count} victims"


@dataclass(frozen=True, slots=True)
class PreemptionNotHelpful:
    """Pushing out others does not help; the reason, as it is added to the pod's message."""

    message: str
    clears_nomination: bool
    """Whether the pod need not wait for the node it was promised."""


class PreemptionEvaluator:
    """Finds victims."""

    def __init__(self, cluster: SchedulerCache, placer: Placer, budgets: DisruptionLister) -> None:
        self._cluster = cluster
        self._placer = placer
        self._budgets = budgets
        self._start = 0
        self._last: tuple[PodRequirements, int, PreemptionNotHelpful] | None = None
        """The last search in vain: equal pods need not repeat it while nothing changes."""

    def search(self, pod: PodInfo, nowhere: FitError) -> NodeCandidate | PreemptionNotHelpful:
        """The node to clear for the pod, and of whom."""
        if not pod.demand.may_preempt:
            return PreemptionNotHelpful(f"preemption: {NEVER}", clears_nomination=False)
        if self._is_being_cleared(pod, nowhere):
            return PreemptionNotHelpful(f"preemption: {WAITING}", clears_nomination=False)
        if self._last is not None and self._last[:2] == (pod.demand, self._cluster.sequence):
            return self._last[2]
        refusals: dict[str, FilterFailure] = {}
        found = list(islice(self._candidates(pod, nowhere, refusals), self._most(nowhere)))
        if found:
            return min(found, key=_cost)
        count = len(self._cluster.nodes)
        others = [NOT_HELPED] * (count - len(refusals))
        vain = PreemptionNotHelpful(
            f"preemption: {fit_error_message(count, (*refusals.values(), *others))}", clears_nomination=True
        )
        if pod.demand.is_plain:
            self._last = (pod.demand, self._cluster.sequence, vain)
        return vain

    def _is_being_cleared(self, pod: PodInfo, nowhere: FitError) -> bool:
        name = self._cluster.nominated_to(pod.uid)
        node = self._cluster.nodes.get(name)
        refusal = nowhere.refusals.get(name)
        if node is None or (refusal is not None and refusal.is_final):
            return False
        return any(each.is_leaving and each.demand.priority < pod.demand.priority for each in node.pods.values())

    def _most(self, nowhere: FitError) -> int:
        """How many candidates are compared."""
        return max(ALWAYS_COMPARED, len(nowhere.refusals) // 10)

    def _candidates(
        self, pod: PodInfo, nowhere: FitError, refusals: dict[str, FilterFailure]
    ) -> Iterator[NodeCandidate]:
        nodes = [self._cluster.nodes[name] for name, refusal in nowhere.refusals.items() if not refusal.is_final]
        if not nodes:
            return
        if not self._cluster.has_below(pod.demand.priority):
            refusals.update(dict.fromkeys((node.name for node in nodes), NO_VICTIMS))
            return
        begin = self._start % len(nodes)
        for node in (*nodes[begin:], *nodes[:begin]):
            self._start += 1
            found = self._on(pod, node)
            if isinstance(found, FilterFailure):
                refusals[node.name] = found
            else:
                yield found

    def _on(self, pod: PodInfo, node: NodeInfo) -> NodeCandidate | FilterFailure:
        """The fewest that must leave one node."""
        lower = sorted((each for each in node.pods.values() if each.demand.priority < pod.demand.priority), key=_rank)
        if not lower:
            return NO_VICTIMS
        for each in lower:
            self._cluster.set_aside(each)
        out = list(lower)
        try:
            refusal = self._refused(pod, node)
            if refusal is not None:
                return refusal
            broken = violating_pods(lower, self._budgets)
            # Who would break a budget is spared first, then whoever is more important.
            for each in sorted(lower, key=lambda one: one.uid not in broken):
                self._cluster.put_back(each)
                out.remove(each)
                if self._refused(pod, node) is not None:
                    self._cluster.set_aside(each)
                    out.append(each)
            victims = tuple(sorted(out, key=_rank))
            return NodeCandidate(node, victims, sum(each.uid in broken for each in victims))
        finally:
            for each in out:
                self._cluster.put_back(each)

    def _refused(self, pod: PodInfo, node: NodeInfo) -> FilterFailure | None:
        return self._placer.refused(pod, node, self._placer.near(pod))


def _rank(pod: PodInfo) -> tuple[int, float, str]:
    """The more important first: of higher priority, then running for longer."""
    return -pod.demand.priority, pod.started or _NOT_STARTED, pod.uid


def _cost(candidate: NodeCandidate) -> tuple[float, ...]:
    """What clearing a node costs: budgets first, then the worst victim, all of them, their number, and lost work."""
    victims = candidate.victims
    highest = max((each.demand.priority for each in victims), default=-_LOWEST)
    total = sum(each.demand.priority + _LOWEST for each in victims)
    return candidate.broken, highest, total, len(victims), -_earliest(victims, highest), candidate.node.index


def _earliest(victims: Sequence[PodInfo], priority: int) -> float:
    return min((each.started or _NOT_STARTED for each in victims if each.demand.priority == priority), default=0.0)
