"""Partial views of PodDisruptionBudgets."""

from typing import ClassVar

from kohort.api.core.apps import CountOrPercentage
from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.meta import LabelSelector, Time
from kohort.api.resource import Resource
from kohort.api.struct import View


class DisruptionBudgetSpec(View):
    """Spec of a PodDisruptionBudget."""

    selector: LabelSelector | None = None
    min_available: CountOrPercentage | None = None
    max_unavailable: CountOrPercentage | None = None


class DisruptionBudgetStatus(View):
    """Status of a PodDisruptionBudget."""

    observed_generation: int = 0
    disrupted_pods: dict[str, Time] = {}
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    conditions: tuple[StatusCondition, ...] = ()


class DisruptionBudget(ObjectView):
    """A policy/v1 PodDisruptionBudget."""

    resource: ClassVar = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)

    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus = DisruptionBudgetStatus()
