"""Which of several pods would break a disruption budget if they all went."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kohort.api.selectors import Selector, SelectorError, compile_selector
from kohort.embedded.scheduler.cache import PodInfo
from kohort.embedded.scheduler.views import SeenBudget


@dataclass(frozen=True, slots=True)
class DisruptionAllowance:
    """How many of which pods may go."""

    selector: Selector
    allowed: int
    gone: frozenset[str]
    """Names of pods that are counted already."""


class DisruptionLister(Protocol):
    """The budgets of a namespace."""

    def __call__(self, namespace: str) -> Sequence[DisruptionAllowance]:
        """All that select something."""


def budget(found: SeenBudget) -> DisruptionAllowance | None:
    """A budget read; None for one that selects nothing."""
    try:
        selector = compile_selector(found.spec.selector)
    except SelectorError:
        return None
    if found.spec.selector is None or not selector.requirements:
        return None
    return DisruptionAllowance(selector, found.status.disruptions_allowed, frozenset(found.status.disrupted_pods))


def violating_pods(pods: Sequence[PodInfo], budgets: DisruptionLister) -> frozenset[str]:
    """The pods (by uid) whose going, after those before them, a budget does not allow."""
    spent: dict[DisruptionAllowance, int] = {}
    broken = set[str]()
    for pod in pods:
        for each in budgets(pod.key.namespace):
            if pod.key.name in each.gone or not each.selector.matches(pod.labels):
                continue
            spent[each] = spent.get(each, 0) + 1
            if spent[each] > each.allowed:
                broken.add(pod.uid)
    return frozenset(broken)
