"""Builders of Kueue manifests for tests: one line per object, plain JSON as a user would write it."""

from typing import Any

from kohort.api.kueue.conversion import V1BETA2

Json = Any


def quota(name: str, nominal: Json = 5, **limits: Json) -> Json:
    return {"name": name, "nominalQuota": nominal, **limits}


def flavor_quotas(name: str, *resources: Json) -> Json:
    return {"name": name, "resources": list(resources)}


def group(*flavors: Json) -> Json:
    return {"coveredResources": [each["name"] for each in flavors[0]["resources"]], "flavors": list(flavors)}


def cluster_queue(name: str = "cq", version: str = V1BETA2, **spec: Json) -> Json:
    """A ClusterQueue with 5 cpus in flavor f1 by default: queue B of the specification's vectors."""
    groups = {"resourceGroups": [group(flavor_quotas("f1", quota("cpu")))]}
    return {"apiVersion": version, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {**groups, **spec}}


def on_flavors(check: str, *flavors: str) -> Json:
    return {"admissionChecks": [{"name": check, "onFlavors": list(flavors)}]}


def pod_set(name: str = "main", count: int = 1, **more: Json) -> Json:
    template = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}
    return {"name": name, "count": count, "template": template, **more}


def workload(
    *pod_sets: Json, version: str = V1BETA2, annotations: Json = None, status: Json = None, **spec: Json
) -> Json:
    metadata = {"name": "wl", "namespace": "ns", **({"annotations": annotations} if annotations else {})}
    body = {"podSets": list(pod_sets or (pod_set(),)), **spec}
    value = {"apiVersion": version, "kind": "Workload", "metadata": metadata, "spec": body}
    return {**value, "status": status} if status else value


def condition(type_: str, status: str = "True") -> Json:
    return {
        "type": type_,
        "status": status,
        "reason": "Test",
        "message": "",
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }


def reserved(**counts: int) -> Json:
    """The status of a workload that holds quota for so many pods per pod set."""
    assignments = [
        {"name": name, "count": count, "flavors": {"cpu": "f1"}, "resourceUsage": {"cpu": str(count)}}
        for name, count in counts.items()
    ]
    return {
        "conditions": [condition("QuotaReserved")],
        "admission": {"clusterQueue": "cq", "podSetAssignments": assignments},
    }
