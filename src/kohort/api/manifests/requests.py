"""Minimum requests of pods for warnings: resources, positions, and amounts.

The scheduler adds RuntimeClass overhead, LimitRange defaults and init containers; its sum is never smaller.
"""

from collections import Counter
from collections.abc import Iterator

from kohort.api.amounts import to_amount
from kohort.api.core.containers import ResourceRequirements
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.fields import Path
from kohort.api.markers import ResourceList

RequestTotals = Counter[str]
"""Amounts by resource; arithmetic of Counter drops amounts that are not positive."""


def least_request(spec: QuotaPodSpec) -> RequestTotals:
    """The minimum requests of one pod: of its containers, or of the pod level (SCH-110, SCH-111)."""
    side_by_side = sum((_asked(container.resources) for container in spec.containers), RequestTotals())
    own = _asked(spec.resources) if spec.resources else RequestTotals()
    return RequestTotals({name: own.get(name, amount) for name, amount in side_by_side.items()})


def requesting_fields(spec: QuotaPodSpec, path: Path) -> dict[str, Path]:
    """The first field with a request above zero of each resource."""
    fields: dict[str, Path] = {}
    for quantities, place in _resource_lists(spec, path):
        for name in +_amounts(quantities):
            fields.setdefault(name, place / name)
    return fields


def _resource_lists(spec: QuotaPodSpec, path: Path) -> Iterator[tuple[ResourceList, Path]]:
    for requirements, place in _requirements(spec, path):
        yield requirements.requests, place / "requests"
        yield (
            {name: raw for name, raw in requirements.limits.items() if name not in requirements.requests},
            place / "limits",
        )
    yield spec.overhead, path / "overhead"


def _requirements(spec: QuotaPodSpec, path: Path) -> Iterator[tuple[ResourceRequirements, Path]]:
    for index, container in enumerate(spec.containers):
        yield container.resources, (path / "containers")[index] / "resources"
    for index, container in enumerate(spec.init_containers):
        yield container.resources, (path / "initContainers")[index] / "resources"
    if spec.resources is not None:
        yield spec.resources, path / "resources"


def _asked(resources: ResourceRequirements) -> RequestTotals:
    """Limits are used for requests that are not set (SCH-122)."""
    return _amounts({**resources.limits, **resources.requests})


def _amounts(quantities: ResourceList) -> RequestTotals:
    return RequestTotals({name: to_amount(name, quantity) for name, quantity in quantities.items()})
