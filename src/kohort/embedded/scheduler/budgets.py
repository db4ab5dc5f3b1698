"""Determines which preemption victims would violate a PodDisruptionBudget."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kohort.api.selectors import Selector, SelectorError, compile_selector
from kohort.embedded.scheduler.cache import PodInfo
from kohort.embedded.scheduler.views import SchedulerDisruptionBudget


@dataclass(frozen=True, slots=True)
class DisruptionAllowance:
    """A PodDisruptionBudget's selector and the disruptions it allows."""

    selector: Selector
    allowed: int
    gone: frozenset[str]
    """Names of pods already counted in disruptedPods."""


class DisruptionLister(Protocol):
    """Returns the budgets of a namespace."""

    def __call__(self, namespace: str) -> Sequence[DisruptionAllowance]:
        """The budgets of the namespace that select pods."""


def budget(found: SchedulerDisruptionBudget) -> DisruptionAllowance | None:
    """Compiles a budget; None if it selects nothing."""
    try:
        selector = compile_selector(found.spec.selector)
    except SelectorError:
        return None
    if found.spec.selector is None or not selector.requirements:
        return None
    return DisruptionAllowance(selector, found.status.disruptions_allowed, frozenset(found.status.disrupted_pods))


def violating_pods(pods: Sequence[PodInfo], budgets: DisruptionLister) -> frozenset[str]:
    """UIDs of the pods whose eviction, after that of the pods before them, violates a budget."""
    counted: dict[DisruptionAllowance, int] = {}
    violating = set[str]()
    for pod in pods:
        for each in budgets(pod.key.namespace):
            if pod.key.name in each.gone or not each.selector.matches(pod.labels):
                continue
            counted[each] = counted.get(each, 0) + 1
            if counted[each] > each.allowed:
                violating.add(pod.uid)
    return frozenset(violating)
