"""Whether an adjusted pod keeps within its own limits and the namespace's LimitRanges (SCH-124).

Amounts are compared in internal units, and only where both sides name the resource. Paths start at the pod spec.
"""

import json
from collections.abc import Iterator

from kohort.api.core.containers import ResourceRequirements
from kohort.api.core.pods import PodSpec
from kohort.api.fields import ROOT, FieldError, Path, invalid
from kohort.engine.requests.environment import Environment, TypeLimits
from kohort.engine.requests.lists import Amounts, amounts_of, combined

ABOVE_LIMITS = "requests must not exceed its limits"
ABOVE_MAXIMUM = "requests must not be above the limitRange max"
BELOW_MINIMUM = "requests must not be below the limitRange min"
_RULE = "SCH-124"


class ResourceNames(tuple[str, ...]):
    """Names that print as a JSON list."""

    __slots__ = ()

    def __str__(self) -> str:
        return json.dumps(self, separators=(",", ":"))


def limit_errors(spec: PodSpec) -> tuple[FieldError, ...]:
    """Requests above the limits that stand beside them (SCH-124.3)."""
    return tuple(
        error
        for path, resources in _requirements(spec)
        if resources.limits
        for error in _excess(path, amounts_of(resources.requests), amounts_of(resources.limits), ABOVE_LIMITS)
    )


def range_errors(spec: PodSpec, total: Amounts, environment: Environment) -> tuple[FieldError, ...]:
    """Containers, and the pod's total, outside what LimitRanges allow (SCH-124.4)."""
    return (
        *(
            error
            for path, resources in _container_requirements(spec)
            for error in _container_range_errors(path, resources, environment.container)
        ),
        *_excess(ROOT, total, environment.pod.maximum, ABOVE_MAXIMUM),
        *_excess(ROOT, environment.pod.minimum, total, BELOW_MINIMUM),
    )


def _requirements(spec: PodSpec) -> Iterator[tuple[Path, ResourceRequirements]]:
    yield from _container_requirements(spec)
    if spec.resources is not None:
        yield ROOT / "resources", spec.resources


def _container_requirements(spec: PodSpec) -> Iterator[tuple[Path, ResourceRequirements]]:
    for name, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for index, container in enumerate(containers):
            yield (ROOT / name)[index], container.resources


def _container_range_errors(path: Path, resources: ResourceRequirements, limits: TypeLimits) -> Iterator[FieldError]:
    if not limits.maximum and not limits.minimum:
        return
    requests, allowed = amounts_of(resources.requests), amounts_of(resources.limits)
    yield from _excess(path, combined(requests, allowed, max), limits.maximum, ABOVE_MAXIMUM)
    yield from _excess(path, limits.minimum, combined(requests, allowed, min), BELOW_MINIMUM)


def _excess(path: Path, amounts: Amounts, bounds: Amounts, message: str) -> Iterator[FieldError]:
    names = sorted(name for name, amount in amounts.items() if name in bounds and amount > bounds[name])
    if names:
        yield invalid(path, ResourceNames(names), message, _RULE)
