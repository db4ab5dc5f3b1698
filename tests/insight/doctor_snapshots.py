"""Snapshots for the checks of `kohort doctor`, built from objects as an API server returns them."""

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from kit.builders.core import Object, make_condition, make_container, make_object
from kit.builders.kueue import make_cluster_queue, make_cohort, make_pod_set, make_resource_group, make_workload
from kohort.api.meta import ObjectKey
from kohort.api.times import format_time, parse_time
from kohort.insight.doctor.model import DoctorCheck, DoctorFinding
from kohort.insight.doctor.runner import CHECKS, EXTRA_KINDS, run_checks
from kohort.insight.listing import IncompleteKind, KindListing, ListedKind, kind_of, listed_resource
from kohort.insight.snapshot import DECIDING, Snapshot

NOW = parse_time("2026-06-01T12:00:00Z")
QUEUE = "kueue.x-k8s.io/queue-name"
CLASS = "kueue.x-k8s.io/priority-class"
GPU = "nvidia.com/gpu"


def check_by_id(name: str) -> DoctorCheck:
    return next(each for each in CHECKS if each.id == name)


def snapshot(*objects: Object, unseen: Iterable[IncompleteKind] = ()) -> Snapshot:
    """A snapshot of these objects, without the kinds that the user must not list."""
    hidden = {each.kind: each for each in unseen}
    found: dict[ListedKind, KindListing] = {}
    kinds: tuple[ListedKind, ...] = (*DECIDING, *EXTRA_KINDS)
    for struct in kinds:
        kind, name = kind_of(struct), listed_resource(struct).kind
        page = kind.page(json.dumps({"items": [_stored(each) for each in objects if each["kind"] == name]}).encode())
        found[struct] = KindListing(
            {kind.identity(each).key: each for each in page.items}, hidden.get(name), page.unreadable
        )
    known = {listed_resource(struct).kind for struct in found}
    assert {each["kind"] for each in objects} <= known, "every object is of a kind that is looked at"
    assert all(isinstance(key, ObjectKey) for read in found.values() for key in read.objects)
    return Snapshot(NOW, found)


def findings_of(name: str, *objects: Object) -> list[DoctorFinding]:
    """The findings of one check."""
    return list(run_checks(snapshot(*objects), [check_by_id(name)]).findings)


def _stored(found: Object) -> Object:
    """The object with the metadata that an API server adds."""
    metadata = {"uid": f"uid-{found['metadata']['name']}", "creationTimestamp": ago(days=3), **found["metadata"]}
    return {**found, "metadata": metadata}


# Objects


def ago(**length: float) -> str:
    return format_time(NOW - timedelta(**length))


def condition(type_: str, status: str = "True", since: str = "", message: str = "") -> Object:
    """A condition that changed two hours ago."""
    return make_condition(type_, status, "R", message, since or ago(hours=2))


def quota(nominal: int | str = 8, resource: str = "cpu", flavor: str = "f", **limits: Any) -> Object:
    """A resource group of one flavor and one resource."""
    return make_resource_group({resource: nominal}, flavor, **limits)


def cluster_queue(name: str = "cq", *groups: Object, **spec: Any) -> Object:
    """An active ClusterQueue."""
    found = make_cluster_queue(name, **{"resourceGroups": list(groups or (quota(),)), **spec})
    return {**found, "status": {"conditions": [condition("Active")]}}


def cohort(name: str, *groups: Object, **spec: Any) -> Object:
    return make_cohort(name, resourceGroups=list(groups), **spec)


def admission_checks_spec(*names: str) -> Object:
    return {"admissionChecks": [{"name": name} for name in names]}


def taint(key: str = "gpu", effect: str = "NoSchedule") -> Object:
    return {"key": key, "value": "present", "effect": effect}


def resource_quota(resource: str, hard: str, namespace: str = "default", **spec: Any) -> Object:
    return make_object("v1", "ResourceQuota", "rq", namespace, spec={"hard": {resource: hard}, **spec})


def job(name: str = "j", labels: Object | None = None, status: Object | None = None, **metadata: Any) -> Object:
    pods = {"spec": {"restartPolicy": "Never", "containers": [make_container()]}}
    found = make_object("batch/v1", "Job", name, "default", labels, spec={"template": pods}, status=status or {})
    return {**found, "metadata": {**found["metadata"], **metadata}}


def workload(
    name: str = "w", queue: str = "lq", count: int = 1, *conditions: Object, requests: Object | None = None, **rest: Any
) -> Object:
    """A Workload of pods with these requests, by default one CPU each."""
    pods = make_pod_set(count=count, requests=requests, restart=rest.pop("restart_policy", "Never"))
    if "min_count" in rest:
        pods["minCount"] = rest.pop("min_count")
    status = {"conditions": list(conditions), **rest.pop("status", {})}
    metadata = rest.pop("metadata", {})
    found = make_workload(name, queue, podSets=[pods], **rest)
    return {**found, "metadata": {**found["metadata"], **metadata}, "status": status}


def running(name: str = "w", cluster_queue: str = "cq", cpus: int = 1, since: str = "", **rest: Any) -> Object:
    """An admitted Workload of one pod set."""
    moment = since or ago(hours=2)
    assigned = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": str(cpus)}, "count": 1}
    status = {"admission": {"clusterQueue": cluster_queue, "podSetAssignments": [assigned]}}
    conditions = (condition("QuotaReserved", since=moment), condition("Admitted", since=moment))
    requests = {"cpu": str(cpus)}
    return workload(name, rest.pop("queue", "lq"), 1, *conditions, requests=requests, status=status, **rest)


def owned_by(kind: str, name: str) -> Object:
    return {"ownerReferences": [{"apiVersion": "v1", "kind": kind, "name": name, "uid": f"uid-{name}"}]}
