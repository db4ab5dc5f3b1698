"""Computes the status of a PodDisruptionBudget from its pods; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kohort.api.conditions import find
from kohort.api.core.objects import StatusCondition
from kohort.embedded.controllers.disruption.views import DisruptionBudget, DisruptionBudgetStatus
from kohort.embedded.controllers.shares import rounded_up
from kohort.embedded.controllers.views import ControllerPod

ALLOWED = "DisruptionAllowed"
EVICTION_TIMEOUT = timedelta(minutes=2)
"""How long a granted eviction counts while its pod has not been deleted."""


@dataclass(frozen=True, slots=True)
class HealthyPodDemand:
    """Expected pods and desired healthy pods."""

    expected: int
    healthy: int


@dataclass(frozen=True, slots=True)
class DisruptionPlan:
    """A status with follow-up actions."""

    status: DisruptionBudgetStatus
    overdue: tuple[ControllerPod, ...] = ()
    """Pods whose eviction was granted long ago and that still exist."""
    recheck: datetime | None = None
    """When the next granted eviction becomes overdue."""


def counts_by_scale(budget: DisruptionBudget) -> bool:
    """Whether the expected count is the scale of the pods' controllers rather than the number of pods."""
    return budget.spec.max_unavailable is not None or isinstance(budget.spec.min_available, str)


def demand(budget: DisruptionBudget, expected: int) -> HealthyPodDemand:
    """Desired healthy pods for a number of expected pods."""
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
    kept = {name: since for name, since in due.items() if since + EVICTION_TIMEOUT >= now}
    healthy = sum(pod.is_ready and not pod.is_terminating and not _is_evicting(pod, kept, now) for pod in pods)
    allowed = max(0, healthy - wanted.healthy) if wanted.expected > 0 else 0
    status = DisruptionBudgetStatus(
        observed_generation=budget.metadata.generation,
        disrupted_pods=kept,
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=wanted.healthy,
        expected_pods=wanted.expected,
        conditions=_with(budget, _allowed_condition(budget, allowed, now)),
    )
    overdue = tuple(pod for pod in pods if pod.metadata.name in due and pod.metadata.name not in kept)
    return DisruptionPlan(status, overdue, min(kept.values()) + EVICTION_TIMEOUT if kept else None)


def failed(budget: DisruptionBudget, why: str, now: datetime) -> DisruptionBudgetStatus:
    """The status if the expected count cannot be determined: no disruptions are allowed."""
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
    return pod.metadata.name in granted and not pod.is_terminating


def _is_evicting(pod: ControllerPod, kept: dict[str, datetime], now: datetime) -> bool:
    since = kept.get(pod.metadata.name)
    return since is not None and since + EVICTION_TIMEOUT > now


def _allowed_condition(budget: DisruptionBudget, allowed: int, now: datetime) -> StatusCondition:
    if allowed > 0:
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
