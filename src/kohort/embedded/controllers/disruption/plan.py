"""The status of a disruption budget as a function of its pods; pure, so that each case is one line to test."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kohort.api.conditions import find
from kohort.api.core.objects import StatusCondition
from kohort.embedded.controllers.disruption.views import DisruptionBudget, DisruptionBudgetStatus
from kohort.embedded.controllers.shares import rounded_up
from kohort.embedded.controllers.views import ControllerPod

ALLOWED = "DisruptionAllowed"
PATIENCE = timedelta(minutes=2)
"""How long an eviction that was granted counts against the budget while its pod has not been deleted."""


@dataclass(frozen=True, slots=True)
class HealthyPodDemand:
    """How many pods there should be, and how many of them healthy."""

    expected: int
    healthy: int


@dataclass(frozen=True, slots=True)
class DisruptionPlan:
    """A status, and what follows from it."""

    status: DisruptionBudgetStatus
    overdue: tuple[ControllerPod, ...] = ()
    """Pods whose eviction was granted long ago, and that are still here."""
    recheck: datetime | None = None
    """When the next granted eviction is overdue."""


def counts_by_scale(budget: DisruptionBudget) -> bool:
    """Whether the demand depends on how many pods their owners want, and not on how many there are."""
    return budget.spec.max_unavailable is not None or isinstance(budget.spec.min_available, str)


def demand(budget: DisruptionBudget, expected: int) -> HealthyPodDemand:
    """What a budget asks for, of so many expected pods."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        return HealthyPodDemand(expected, max(0, expected - rounded_up(spec.max_unavailable, expected)))
    if spec.min_available is not None:
        return HealthyPodDemand(expected, rounded_up(spec.min_available, expected))
    return HealthyPodDemand(0, 0)


def plan(
    budget: DisruptionBudget, pods: Sequence[ControllerPod], wanted: HealthyPodDemand, now: datetime
) -> DisruptionPlan:
    """The status that a budget should have."""
    granted = budget.status.disrupted_pods
    due = {pod.metadata.name: granted[pod.metadata.name] for pod in pods if _is_awaited(pod, granted)}
    kept = {name: since for name, since in due.items() if since + PATIENCE >= now}
    healthy = sum(pod.is_ready and not pod.is_leaving and not _goes_soon(pod, kept, now) for pod in pods)
    room = max(0, healthy - wanted.healthy) if wanted.expected > 0 else 0
    status = DisruptionBudgetStatus(
        observed_generation=budget.metadata.generation,
        disrupted_pods=kept,
        disruptions_allowed=room,
        current_healthy=healthy,
        desired_healthy=wanted.healthy,
        expected_pods=wanted.expected,
        conditions=_with(budget, _room_condition(budget, room, now)),
    )
    overdue = tuple(pod for pod in pods if pod.metadata.name in due and pod.metadata.name not in kept)
    return DisruptionPlan(status, overdue, min(kept.values()) + PATIENCE if kept else None)


def failed(budget: DisruptionBudget, why: str, now: datetime) -> DisruptionBudgetStatus:
    """The status when nobody can tell how many pods there should be: nothing may go."""
    condition = _condition(budget, "False", "SyncFailed", why, now)
    old = budget.status
    return DisruptionBudgetStatus(
        observed_generation=old.observed_generation,
        disrupted_pods=old.disrupted_pods,
        disruptions_allowed=0,
        current_healthy=old.current_healthy,
        desired_healthy=old.desired_healthy,
        expected_pods=old.expected_pods,
        conditions=_with(budget, condition),
    )


def _is_awaited(pod: ControllerPod, granted: dict[str, datetime]) -> bool:
    return pod.metadata.name in granted and not pod.is_leaving


def _goes_soon(pod: ControllerPod, kept: dict[str, datetime], now: datetime) -> bool:
    since = kept.get(pod.metadata.name)
    return since is not None and since + PATIENCE > now


def _room_condition(budget: DisruptionBudget, room: int, now: datetime) -> StatusCondition:
    if room > 0:
        return _condition(budget, "True", "SufficientPods", "", now)
    return _condition(budget, "False", "InsufficientPods", "", now)


def _condition(budget: DisruptionBudget, status: str, reason: str, message: str, now: datetime) -> StatusCondition:
    old = find(budget.status.conditions, ALLOWED)
    same = old is not None and old.status == status
    return StatusCondition(
        type=ALLOWED,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=old.last_transition_time if old is not None and same else now.replace(microsecond=0),
        observed_generation=budget.metadata.generation,
    )


def _with(budget: DisruptionBudget, new: StatusCondition) -> tuple[StatusCondition, ...]:
    others = tuple(each for each in budget.status.conditions if each.type != ALLOWED)
    return (*others, new)
