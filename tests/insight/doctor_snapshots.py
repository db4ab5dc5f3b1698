"""Snapshots for the checks of `kohort doctor`, built from objects as an API server returns them."""

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from kohort.api.meta import ObjectKey
from kohort.api.times import format_time, parse_time
from kohort.api.unsupported import UNSUPPORTED_FRAMEWORKS
from kohort.insight.doctor.model import DoctorCheck, DoctorFinding
from kohort.insight.doctor.runner import CHECKS, EXTRA_KINDS, run_checks
from kohort.insight.listing import IncompleteKind, KindListing, ListedKind, kind_of, listed_resource
from kohort.insight.snapshot import DECIDING, Snapshot

NOW = parse_time("2026-06-01T12:00:00Z")
QUEUE = "kueue.x-k8s.io/queue-name"
CLASS = "kueue.x-k8s.io/priority-class"
GPU = "nvidia.com/gpu"

Object = dict[str, Any]


def check_by_id(name: str) -> DoctorCheck:
    return next(each for each in CHECKS if each.id == name)


def snapshot(*objects: Object, unseen: Iterable[IncompleteKind] = ()) -> Snapshot:
    """A snapshot of these objects, without the kinds that the user must not list."""
    hidden = {each.kind: each for each in unseen}
    found: dict[ListedKind, KindListing] = {}
    kinds: tuple[ListedKind, ...] = (*DECIDING, *EXTRA_KINDS, *UNSUPPORTED_FRAMEWORKS.values())
    for struct in kinds:
        kind, name = kind_of(struct), listed_resource(struct).kind
        page = kind.page(json.dumps({"items": [each for each in objects if each["kind"] == name]}).encode())
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


# Objects


def _object(version: str, kind: str, name: str, namespace: str = "", **rest: Any) -> Object:
    metadata: Object = {"name": name, "uid": f"uid-{name}", "creationTimestamp": ago(days=3)}
    if namespace:
        metadata["namespace"] = namespace
    metadata |= rest.pop("metadata", {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def ago(**length: float) -> str:
    return format_time(NOW - timedelta(**length))


def _kueue(kind: str, name: str, namespace: str = "", **rest: Any) -> Object:
    return _object("kueue.x-k8s.io/v1beta2", kind, name, namespace, **rest)


def condition(type_: str, status: str = "True", since: str = "", message: str = "") -> Object:
    moment = since or ago(hours=2)
    return {"type": type_, "status": status, "reason": "R", "message": message, "lastTransitionTime": moment}


def flavor(name: str = "f", labels: Object | None = None, **spec: Any) -> Object:
    return _kueue("ResourceFlavor", name, spec={"nodeLabels": labels or {}, **spec})


def quota(nominal: int | str = 8, resource: str = "cpu", flavor: str = "f", **limits: Any) -> Object:
    """A resource group of one flavor and one resource."""
    quotas = [{"name": resource, "nominalQuota": nominal, **limits}]
    return {"coveredResources": [resource], "flavors": [{"name": flavor, "resources": quotas}]}


def cluster_queue(name: str = "cq", *groups: Object, **spec: Any) -> Object:
    """An active ClusterQueue."""
    metadata = {"creationTimestamp": spec.pop("made", ago(days=3))}
    spec = {"namespaceSelector": {}, "resourceGroups": list(groups or (quota(),)), **spec}
    return _kueue("ClusterQueue", name, metadata=metadata, spec=spec, status={"conditions": [condition("Active")]})


def local_queue(name: str = "lq", cluster_queue: str = "cq", namespace: str = "default", **spec: Any) -> Object:
    return _kueue("LocalQueue", name, namespace, spec={"clusterQueue": cluster_queue, **spec})


def cohort(name: str, *groups: Object, **spec: Any) -> Object:
    return _kueue("Cohort", name, spec={"resourceGroups": list(groups), **spec})


def admission_check(name: str = "ready", *conditions: Object, controller: str = "example.com/check") -> Object:
    return _kueue("AdmissionCheck", name, spec={"controllerName": controller}, status={"conditions": list(conditions)})


def admission_checks_spec(*names: str) -> Object:
    return {"admissionChecks": [{"name": name} for name in names]}


def topology(name: str, *levels: str) -> Object:
    return _kueue("Topology", name, spec={"levels": [{"nodeLabel": level} for level in levels or ("rack",)]})


def priority_class(name: str = "high") -> Object:
    return _kueue("WorkloadPriorityClass", name, value=100)


def namespace(name: str = "default", **labels: str) -> Object:
    return _object("v1", "Namespace", name, metadata={"labels": labels})


def node(
    name: str = "n", labels: Object | None = None, taints: Iterable[Object] = (), cpu: str = "8", gpu: str = "0"
) -> Object:
    status = {"allocatable": {"pods": "110", "cpu": cpu, GPU: gpu}}
    return _object("v1", "Node", name, metadata={"labels": labels or {}}, spec={"taints": list(taints)}, status=status)


def taint(key: str = "gpu", effect: str = "NoSchedule") -> Object:
    return {"key": key, "value": "present", "effect": effect}


def resource_quota(resource: str, hard: str, namespace: str = "default", **spec: Any) -> Object:
    return _object("v1", "ResourceQuota", "rq", namespace, spec={"hard": {resource: hard}, **spec})


def job(name: str = "j", labels: Object | None = None, status: Object | None = None, **metadata: Any) -> Object:
    metadata = {"labels": labels or {}, **metadata}
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}}
    return _object("batch/v1", "Job", name, "default", metadata=metadata, spec={"template": pods}, status=status or {})


def workload(
    name: str = "w", queue: str = "lq", count: int = 1, *conditions: Object, requests: Object | None = None, **rest: Any
) -> Object:
    """A Workload of pods with these requests, by default one CPU each."""
    container = {"name": "c", "resources": {"requests": requests or {"cpu": "1"}}}
    template = {"spec": {"restartPolicy": rest.pop("restart_policy", "Never"), "containers": [container]}}
    pods: Object = {"name": "main", "count": count, "template": template}
    if "min_count" in rest:
        pods["minCount"] = rest.pop("min_count")
    status = {"conditions": list(conditions), **rest.pop("status", {})}
    metadata = rest.pop("metadata", {})
    spec = {"queueName": queue, "podSets": [pods], **rest}
    return _kueue("Workload", name, "default", metadata=metadata, spec=spec, status=status)


def running(name: str = "w", cluster_queue: str = "cq", cpus: int = 1, since: str = "", **rest: Any) -> Object:
    """An admitted Workload of one pod set."""
    moment = since or ago(hours=2)
    assigned = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": str(cpus)}, "count": 1}
    status = {"admission": {"clusterQueue": cluster_queue, "podSetAssignments": [assigned]}}
    conditions = (condition("QuotaReserved", since=moment), condition("Admitted", since=moment))
    requests = {"cpu": str(cpus)}
    return workload(name, rest.pop("queue", "lq"), 1, *conditions, requests=requests, status=status, **rest)


def job_set(name: str = "sweep", labels: Object | None = None, **metadata: Any) -> Object:
    metadata = {"labels": labels or {}, **metadata}
    return _object("jobset.x-k8s.io/v1alpha2", "JobSet", name, "default", metadata=metadata, spec={})


def owned_by(kind: str, name: str) -> Object:
    return {"ownerReferences": [{"apiVersion": "v1", "kind": kind, "name": name, "uid": f"uid-{name}"}]}
