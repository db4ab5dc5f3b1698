"""Workloads with topology assignments and their pods, one line per object."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from kohort.api.codec import JsonObject
from kohort.api.kueue.slices import Domain, compress
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import (
    Admission,
    PodSet,
    PodSetAssignment,
    TopologyAssignment,
    TopologyRequest,
    UnhealthyNode,
    WorkloadSpec,
    WorkloadStatus,
)
from kohort.api.meta import ObjectMeta
from kohort.engine.lifecycle.conditions import ADMITTED, QUOTA_RESERVED, condition_true, with_condition_set

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOST = "kubernetes.io/hostname"
INDEX = "batch.kubernetes.io/job-completion-index"
GATE = {"name": "kueue.x-k8s.io/topology"}
K = "kueue.x-k8s.io/"


def hosts(**counts: int) -> TopologyAssignment:
    """An assignment of so many pods to each host."""
    return compress((HOST,), [Domain((name,), count) for name, count in counts.items()])


def placed_set(
    name: str, assigned: TopologyAssignment | None, count: int | None = None, **request: Any
) -> tuple[PodSet, PodSetAssignment]:
    """A pod set with its assignment; by default it has as many pods as the assignment."""
    total = count if count is not None else sum(_counts(assigned))
    wanted = TopologyRequest(**request) if request else None
    requested = PodSet(name=name, template=Raw(b"{}"), count=total, topology_request=wanted)
    return requested, PodSetAssignment(name=name, count=total, topology_assignment=assigned)


def _counts(assigned: TopologyAssignment | None) -> list[int]:
    slices = assigned.slices if assigned is not None else ()
    return [
        count
        for part in slices
        for count in part.pod_counts.individual or (part.pod_counts.universal or 0,) * part.domain_count
    ]


def placed_workload(*pod_sets: tuple[PodSet, PodSetAssignment], unhealthy: Sequence[str] = ()) -> Workload:
    """An admitted Workload with these pod sets."""
    admission = Admission(cluster_queue="cq", pod_set_assignments=tuple(each for _, each in pod_sets))
    status = WorkloadStatus(admission=admission, unhealthy_nodes=tuple(UnhealthyNode(name=name) for name in unhealthy))
    spec = WorkloadSpec(pod_sets=tuple(each for each, _ in pod_sets))
    found = Workload(metadata=ObjectMeta(name="wl", namespace="ns", uid="uid-wl"), spec=spec, status=status)
    for each in (QUOTA_RESERVED, ADMITTED):
        found = with_condition_set(found, each, condition_true(each, ""), NOW)
    return found


def started_pod(name: str, index: int | str | None = None, pod_set: str = "main", **changes: Any) -> JsonObject:
    """A gated pod; `on` is the domain in which an ungated one is, by level."""
    labels = {f"{K}podset": pod_set, **({} if index is None else {INDEX: str(index)}), **changes.pop("labels", {})}
    on: Mapping[str, str] | None = changes.pop("on", None)
    spec = {"schedulingGates": [GATE]} if on is None else {"nodeSelector": dict(on)}
    head = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "labels": labels, **changes.pop("metadata", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**head, "annotations": {f"{K}workload": "wl", **changes.pop("annotations", {})}},
        "spec": {**spec, **changes.pop("spec", {})},
        "status": {"phase": changes.pop("phase", "Pending")},
    }


def evicted(workload: Workload) -> Workload:
    """The Workload as it is being evicted."""
    return with_condition_set(workload, "Evicted", condition_true("Preempted", ""), NOW)


def as_slice(workload: Workload, name: str, chain: str) -> Workload:
    """The Workload as a slice of an elastic job."""
    marks = {f"{K}elastic-job": "true", f"{K}workload-slice-name": chain}
    return replace(workload, metadata=replace(workload.metadata, name=name, annotations=marks))
