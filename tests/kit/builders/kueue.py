"""Builders of Kueue's kinds, in v1beta2: one function per kind; keyword arguments are further fields of the spec."""

from collections.abc import Mapping
from typing import Any

from kit.builders.core import Object, make_container, make_object
from kohort.api.kueue.conversion import V1BETA2


def make_resource_flavor(name: str = "f", node_labels: Object | None = None, **spec: Any) -> Object:
    return make_kueue_object("ResourceFlavor", name, {**({"nodeLabels": node_labels} if node_labels else {}), **spec})


def make_admission_check(name: str, *conditions: Object, controller: str = "example.com/check") -> Object:
    found = make_kueue_object("AdmissionCheck", name, {"controllerName": controller})
    return {**found, "status": {"conditions": list(conditions)}} if conditions else found


def make_topology(name: str, *levels: str) -> Object:
    """A Topology of racks, or of other levels from the highest to the lowest."""
    return make_kueue_object("Topology", name, {"levels": [{"nodeLabel": each} for each in levels or ("rack",)]})


def make_cohort(name: str, parent: str = "", **spec: Any) -> Object:
    return make_kueue_object("Cohort", name, {**({"parentName": parent} if parent else {}), **spec})


def make_cluster_queue(name: str, cpu: str = "2", flavors: str = "f", **spec: Any) -> Object:
    """A ClusterQueue for all namespaces with this quota of cpu in each flavor."""
    groups = [make_resource_group({"cpu": cpu}, *flavors.split())] if flavors else []
    return make_kueue_object("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": groups, **spec})


def make_resource_group(quotas: Mapping[str, str | int], *flavors: str, **limits: Any) -> Object:
    """A resource group of a ClusterQueue or Cohort: nominal quotas by resource, the same in each flavor."""
    resources = [{"name": resource, "nominalQuota": quota, **limits} for resource, quota in quotas.items()]
    return {"coveredResources": list(quotas), "flavors": [{"name": each, "resources": resources} for each in flavors]}


def admission_checks(*names: str) -> Object:
    """The part of a ClusterQueue's spec that lists admission checks."""
    return {"admissionChecksStrategy": {"admissionChecks": [{"name": name} for name in names]}}


def make_local_queue(name: str = "lq", cluster_queue: str = "cq", namespace: str = "default", **spec: Any) -> Object:
    return make_kueue_object("LocalQueue", name, {"clusterQueue": cluster_queue, **spec}, namespace)


def make_workload_priority_class(name: str, value: int = 100) -> Object:
    return make_object(V1BETA2, "WorkloadPriorityClass", name, value=value)


def make_workload(name: str, queue: str, cpu: str = "1", namespace: str = "default", **spec: Any) -> Object:
    """A Workload of one pod."""
    spec = {"queueName": queue, "podSets": [make_pod_set(requests={"cpu": cpu})], **spec}
    return make_kueue_object("Workload", name, spec, namespace)


def make_pod_set(
    name: str = "main", count: int = 1, requests: Object | None = None, restart: str = "Never", **more: Any
) -> Object:
    """A pod set of pods with one container, which requests one CPU by default."""
    pod = {"restartPolicy": restart, "containers": [make_container(requests or {"cpu": "1"})]}
    return {"name": name, "count": count, "template": {"spec": pod}, **more}


def make_kueue_object(kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    return make_object(V1BETA2, kind, name, namespace, spec=spec)
