"""Groups of pod sets that are placed together, and their placement requests (TAS-38 to TAS-43)."""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from kohort.api.core.pods import NO_ASKING_PODS, QuotaPodSpec
from kohort.api.kueue.v1beta2.workload import AdmissionCheckState, PodSetUpdate, TopologyRequest
from kohort.api.meta import Toleration
from kohort.engine.placement.search import PlacedGroup, PodSetDomains, count_pods
from kohort.engine.records import PodSetResources
from kohort.engine.topology import (
    AssumedUsage,
    CapacityMode,
    DomainCounter,
    FailedNode,
    FlavorDomains,
    GroupPlacement,
    PlacementFailure,
    PlacementRequest,
    PreparedRequest,
    SliceLayer,
    TopologyDomains,
    node_matcher,
)

NO_REQUEST = TopologyRequest()


class LostPods(msgspec.Struct, frozen=True):
    """Failed nodes of placed pods."""

    existing: TopologyDomains
    nodes: tuple[FailedNode, ...]


class PodsToPlace(msgspec.Struct, frozen=True):
    """The pods of one pod set to be placed."""

    pod_set: PodSetResources
    count: int
    spec: QuotaPodSpec
    """The pods once Ready checks have changed them."""
    lost: LostPods | None = None
    """Set if some of its nodes failed."""


class GangPlacement(msgspec.Struct, frozen=True):
    """A pod set alone, or the workers and the leader of a pod set group (TAS-42)."""

    topology: FlavorDomains
    request: PlacementRequest
    prepared: PreparedRequest | PlacementFailure
    latest: dict[CapacityMode, tuple[GroupPlacement, PlacedGroup]] = {}
    """The last placement of each mode with its counters; the same one is often found again."""

    @property
    def pod_set(self) -> str:
        """The workers."""
        return self.request.pod_set

    def place(self, assumed: AssumedUsage, mode: CapacityMode) -> PlacedGroup | PlacementFailure:
        """Place the pods."""
        found = self.topology.place_prepared(self.prepared, assumed, mode=mode)
        if isinstance(found, PlacementFailure):
            return found
        latest = self.latest.get(mode)
        if latest is None or latest[0] is not found:
            counters = self._counters(found)
            latest = self.latest[mode] = found, PlacedGroup(self._by_pod_set(found), counters, counters)
        return latest[1]

    def keep(self, assumed: AssumedUsage) -> None:
        """All pods are new."""

    def _counters(self, placed: GroupPlacement) -> Mapping[DomainCounter, int]:
        counters: dict[DomainCounter, int] = {}
        count_pods(counters, self.topology, placed.workers, self.request.per_pod)
        if placed.leader is not None:
            count_pods(counters, self.topology, placed.leader, self.request.leader_per_pod)
        return counters

    def _by_pod_set(self, placed: GroupPlacement) -> PodSetDomains:
        if placed.leader is None:
            return {self.request.pod_set: placed.workers}
        return {self.request.pod_set: placed.workers, self.request.leader: placed.leader}


def placement_request(members: list[PodsToPlace], tolerations: tuple[Toleration, ...]) -> PlacementRequest:
    """The request of one pod set, or of two with one of them as the leader (TAS-42)."""
    workers, leader = members[0], members[1] if len(members) > 1 else None
    if leader is not None and leader.count > workers.count:
        workers, leader = leader, workers
    request = workers.pod_set.topology or NO_REQUEST
    return PlacementRequest(
        pod_set=workers.pod_set.name,
        count=workers.count,
        per_pod=workers.pod_set.one_pod,
        leader=leader.pod_set.name if leader else "",
        leader_per_pod=leader.pod_set.one_pod if leader else {},
        required=request.required or "",
        preferred=request.preferred or "",
        unconstrained=bool(request.unconstrained),
        is_implicit=workers.pod_set.topology is None,
        layers=_layers(request),
        matcher=node_matcher(workers.spec, tolerations),
    )


def group_problem(members: list[PodsToPlace]) -> str:
    """What is wrong with a pod set group; jobs are validated, Workloads by hand are not (TAS-14)."""
    if len(members) == 1 or (len(members) == 2 and min(each.count for each in members) == 1):
        return ""
    name = members[0].pod_set.group
    return f'pod set group "{name}" must have two pod sets, one of them with a single pod'


def elastic_problem(request: TopologyRequest | None) -> str:
    """Why pods of an elastic workload can't be placed: they may be at any level (TAS-66)."""
    if request is None or not (request.required or request.preferred):
        return ""
    kind = "required" if request.required else "preferred"
    return f"{kind} topology is not supported with ElasticJobsViaWorkloadSlices"


def _layers(request: TopologyRequest) -> tuple[SliceLayer, ...]:
    if request.slice_constraints:
        return tuple(SliceLayer(each.topology, each.size) for each in request.slice_constraints)
    topology = request.pod_set_slice_required_topology
    return (SliceLayer(topology, request.pod_set_slice_size or 0),) if topology else ()


def updated_spec(pod_set: PodSetResources, checks: Iterable[AdmissionCheckState]) -> QuotaPodSpec | str:
    """The pods once Ready checks have changed them; a problem where these conflict (TAS-43)."""
    spec = pod_set.template.spec if pod_set.template else NO_ASKING_PODS
    for check in checks:
        for update in check.pod_set_updates if check.state == "Ready" else ():
            if update.name == pod_set.name:
                updated = _updated(spec, update)
                if isinstance(updated, str):
                    return f"invalid podSetUpdate for PodSet {pod_set.name}, error: {updated}"
                spec = updated
    return spec


def _updated(spec: QuotaPodSpec, update: PodSetUpdate) -> QuotaPodSpec | str:
    for key, value in update.node_selector.items():
        before = spec.node_selector.get(key, value)
        if before != value:
            conflict = f"conflict for key={key}, value1={before}, value2={value}"
            return f"invalid admission check PodSetUpdate: conflict for nodeSelector: {conflict}"
    return replace(
        spec,
        node_selector={**spec.node_selector, **update.node_selector},
        tolerations=(*spec.tolerations, *update.tolerations),
    )
