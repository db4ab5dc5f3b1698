"""The effective request of a running pod, as kube-scheduler counts it (TAS-27).

Pods are created from few templates: the request is computed once per distinct text of its resources, and shared.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec.structs import replace

from kohort.api.call_cache import MAX_CACHED_TEXT
from kohort.api.codec import decode
from kohort.api.core.containers import QuotaContainer, ResourceRequirements
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.markers import ResourceList
from kohort.api.quantity import Quantity
from kohort.engine.requests import pod_amounts

PODS: Final = "pods"
MAX_CACHED: Final = 4096


class ResourceTexts(NamedTuple):
    """The resources of a container as JSON: requested, and granted so far while a resize is pending."""

    requested: bytes
    restart_policy: str
    granted: bytes
    """`status.containerStatuses[].resources`."""
    allocated: bytes
    """`status.containerStatuses[].allocatedResources`."""


class PodRequestTexts(NamedTuple):
    """All texts on which the request of a pod depends."""

    containers: tuple[ResourceTexts, ...]
    init_containers: tuple[ResourceTexts, ...]
    overhead: bytes
    pod_level: bytes
    is_infeasible: bool
    """Whether the node can never grant the requested resize."""


def effective_amounts(texts: PodRequestTexts) -> Mapping[str, int]:
    """The request in internal units, with one `pods`; raises an ApiError if a quantity is invalid."""
    return _cached(texts) if _length(texts) <= MAX_CACHED_TEXT else _amounts(texts)


def _length(texts: PodRequestTexts) -> int:
    containers = (*texts.containers, *texts.init_containers)
    sizes = (len(each.requested) + len(each.granted) + len(each.allocated) for each in containers)
    return sum(sizes) + len(texts.overhead) + len(texts.pod_level)


def _amounts(texts: PodRequestTexts) -> Mapping[str, int]:
    spec = QuotaPodSpec(
        containers=tuple(_container(each, is_infeasible=texts.is_infeasible) for each in texts.containers),
        init_containers=tuple(_container(each, is_infeasible=texts.is_infeasible) for each in texts.init_containers),
        overhead=_list(texts.overhead),
        resources=decode(texts.pod_level, ResourceRequirements) if texts.pod_level else None,
    )
    return MappingProxyType({**pod_amounts(spec), PODS: 1})


_cached = lru_cache(maxsize=MAX_CACHED)(_amounts)


def _container(texts: ResourceTexts, *, is_infeasible: bool) -> QuotaContainer:
    requested = _requirements(texts.requested)
    granted = _greater(_requirements(texts.granted).requests, _list(texts.allocated))
    requests = granted if is_infeasible and granted else _greater(requested.requests, granted)
    return QuotaContainer(name="", resources=replace(requested, requests=requests), restart_policy=texts.restart_policy)


def _requirements(text: bytes) -> ResourceRequirements:
    return decode(text, ResourceRequirements) if text else ResourceRequirements()


def _list(text: bytes) -> ResourceList:
    return decode(text, dict) if text else {}


def _greater(one: ResourceList, other: ResourceList) -> ResourceList:
    """Per resource the greater quantity."""
    both = {name: max(one[name], other[name], key=_value) for name in one.keys() & other.keys()}
    return {**one, **other, **both}


def _value(quantity: str | int | float) -> int:
    return Quantity.parse(quantity).nanos
