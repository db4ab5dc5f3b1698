"""Objects of KubeRay's kinds, and definitions with the fields that Kohort reads; the operator's have many more."""

from typing import Any

Json = Any

ANY: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
UID = "0a1b2c3d-0000-4000-8000-000000000006"
QUEUE = "kueue.x-k8s.io/queue-name"
ELASTIC = "kueue.x-k8s.io/elastic-job"


def ray_definition(kind: str) -> Json:
    """The CustomResourceDefinition of a kind."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": ANY, "status": ANY}}},
        "subresources": {"status": {}},
    }
    singular = kind.lower()
    names = {"plural": f"{singular}s", "singular": singular, "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.ray.io"},
        "spec": {"group": "ray.io", "names": names, "scope": "Namespaced", "versions": [version]},
    }


def pod_template(cpu: str = "1", **spec: Json) -> Json:
    container = {"name": "ray", "image": "registry.test/ray:2", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"containers": [container], **spec}}


def worker_group(name: str = "workers", template: Json = None, **group: Json) -> Json:
    return {"groupName": name, "template": template if template is not None else pod_template(), **group}


def cluster_spec(*groups: Json, head: Json = None, **spec: Json) -> Json:
    """A head and worker groups, by default one of two workers."""
    return {
        "headGroupSpec": {"template": head if head is not None else pod_template()},
        "workerGroupSpecs": list(groups or [worker_group(replicas=2)]),
        **spec,
    }


def _object(kind: str, spec: Json, name: str, annotations: Json, status: Json) -> Json:
    metadata = {"name": name, "namespace": "default", "uid": UID, "labels": {QUEUE: "q"}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": kind,
        "metadata": {**metadata, **({"annotations": annotations} if annotations else {})},
        "spec": spec,
        **({"status": status} if status else {}),
    }


def make_ray_cluster(
    *groups: Json, name: str = "lab", annotations: Json = None, status: Json = None, **spec: Json
) -> Json:
    return _object("RayCluster", cluster_spec(*groups, **spec), name, annotations, status)


def make_ray_job(
    *groups: Json,
    name: str = "tune",
    annotations: Json = None,
    status: Json = None,
    cluster: Json = None,
    **spec: Json,
) -> Json:
    """A RayJob that submits by a pod."""
    full = {
        "submissionMode": "K8sJobMode",
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": cluster_spec(*groups, **(cluster or {})),
        **spec,
    }
    return _object("RayJob", full, name, annotations, status)


def make_ray_service(
    *groups: Json, name: str = "serve", annotations: Json = None, status: Json = None, **cluster: Json
) -> Json:
    return _object("RayService", {"rayClusterConfig": cluster_spec(*groups, **cluster)}, name, annotations, status)


def ready_condition() -> Json:
    condition = {"type": "Ready", "status": "True", "reason": "R", "message": "m"}
    return {"conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
