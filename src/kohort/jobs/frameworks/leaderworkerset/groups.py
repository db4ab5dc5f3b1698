"""The groups of a LeaderWorkerSet: their number, their pods and their Workloads (JOB-182, JOB-183)."""

from copy import deepcopy
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.gates import FeatureGates
from kohort.jobs.frameworks.leaderworkerset.types import LeaderWorkerSet
from kohort.jobs.frameworks.pods.parents import replicas_of
from kohort.jobs.keys import MULTIKUEUE_ORIGIN_UID_ANNOTATION
from kohort.jobs.names import workload_name
from kohort.jobs.objects import annotations, metadata, uid, value_at
from kohort.jobs.podsets import JobPodSet
from kohort.jobs.topology import IndexLabels, topology_request

FRAMEWORK: Final = "leaderworkerset.x-k8s.io/leaderworkerset"
SETS: Final = LeaderWorkerSet.resource
LEADER, WORKER, MAIN = "leader", "worker", "main"
_DOMAIN: Final = "leaderworkerset.sigs.k8s.io"
NAME_LABEL: Final = f"{_DOMAIN}/name"
GROUP_INDEX_LABEL: Final = f"{_DOMAIN}/group-index"
LEADER_NAME_ANNOTATION: Final = f"{_DOMAIN}/leader-name"
INDEX_LABELS: Final = IndexLabels(f"{_DOMAIN}/worker-index")
LEADER_PATH: Final = ("spec", "leaderWorkerTemplate", "leaderTemplate")
WORKER_PATH: Final = ("spec", "leaderWorkerTemplate", "workerTemplate")
SIZE_PATH: Final = ("spec", "leaderWorkerTemplate", "size")


def has_leader(obj: JsonObject) -> bool:
    """Whether leaders have a template of their own."""
    return value_at(obj, LEADER_PATH) is not None


def group_size(obj: JsonObject) -> int:
    """The pods of a group."""
    size = value_at(obj, SIZE_PATH)
    return 1 if size is None else int(size)


def group_count(obj: JsonObject) -> int:
    """The number of groups, with those of an incomplete rollout that surges (JOB-182)."""
    status, wanted = obj.get("status") or {}, replicas_of(obj)
    surge = value_at(obj, ("spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge"))
    if surge in (None, 0, "0", "0%") or (status.get("updatedReplicas") or 0) >= wanted:
        return wanted
    return max(wanted, status.get("replicas") or 0)


def group_pod_sets(obj: JsonObject, gates: FeatureGates) -> list[JobPodSet]:
    """The pod sets of each group (JOB-183)."""
    worker = _template(obj, WORKER_PATH)
    request = topology_request(worker, gates, INDEX_LABELS)
    if not has_leader(obj):
        return [JobPodSet(MAIN, group_size(obj), worker, topology_request=request)]
    leader = _template(obj, LEADER_PATH)
    return [
        JobPodSet(LEADER, 1, leader, topology_request=topology_request(leader, gates)),
        JobPodSet(WORKER, max(group_size(obj) - 1, 0), worker, topology_request=request),
    ]


def group_workload_name(obj: JsonObject, index: int | str, gates: FeatureGates) -> str:
    """The name of a group's Workload, which is the name of its pod group too (JOB-182, JOB-187)."""
    owner_uid = annotations(obj).get(MULTIKUEUE_ORIGIN_UID_ANNOTATION) or uid(obj)
    return workload_name(SETS, f"{metadata(obj).get('name', '')}-{index}", owner_uid, gates)


def _template(obj: JsonObject, path: tuple[str, ...]) -> JsonObject:
    """A template without what the operator adds to its metadata."""
    template: JsonObject = deepcopy(value_at(obj, path)) or {}
    for field in ("labels", "annotations"):
        present = value_at(template, ("metadata", field))
        if present:
            kept = {key: value for key, value in present.items() if key == NAME_LABEL or not key.startswith(_DOMAIN)}
            template["metadata"][field] = kept
    return template
