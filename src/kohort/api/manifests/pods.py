"""Validation of pods and pod templates of any kind.

Only what every API server rejects: the versions of servers differ.
"""

from collections.abc import Iterator

from kohort.api.core.containers import Container, ResourceRequirements
from kohort.api.core.pods import PodSpec
from kohort.api.fields import FieldError, Path, duplicate, invalid, not_supported, required
from kohort.api.markers import RawQuantity, ResourceList
from kohort.api.names import check_label, check_qualified_name, label_errors
from kohort.api.quantity import NANO, Quantity, QuantityError

ANY_RESTART = ("Always", "OnFailure", "Never")
ENDLESS = ("Always",)
FINITE = ("OnFailure", "Never")

_DEFAULT_RESTART = "Always"
_STANDARD_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_RESOURCE_NAMES = "write cpu, memory, ephemeral-storage, hugepages-<size> or a name with a domain, e.g. nvidia.com/gpu"


def pod_errors(spec: PodSpec, path: Path, restart_policies: tuple[str, ...]) -> list[FieldError]:
    """Errors of a pod, or of the pods of a template."""
    return [
        *_container_list_errors(spec, path),
        *_restart_policy_errors(spec, path / "restartPolicy", restart_policies),
        *label_errors(spec.node_selector, path / "nodeSelector"),
        *(_amount_errors(spec.resources, path / "resources") if spec.resources else ()),
        *_quantity_errors(spec.overhead, path / "overhead"),
    ]


def _restart_policy_errors(spec: PodSpec, path: Path, allowed: tuple[str, ...]) -> Iterator[FieldError]:
    if not spec.restart_policy and _DEFAULT_RESTART not in allowed:
        yield required(path, f"use {' or '.join(allowed)}; the default, {_DEFAULT_RESTART}, prevents completion")
    elif spec.restart_policy and spec.restart_policy not in allowed:
        yield not_supported(path, spec.restart_policy, allowed)


def _container_list_errors(spec: PodSpec, path: Path) -> Iterator[FieldError]:
    if not spec.containers:
        yield required(path / "containers", "a pod needs at least one container")
    seen: set[str] = set()
    for name, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            yield from _container_errors(container, (path / name)[index], seen)
            seen.add(container.name)


def _container_errors(container: Container, path: Path, seen: set[str]) -> Iterator[FieldError]:
    problem = check_label(container.name)
    if problem:
        yield invalid(path / "name", container.name, problem)
    if container.name in seen:
        yield duplicate(path / "name", container.name, "each container of a pod has its own name")
    yield from _resource_name_errors(container.resources, path / "resources")
    yield from _amount_errors(container.resources, path / "resources")


# Resources


def _resource_name_errors(resources: ResourceRequirements, path: Path) -> Iterator[FieldError]:
    for part, names in (("requests", resources.requests), ("limits", resources.limits)):
        for name in names:
            if "/" not in name and name not in _STANDARD_RESOURCES and not name.startswith(_HUGE_PAGES):
                yield invalid(path / part / name, name, f"no such resource; {_RESOURCE_NAMES}")
            elif problem := check_qualified_name(name):
                yield invalid(path / part / name, name, problem)


def _amount_errors(resources: ResourceRequirements, path: Path) -> Iterator[FieldError]:
    unreadable = [
        *_quantity_errors(resources.requests, path / "requests"),
        *_quantity_errors(resources.limits, path / "limits"),
    ]
    yield from unreadable or _limit_errors(resources, path)


def _quantity_errors(quantities: ResourceList, path: Path) -> Iterator[FieldError]:
    for name, raw in quantities.items():
        problem = _quantity_problem(name, raw)
        if problem:
            yield invalid(path / name, raw, problem)


def _quantity_problem(resource: str, raw: RawQuantity) -> str:
    try:
        quantity = Quantity.parse(raw)
    except QuantityError as error:
        return str(error)
    if quantity.nanos < 0:
        return "must be 0 or more"
    if _is_extended(resource) and quantity.nanos % NANO:
        return f"must be a whole number: {resource} is not divisible"
    return ""


def _limit_errors(resources: ResourceRequirements, path: Path) -> Iterator[FieldError]:
    """Requests must not exceed limits, and must equal them if a resource cannot be overcommitted (SCH-124)."""
    for name, raw in resources.requests.items():
        limit = resources.limits.get(name)
        fixed = _is_extended(name) or name.startswith(_HUGE_PAGES)
        if limit is None:
            if fixed:
                yield required(path / "limits" / name, f"set it to the request, {raw}: {name} cannot be overcommitted")
        elif fixed and Quantity.parse(raw) != Quantity.parse(limit):
            yield invalid(
                path / "requests" / name, raw, f"must equal the limit, {limit}: {name} cannot be overcommitted"
            )
        elif Quantity.parse(raw) > Quantity.parse(limit):
            yield invalid(path / "requests" / name, raw, f"must not exceed the limit, {limit}", "SCH-124")


def _is_extended(resource: str) -> bool:
    return "/" in resource and "kubernetes.io/" not in resource
