"""Builders of objects of the core group, and of parts that objects of all groups have."""

from typing import Any

Object = dict[str, Any]
SINCE = "2026-01-01T00:00:00Z"


def make_object(
    api_version: str,
    kind: str,
    name: str,
    namespace: str = "",
    labels: Object | None = None,
    annotations: Object | None = None,
    **fields: Any,
) -> Object:
    """An object of any kind; empty members of its metadata are omitted."""
    members = {"namespace": namespace, "labels": labels, "annotations": annotations}
    metadata = {"name": name, **{member: value for member, value in members.items() if value}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def make_condition(
    type_: str, status: str = "True", reason: str = "Test", message: str = "", since: str = SINCE
) -> Object:
    return {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}


def make_namespace(name: str, /, **labels: str) -> Object:
    return make_object("v1", "Namespace", name, labels=labels)


def make_node(
    name: str = "n",
    labels: Object | None = None,
    cpu: str = "8",
    *,
    ready: str = "True",
    allocatable: Object | None = None,
    **spec: Any,
) -> Object:
    """A node of 110 pods; without the condition Ready if `ready` is empty."""
    conditions = [make_condition("Ready", ready, "KubeletReady")] if ready else []
    status = {"allocatable": {"cpu": cpu, "pods": "110", **(allocatable or {})}, "conditions": conditions}
    return make_object("v1", "Node", name, labels=labels, spec=spec, status=status)


def make_pod(
    name: str,
    namespace: str = "default",
    requests: Object | None = None,
    labels: Object | None = None,
    annotations: Object | None = None,
    **spec: Any,
) -> Object:
    """A pod of one container; keyword arguments are further fields of the spec."""
    spec = {"containers": [make_container(requests)], **spec}
    return make_object("v1", "Pod", name, namespace, labels, annotations, spec=spec)


def make_container(requests: Object | None = None, name: str = "main") -> Object:
    return {"name": name, "image": "busybox:1", "resources": {"requests": requests} if requests else {}}


def make_config_map(name: str, namespace: str = "default", labels: Object | None = None, **data: str) -> Object:
    return make_object("v1", "ConfigMap", name, namespace, labels, data=data)


def make_resource_quota(name: str, **hard: str) -> Object:
    """A ResourceQuota in namespace `default`; an underscore in a resource name becomes a dot."""
    limits = {resource.replace("_", "."): limit for resource, limit in hard.items()}
    return make_object("v1", "ResourceQuota", name, "default", spec={"hard": limits})
