"""Requests, problems and equivalence of workloads, read once for all with identical inputs.

Many Workloads have few distinct specs: identical ones share one result, which saves CPU time and memory.
"""

from typing import Final, NamedTuple

import msgspec

from kohort.api.call_cache import MAX_CACHED_TEXT
from kohort.api.errors import ApiError
from kohort.api.gates import Gate
from kohort.api.kueue import v1beta2
from kohort.api.kueue.v1beta2.workload import ReclaimablePod, TopologyRequest
from kohort.engine.equivalence import equivalence
from kohort.engine.records import NO_AMOUNTS, PodSetDevices, PodSetResources, WorkloadInfo
from kohort.engine.requests.demand import demands, is_elastic, one_pod, topology_requested
from kohort.engine.requests.environment import Environment
from kohort.engine.requests.problems import resource_problem
from kohort.engine.settings import EngineSettings

MOST_REMEMBERED: Final = 4096


class WorkloadRequests(msgspec.Struct, frozen=True):
    """The cached result."""

    pod_sets: tuple[PodSetResources, ...]
    problem: str
    """What is wrong with the requests themselves (SCH-124)."""
    equivalence: str
    """Scheduling equivalence hash (SCH-250); empty if it is disabled."""
    requests_topology: bool = False
    """Whether a pod set has a topology request (TAS-34)."""


class RequestKey(NamedTuple):
    """All inputs of the result besides the settings."""

    pod_sets: tuple[tuple[str, bytes, int, int | None, TopologyRequest | None], ...]
    reclaimable: tuple[ReclaimablePod, ...]
    is_elastic: bool
    priority: int
    allowed_flavors: frozenset[str] | None
    is_replacement: bool
    devices: tuple[PodSetDevices, ...]
    environment: Environment


class RequestCache:
    """Caches the requests of each distinct workload."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._answers: dict[RequestKey, WorkloadRequests] = {}

    def read(self, workload: WorkloadInfo, thing: v1beta2.Workload, environment: Environment) -> WorkloadRequests:
        """The requests of the object; the other fields of the workload must have been set before."""
        shape = RequestKey(
            tuple([(p.name, p.asking, p.count, p.min_count, p.topology_request) for p in thing.spec.pod_sets]),
            thing.status.reclaimable_pods,
            is_elastic(thing, self._settings.gates),
            workload.priority,
            workload.allowed_flavors,
            workload.replaces is not None,
            workload.devices,
            environment,
        )
        known = self._answers.get(shape)
        if known is None:
            if len(self._answers) >= MOST_REMEMBERED:
                self._answers.clear()
            known = self._read_anew(thing, shape)
            if all(len(asking) <= MAX_CACHED_TEXT for _, asking, *_ in shape.pod_sets):
                self._answers[shape] = known
        return known

    def _read_anew(self, thing: v1beta2.Workload, shape: RequestKey) -> WorkloadRequests:
        gates, environment = self._settings.gates, shape.environment
        problem = resource_problem(thing, environment) or ""
        try:
            devices = {name: dict(amounts) for name, amounts in shape.devices}
            asked = demands(thing, self._settings.requests, environment, gates, devices)
        except ApiError:
            # An unreadable template becomes the workload's obstacle when it is a head; others are not affected.
            return WorkloadRequests((), problem, "")
        with_topology = gates.enabled(Gate.TopologyAwareScheduling)
        pod_sets = tuple(
            PodSetResources(
                each.name,
                each.count,
                each.spec_count,
                each.min_count,
                each.per_pod,
                pod_set.pod_template,
                (pod_set.topology_request.pod_set_group_name or "") if pod_set.topology_request else "",
                topology_requested(pod_set) if with_topology else None,
                one_pod(pod_set, environment) if with_topology else NO_AMOUNTS,
            )
            for each, pod_set in zip(asked, thing.spec.pod_sets, strict=True)
        )
        requests_topology = any(each.topology is not None for each in pod_sets)
        # The requests of a replacement depend on the slice it replaces, so it is equivalent to no other (§14).
        if shape.is_replacement or not gates.enabled(Gate.SchedulingEquivalenceHashing):
            return WorkloadRequests(pod_sets, problem, "", requests_topology)
        same = equivalence(thing, shape.priority, asked, environment, shape.allowed_flavors)
        return WorkloadRequests(pod_sets, problem, same, requests_topology)
