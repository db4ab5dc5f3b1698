"""Builders of Kueue's kinds, in v1beta2: one function per kind; keyword arguments are further fields of the spec."""

from collections.abc import Mapping
from typing import Any

from kohort.api.kueue.conversion import V1BETA2

Object = dict[str, Any]


def make_resource_flavor(name: str = "f", **spec: Any) -> Object:
    return make_kueue_object("ResourceFlavor", name, spec)


def make_admission_check(name: str, controller: str = "example.com/x") -> Object:
    return make_kueue_object("AdmissionCheck", name, {"controllerName": controller})


def make_topology(name: str) -> Object:
    return make_kueue_object("Topology", name, {"levels": [{"nodeLabel": "rack"}]})


def make_cohort(name: str, parent: str = "", **spec: Any) -> Object:
    return make_kueue_object("Cohort", name, {**({"parentName": parent} if parent else {}), **spec})


def make_cluster_queue(name: str, cpu: str = "2", flavors: str = "f", **spec: Any) -> Object:
    """A ClusterQueue for all namespaces with this quota of cpu in each flavor."""
    groups = [make_resource_group({"cpu": cpu}, *flavors.split())] if flavors else []
    return make_kueue_object("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": groups, **spec})


def make_resource_group(quotas: Mapping[str, str], *flavors: str) -> Object:
    """A resource group of a ClusterQueue or Cohort: nominal quotas by resource, the same in each flavor."""
    resources = [{"name": resource, "nominalQuota": quota} for resource, quota in quotas.items()]
    return {"coveredResources": list(quotas), "flavors": [{"name": each, "resources": resources} for each in flavors]}


def admission_checks(*names: str) -> Object:
    """The part of a ClusterQueue's spec that lists admission checks."""
    return {"admissionChecksStrategy": {"admissionChecks": [{"name": name} for name in names]}}


def make_local_queue(name: str, cluster_queue: str, namespace: str = "default", **spec: Any) -> Object:
    return make_kueue_object("LocalQueue", name, {"clusterQueue": cluster_queue, **spec}, namespace)


def make_workload_priority_class(name: str, value: int) -> Object:
    head = {"apiVersion": V1BETA2, "kind": "WorkloadPriorityClass", "metadata": {"name": name}}
    return {**head, "value": value}


def make_workload(name: str, queue: str, cpu: str = "1", namespace: str = "default", **spec: Any) -> Object:
    """A Workload of one pod."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    return make_kueue_object("Workload", name, {"queueName": queue, "podSets": [pods], **spec}, namespace)


def make_kueue_object(kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": V1BETA2, "kind": kind, "metadata": metadata, "spec": spec}
