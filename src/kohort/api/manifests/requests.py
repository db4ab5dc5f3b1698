"""What the pods of a template ask for, as far as a warning needs it: which resources, where, and how much at least.

The scheduler's own sum adds what runtime classes, limit ranges and init containers bring; it is never below this one.
"""

from collections import Counter
from collections.abc import Iterator

from kohort.api.amounts import to_amount
from kohort.api.core.containers import ResourceRequirements
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.fields import Path
from kohort.api.markers import ResourceList

Amounts = Counter[str]
"""Amounts by resource; the counter's own arithmetic leaves out what is not above zero."""


def least_request(spec: QuotaPodSpec) -> Amounts:
    """What one pod takes at least: its containers side by side, or the pod's own figures (SCH-110, SCH-111)."""
    side_by_side = sum((_asked(container.resources) for container in spec.containers), Amounts())
    own = _asked(spec.resources) if spec.resources else Amounts()
    return Amounts({name: own.get(name, amount) for name, amount in side_by_side.items()})


def requesting_fields(spec: QuotaPodSpec, path: Path) -> dict[str, Path]:
    """The first field that asks for more than nothing of each resource."""
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


def _asked(resources: ResourceRequirements) -> Amounts:
    """Limits stand in for requests that are not given (SCH-122)."""
    return _amounts({**resources.limits, **resources.requests})


def _amounts(quantities: ResourceList) -> Amounts:
    return Amounts({name: to_amount(name, quantity) for name, quantity in quantities.items()})
