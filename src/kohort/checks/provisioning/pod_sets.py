"""The pod sets of a request: those that need nodes, with the templates of their pods (MK-19, MK-22, MK-23)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kohort.api.codec import JsonObject, decode_json, to_json
from kohort.api.kueue.v1beta2 import ResourceFlavor, Workload
from kohort.api.kueue.v1beta2.checks import ProvisioningRequestConfigSpec
from kohort.api.kueue.v1beta2.workload import PodSetAssignment

_CONTAINERS: Final = ("containers", "initContainers")
_SCHEDULING: Final = ("resources", "nodeSelector", "tolerations", "affinity", "resourceClaims")
"""Fields of a pod spec that decide which nodes its pods need, besides the requests of containers."""


@dataclass(frozen=True, slots=True)
class RequestedPodSet:
    """One pod set of a request."""

    name: str
    members: tuple[str, ...]
    """The pod sets of the Workload that it stands for."""
    count: int
    template: JsonObject


def requested_pod_sets(
    workload: Workload, config: ProvisioningRequestConfigSpec, flavors: Callable[[str], ResourceFlavor | None]
) -> list[RequestedPodSet]:
    """The pod sets that need nodes, merged by the policy; empty if none does."""
    found: list[RequestedPodSet] = []
    for each in _relevant(workload, config.managed_resources, flavors):
        same = next((at for at, other in enumerate(found) if _are_merged(config, other, each)), None)
        if same is None:
            found.append(each)
        else:
            first = found[same]
            found[same] = replace(first, members=(*first.members, each.name), count=first.count + each.count)
    return found


def _relevant(
    workload: Workload, managed: Iterable[str], flavors: Callable[[str], ResourceFlavor | None]
) -> Iterator[RequestedPodSet]:
    wanted = set(managed)
    admission = workload.status.admission
    assigned = {each.name: each for each in admission.pod_set_assignments} if admission is not None else {}
    for each in workload.spec.pod_sets:
        template: JsonObject = decode_json(each.template)
        assignment = assigned.get(each.name, PodSetAssignment(name=each.name))
        count = each.count if assignment.count is None else assignment.count
        if count > 0 and (not wanted or wanted & set(_resources(template))):
            yield RequestedPodSet(each.name, (each.name,), count, _completed(template, assignment, flavors))


def _resources(template: JsonObject) -> Iterator[str]:
    """The names of resources in requests and limits of containers."""
    for container in _containers(template):
        resources = container.get("resources") or {}
        for part in ("requests", "limits"):
            yield from resources.get(part) or ()


def _containers(template: JsonObject) -> Iterator[dict[str, Any]]:
    spec = template.get("spec") or {}
    return (container for part in _CONTAINERS for container in spec.get(part) or ())


def _completed(
    template: JsonObject, assignment: PodSetAssignment, flavors: Callable[[str], ResourceFlavor | None]
) -> JsonObject:
    """The template with node labels and tolerations of its flavors, and limits as missing requests, in place."""
    spec = template.setdefault("spec", {})
    for name in dict.fromkeys(assignment.flavors[resource] for resource in sorted(assignment.flavors)):
        flavor = flavors(name)
        if flavor is not None:
            _add(spec, flavor)
    for container in _containers(template):
        resources = container.get("resources") or {}
        if resources.get("limits"):
            container["resources"] = {
                **resources,
                "requests": {**resources["limits"], **(resources.get("requests") or {})},
            }
    return template


def _add(spec: dict[str, Any], flavor: ResourceFlavor) -> None:
    if flavor.spec.node_labels:
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **flavor.spec.node_labels}
    present = spec.get("tolerations") or []
    missing = [each for each in map(to_json, flavor.spec.tolerations) if each not in present]
    if missing:
        spec["tolerations"] = [*present, *missing]


def _are_merged(config: ProvisioningRequestConfigSpec, one: RequestedPodSet, other: RequestedPodSet) -> bool:
    match config.pod_set_merge_policy:
        case "IdenticalPodTemplates":
            return one.template == other.template
        case "IdenticalWorkloadSchedulingRequirements":
            return _requirements(one.template) == _requirements(other.template)
        case _:
            return False


def _requirements(template: JsonObject) -> Sequence[Any]:
    """What decides which nodes the pods need."""
    spec: Mapping[str, Any] = template.get("spec") or {}
    requests = [
        [(each.get("resources") or {}).get("requests") or {} for each in spec.get(part) or ()] for part in _CONTAINERS
    ]
    return [*requests, *(spec.get(name) or None for name in _SCHEDULING)]
