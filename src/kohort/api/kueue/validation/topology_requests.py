"""Warnings about topology requests of Workloads that are valid and contradict themselves (TAS-13, TAS-14).

Jobs with such annotations are rejected; a Workload is accepted as in Kueue.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kohort.api.fields import ROOT, Path
from kohort.api.kueue.v1beta2.workload import PodSet, TopologyRequest, Workload

POD_SETS = ROOT / "spec" / "podSets"
NEVER = "the workload can't be admitted"


def topology_warnings(workload: Workload) -> list[str]:
    """Warnings for the user who creates the Workload."""
    pod_sets = workload.spec.pod_sets
    found = [
        warning
        for index, pod_set in enumerate(pod_sets)
        if pod_set.topology_request is not None
        for warning in _request_warnings(pod_set, pod_set.topology_request, POD_SETS[index] / "topologyRequest")
    ]
    return [*found, *_group_warnings(pod_sets)]


def _request_warnings(pod_set: PodSet, request: TopologyRequest, path: Path) -> Iterator[str]:
    modes = {"required": request.required, "preferred": request.preferred, "unconstrained": request.unconstrained}
    used, *ignored = [name for name, value in modes.items() if value] or [""]
    if ignored:
        yield f"{path}: {used} applies, {' and '.join(ignored)} is ignored: remove one of them"
    if request.pod_set_group_name and used not in ("required", "preferred"):
        yield f"{path / 'podSetGroupName'}: needs required or preferred beside it"
    yield from _slice_warnings(pod_set.count, request, path)


def _slice_warnings(count: int, request: TopologyRequest, path: Path) -> Iterator[str]:
    layers, size = request.slice_constraints, request.pod_set_slice_size
    if layers and size:
        yield f"{path / 'podSetSliceSize'}: ignored, since there are constraints: remove one of them"
    elif size and not _divides(size, count):
        yield f"{path / 'podSetSliceSize'}: {size} does not divide the number of pods, {count}: {NEVER}"
    place = path / "podsetSliceRequiredTopologyConstraints"
    if layers and not _divides(layers[0].size, count):
        yield f"{place[0] / 'size'}: {layers[0].size} does not divide the number of pods, {count}: {NEVER}"
    for index, (outer, inner) in enumerate(pairwise(layers), 1):
        if not _divides(inner.size, outer.size):
            yield f"{place[index] / 'size'}: {inner.size} does not divide {outer.size}, the layer above it: {NEVER}"


def _divides(size: int, count: int) -> bool:
    """Whether the slices are whole; the schema rejects sizes below 1."""
    return size < 1 or count % size == 0


def _group_warnings(pod_sets: Sequence[PodSet]) -> Iterator[str]:
    groups: dict[str, list[PodSet]] = {}
    for pod_set in pod_sets:
        name = pod_set.topology_request.pod_set_group_name if pod_set.topology_request is not None else None
        if name:
            groups.setdefault(name, []).append(pod_set)
    for name, members in groups.items():
        if len(members) > 2 or (len(members) == 2 and min(each.count for each in members) != 1):
            yield f"{POD_SETS}: group {name} must have two pod sets, one of them with a single pod: {NEVER}"
        elif len({_level(each) for each in members}) > 1:
            yield f"{POD_SETS}: group {name} has several levels: that of the larger pod set applies; use one"


def _level(pod_set: PodSet) -> tuple[str | None, str | None]:
    request = pod_set.topology_request
    return (request.required, request.preferred) if request is not None else (None, None)
