"""From a pod template to quota demand (docs/spec/scheduling.md §1).

Requests are whole billionths up to the last step, which rounds to internal units.
"""

from kohort.engine.requests.adjustment import adjusted
from kohort.engine.requests.demand import (
    PodSetDemand,
    count_after_reclaim,
    demands,
    per_pod_demand,
    resource_requests,
)
from kohort.engine.requests.environment import Environment, TypeLimits
from kohort.engine.requests.pod import pod_amounts, pod_request
from kohort.engine.requests.problems import resource_problem
from kohort.engine.requests.rules import RequestRules, Transformation
from kohort.engine.requests.usage import PodSetUsage, admitted_usage

__all__ = [
    "Environment",
    "PodSetDemand",
    "PodSetUsage",
    "RequestRules",
    "Transformation",
    "TypeLimits",
    "adjusted",
    "admitted_usage",
    "count_after_reclaim",
    "demands",
    "per_pod_demand",
    "pod_amounts",
    "pod_request",
    "resource_problem",
    "resource_requests",
]
