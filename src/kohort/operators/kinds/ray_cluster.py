"""Stand-in for KubeRay: the pods of RayClusters."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from datetime import datetime
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.core.pods import Pod
from kohort.api.kinds import PrinterColumn
from kohort.api.times import format_time
from kohort.jobs.contract import Framework
from kohort.jobs.frameworks.ray.cluster import group_size, worker_groups
from kohort.jobs.frameworks.ray.raycluster import RayClusterFramework
from kohort.jobs.objects import is_terminating, labels, metadata, value_at
from kohort.operators.contract import ChildKind, ChildPlan, StandIn
from kohort.operators.kinds.ray_pods import (
    CLUSTER,
    NODE_TYPE,
    head_service,
    head_service_name,
    ray_nodes,
)
from kohort.operators.objects import (
    SERVICES,
    find_condition,
    is_ready,
    is_true,
    phase,
    set_condition,
)
from kohort.operators.schemas import ANYTHING, NUMBER, TEXT, TRUTH, list_of, map_of, with_fields

OPERATOR: Final = "KubeRay operator"
_GROUP: Final = {"rayStartParams": map_of(TEXT), "template": ANYTHING, "labels": map_of(TEXT)}
CLUSTER_FIELDS: Final = with_fields(
    suspend=TRUTH,
    managedBy=TEXT,
    rayVersion=TEXT,
    headGroupSpec=with_fields(**_GROUP, headService=with_fields(metadata=with_fields(name=TEXT))),
    workerGroupSpecs=list_of(
        with_fields(
            **_GROUP,
            groupName=TEXT,
            replicas=NUMBER,
            minReplicas=NUMBER,
            maxReplicas=NUMBER,
            numOfHosts=NUMBER,
            suspend=TRUTH,
        )
    ),
)
"""Fields of a cluster that have an effect."""


class RayClusterStandIn(StandIn):
    """RayClusters."""

    operator: str = OPERATOR
    framework: Framework = RayClusterFramework()
    children: tuple[ChildKind, ...] = (ChildKind(Pod.resource, CLUSTER), ChildKind(SERVICES, CLUSTER))
    columns: tuple[PrinterColumn, ...] = (
        PrinterColumn("Desired Workers", ".status.desiredWorkerReplicas", "integer"),
        PrinterColumn("Available Workers", ".status.availableWorkerReplicas", "integer"),
        PrinterColumn("Status", ".status.state"),
    )
    spec: JsonObject = CLUSTER_FIELDS

    def plan(self, job: JsonObject, children: Sequence[JsonObject], now: datetime) -> ChildPlan:
        """Create missing pods, and replace those that ended."""
        pods = [each for each in children if each["kind"] == "Pod"]
        service = [] if len(pods) < len(children) else [head_service(job)]
        if job["spec"].get("suspend") is True:
            return ChildPlan(_cluster_status(job, pods, (), now), service, deletes=pods)
        nodes = {each.name: each for each in ray_nodes(job)}
        present = {each["metadata"]["name"] for each in pods}
        ended = [each for each in pods if each["metadata"]["name"] not in nodes or phase(each) in _ENDED]
        creates = (each.pod() for name, each in nodes.items() if name not in present)
        return ChildPlan(_cluster_status(job, pods, nodes, now), (*service, *creates), deletes=ended)


_ENDED: Final = ("Succeeded", "Failed")


def _cluster_status(
    cluster: JsonObject, pods: Sequence[JsonObject], wanted: Iterable[str], now: datetime
) -> JsonObject:
    """The status of a cluster; it is ready when all of its pods are, and stays so until it is suspended."""
    status = deepcopy(cluster.get("status") or {})
    conditions = status.setdefault("conditions", [])
    running = [each for each in pods if is_ready(each) and not is_terminating(each)]
    workers = [each for each in running if labels(each).get(NODE_TYPE) == "worker"]
    head = next((each for each in pods if labels(each).get(NODE_TYPE) == "head"), None)
    groups = worker_groups(cluster["spec"])
    is_suspended = cluster["spec"].get("suspend") is True
    is_whole = bool(wanted) and {each["metadata"]["name"] for each in running} >= set(wanted)
    state = _state(status.get("state") or "", pods, is_suspended=is_suspended, is_whole=is_whole)
    status |= {
        "desiredWorkerReplicas": sum(map(group_size, groups)),
        "readyWorkerReplicas": len(workers),
        "availableWorkerReplicas": len(workers),
        "observedGeneration": metadata(cluster).get("generation", 0),
        "head": {"serviceName": head_service_name(cluster), **_head(head)},
    }
    before = status.pop("state", None)
    if state:
        status["state"] = state
    if state and state != before:
        status.setdefault("stateTransitionTimes", {})[state] = format_time(now)
    set_state(conditions, "HeadPodReady", now, is_true=head is not None and is_ready(head), reason=_head_reason(head))
    set_state(conditions, "RayClusterSuspended", now, is_true=state == "suspended", reason="RayClusterSuspended")
    was_provisioned = is_true(find_condition(conditions, "RayClusterProvisioned"))
    is_provisioned = is_whole or (was_provisioned and not is_suspended)
    reason = "AllPodRunningAndReadyFirstTime" if is_provisioned else "RayClusterPodsProvisioning"
    set_state(conditions, "RayClusterProvisioned", now, is_true=is_provisioned, reason=reason)
    return status


def _state(before: str, pods: Sequence[JsonObject], *, is_suspended: bool, is_whole: bool) -> str:
    """The state: quota of a suspended cluster is released once it has no pods."""
    if is_suspended:
        return "suspended" if not pods else before
    return "ready" if is_whole else "" if before == "suspended" else before


def set_state(conditions: list[JsonObject], type_: str, now: datetime, *, is_true: bool, reason: str) -> None:
    """Set a condition to True or False."""
    set_condition(conditions, {"type": type_, "status": "True" if is_true else "False", "reason": reason}, now)


def _head(head: JsonObject | None) -> JsonObject:
    if head is None:
        return {}
    address = value_at(head, ("status", "podIP"))
    return {"podName": head["metadata"]["name"], **({"podIP": address} if address else {})}


def _head_reason(head: JsonObject | None) -> str:
    return "HeadPodNotFound" if head is None else "HeadPodRunningAndReady" if is_ready(head) else "ContainersNotReady"
