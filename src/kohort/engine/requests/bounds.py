"""Whether an adjusted pod keeps within its own limits and the namespace's LimitRanges (SCH-124).

Amounts are compared in internal units, and only where both sides name the resource. Paths start at the pod spec.
"""

import json
from collections.abc import Iterator

from kohort.api.amounts import to_amount
from kohort.api.core.containers import ResourceRequirements
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.fields import ROOT, FieldError, Path, invalid
from kohort.engine.requests.environment import Environment, TypeLimits
from kohort.engine.requests.lists import Nanos, ResourceAmounts, amounts_from, amounts_of, combined

ABOVE_LIMITS = "requests must not exceed its limits"
ABOVE_MAXIMUM = "requests must not be above the limitRange max"
BELOW_MINIMUM = "requests must not be below the limitRange min"
_RULE = "SCH-124"


class ResourceNames(tuple[str, ...]):
    """Names that print as a JSON list."""

    __slots__ = ()

    def __str__(self) -> str:
        return json.dumps(self, separators=(",", ":"))


def limit_errors(spec: QuotaPodSpec) -> tuple[FieldError, ...]:
    """Requests above the limits of the same container (SCH-124.3)."""
    requirements = _container_requirements(spec)
    if spec.resources is not None:
        requirements.append(("resources", spec.resources))
    return tuple(
        invalid(Path(place), names, ABOVE_LIMITS, _RULE)
        for place, resources in requirements
        if (names := _above_limits(resources))
    )


def _above_limits(resources: ResourceRequirements) -> ResourceNames:
    requests = resources.requests
    return ResourceNames(
        sorted(
            name
            for name, limit in resources.limits.items()
            if requests.get(name, limit) != limit and to_amount(name, requests[name]) > to_amount(name, limit)
        )
    )


def range_errors(spec: QuotaPodSpec, request: Nanos, environment: Environment) -> tuple[FieldError, ...]:
    """Containers, and the pod's whole request, outside what LimitRanges allow (SCH-124.4)."""
    errors: list[FieldError] = []
    if environment.container.has_bounds:
        for place, resources in _container_requirements(spec):
            requests, limits = amounts_of(resources.requests), amounts_of(resources.limits)
            lowest, highest = combined(requests, limits, min), combined(requests, limits, max)
            errors += _outside(Path(place), lowest, highest, environment.container)
    if environment.pod.has_bounds:
        total = amounts_from(request)
        errors += _outside(ROOT, total, total, environment.pod)
    return tuple(errors)


def _outside(path: Path, lowest: ResourceAmounts, highest: ResourceAmounts, limits: TypeLimits) -> Iterator[FieldError]:
    if above := _greater(highest, limits.maximum):
        yield invalid(path, above, ABOVE_MAXIMUM, _RULE)
    if below := _greater(limits.minimum, lowest):
        yield invalid(path, below, BELOW_MINIMUM, _RULE)


def _greater(left: ResourceAmounts, right: ResourceAmounts) -> ResourceNames:
    return ResourceNames(sorted(name for name, amount in left.items() if name in right and amount > right[name]))


def _container_requirements(spec: QuotaPodSpec) -> list[tuple[str, ResourceRequirements]]:
    return [
        *((f"initContainers[{index}]", each.resources) for index, each in enumerate(spec.init_containers)),
        *((f"containers[{index}]", each.resources) for index, each in enumerate(spec.containers)),
    ]
