"""Which gated pods of an elastic job to ungate: up to the counts of its newest admitted slice (JOB-84)."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, ClassVar

from kohort.api.codec import JsonObject
from kohort.api.gates import Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.jobs.effects import PatchObject, RecordEvent
from kohort.jobs.frameworks.pods.writes import drop_gates
from kohort.jobs.keys import ELASTIC_GATE
from kohort.jobs.objects import gates, is_terminating, metadata
from kohort.jobs.ungating.chains import has_ended, in_pod_set, is_slice
from kohort.jobs.ungating.policy import GatePolicy


class ElasticGatePolicy(GatePolicy):
    """Pods of elastic jobs, within the counts of the admitted slice."""

    gate: ClassVar[str] = ELASTIC_GATE
    feature: ClassVar[Gate] = Gate.ElasticJobsViaWorkloadSlices
    controller: ClassVar[str] = "elastic-jobs"
    manager: ClassVar[str] = "kueue-elastic-jobs-controller"

    def applies(self, workload: Workload) -> bool:
        """Whether the Workload is a slice."""
        return is_slice(workload)

    def ungate(self, workload: Workload, pods: Sequence[JsonObject]) -> list[PatchObject | RecordEvent]:
        """The pods to ungate, by name, within the capacity of each pod set (JOB-84)."""
        living = [pod for pod in pods if not (is_terminating(pod) or has_ended(pod))]
        return [patch for pod_set in workload.spec.pod_sets for patch in _ungate_set(workload, pod_set, living)]


def _ungate_set(workload: Workload, pod_set: Any, pods: Sequence[JsonObject]) -> list[PatchObject]:
    mine = [pod for pod in pods if in_pod_set(pod, pod_set.name)]
    gated = sorted(filter(is_gated, mine), key=lambda pod: str(metadata(pod).get("name")))
    capacity = pod_set.count - (len(mine) - len(gated))
    freed = [_freed(pod, workload, pod_set.name) for pod in gated[: max(capacity, 0)]]
    return [PatchObject(pod, after) for pod, after in zip(gated, freed, strict=False) if after is not None]


def is_gated(pod: JsonObject) -> bool:
    """Whether the pod has the elastic-job gate."""
    return ELASTIC_GATE in gates(pod)


def _freed(pod: JsonObject, workload: Workload, pod_set: str) -> JsonObject | None:
    """The pod without its gate, with the updates of admission checks; None if they conflict with it."""
    freed = deepcopy(pod)
    drop_gates(freed, ELASTIC_GATE)
    for check in workload.status.admission_checks:
        for update in check.pod_set_updates:
            if update.name == pod_set and not (
                _adds(freed["spec"], "nodeSelector", update.node_selector)
                and _adds(freed["metadata"], "annotations", update.annotations)
            ):
                return None
    return freed


def _adds(owner: dict[str, Any], name: str, added: dict[str, str]) -> bool:
    """Add absent values; returns False on a conflict."""
    if not added:
        return True
    present = owner.setdefault(name, {})
    return all(present.setdefault(key, value) == value for key, value in added.items())
