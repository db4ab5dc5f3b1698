"""Ungates the pods of a Workload with a topology assignment, each with its domain as node selector (TAS-94)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.gates import Gate
from kohort.api.kueue.slices import expand
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.flavors import HOSTNAME_LABEL
from kohort.api.kueue.v1beta2.workload import PodSetAssignment, TopologyAssignment
from kohort.engine.lifecycle.pods_ready import is_variant
from kohort.jobs.effects import PatchObject, RecordEvent, key_of, record_event
from kohort.jobs.errors import RetryError
from kohort.jobs.frameworks.pods.writes import drop_gates
from kohort.jobs.keys import ELASTIC_GATE, POD_INDEX_OFFSET_ANNOTATION, TOPOLOGY_GATE
from kohort.jobs.objects import annotations, gates, is_terminating, whole_number
from kohort.jobs.ungating.chains import has_ended, in_pod_set
from kohort.jobs.ungating.domains import PodDomain, assign_domains, is_gated
from kohort.jobs.ungating.policy import GatePolicy
from kohort.jobs.ungating.ranks import RankScheme, rank_schemes

CONFLICT = "TopologyDomainConflict"


class TopologyGatePolicy(GatePolicy):
    """Pods of Workloads with a topology assignment, each in its domain."""

    gate: ClassVar[str] = TOPOLOGY_GATE
    feature: ClassVar[Gate] = Gate.TopologyAwareScheduling
    controller: ClassVar[str] = "tas-topology-ungater"
    manager: ClassVar[str] = "kueue-tas-topology-ungater"

    def applies(self, workload: Workload) -> bool:
        """Whether a pod set has a topology assignment; pods belong to parents, never to variants (TAS-93)."""
        admission = workload.status.admission
        if admission is None or is_variant(workload):
            return False
        return any(each.topology_assignment is not None for each in admission.pod_set_assignments)

    def ungate(self, workload: Workload, pods: Sequence[JsonObject]) -> list[PatchObject | RecordEvent]:
        """Patches of the pods to ungate; raises RetryError for an invalid index offset (TAS-99)."""
        admission, schemes = workload.status.admission, rank_schemes(workload)
        unhealthy = frozenset(node.name for node in workload.status.unhealthy_nodes)
        living = [pod for pod in pods if _is_counted(pod)]
        return [
            effect
            for assigned in (admission.pod_set_assignments if admission is not None else ())
            for effect in _ungate_set(assigned, living, schemes, unhealthy)
        ]


def _is_counted(pod: JsonObject) -> bool:
    """Whether a pod has a domain or needs one: not before its slice is admitted, nor once it is deleted (TAS-94)."""
    if has_ended(pod):
        return False
    return not is_gated(pod) or not (is_terminating(pod) or ELASTIC_GATE in gates(pod))


def _ungate_set(
    assigned: PodSetAssignment,
    pods: Sequence[JsonObject],
    schemes: Mapping[str, RankScheme],
    unhealthy: frozenset[str],
) -> Iterator[PatchObject | RecordEvent]:
    topology = assigned.topology_assignment
    mine = [pod for pod in pods if in_pod_set(pod, assigned.name)]
    if topology is None or not any(map(is_gated, mine)):
        return
    scheme = schemes.get(assigned.name)
    if scheme is not None:
        scheme = scheme.shifted(_index_offset(mine[0]))
    for found in assign_domains(mine, topology.levels, tuple(expand(topology)), scheme):
        if not _is_on(found, topology, unhealthy):
            yield _placed(found, topology.levels)


def _index_offset(pod: JsonObject) -> int:
    """The index offset of a pod's template (TAS-96)."""
    text = annotations(pod).get(POD_INDEX_OFFSET_ANNOTATION, "0")
    offset = whole_number(text)
    if offset is None:
        problem = f"annotation {POD_INDEX_OFFSET_ANNOTATION} is {text!r}, not a whole number"
        raise RetryError(f"pod {key_of(pod)}: {problem}: correct the annotation on the pod")
    return offset


def _is_on(found: PodDomain, topology: TopologyAssignment, nodes: frozenset[str]) -> bool:
    """Whether the domain is one of these nodes."""
    return topology.levels[-1] == HOSTNAME_LABEL and found.values[-1] in nodes


def _placed(found: PodDomain, levels: Sequence[str]) -> PatchObject | RecordEvent:
    """The pod in its domain; an event if it selects another one, because values of a node selector are immutable."""
    spec = found.pod["spec"]
    present, added = spec.get("nodeSelector") or {}, dict(zip(levels, found.values, strict=True))
    for level, value in added.items():
        if present.get(level, value) != value:
            problem = f"its node selector has {level}={present[level]}, but its topology domain is {level}={value}"
            remedy = f"remove {level} from the node selector of the pod template"
            return record_event(found.pod, CONFLICT, f"Pod stays gated: {problem}; {remedy}", "Warning")
    pod = {**found.pod, "spec": {**spec, "nodeSelector": {**present, **added}}}
    drop_gates(pod, TOPOLOGY_GATE)
    return PatchObject(found.pod, pod)
