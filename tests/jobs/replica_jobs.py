"""Jobs of the Training Operator and the MPI Operator for tests, and a minimal definition of their kinds."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from kit.apiserver import Object
from kohort.api.resource import Resource
from kohort.jobs.frameworks.kubeflow.mpijob import MPIJobFramework
from kohort.jobs.frameworks.kubeflow.replica_jobs import ReplicaJobFramework
from kohort.jobs.frameworks.kubeflow.training_jobs import (
    JAXJobFramework,
    PaddleJobFramework,
    PyTorchJobFramework,
    TFJobFramework,
    XGBoostJobFramework,
)

PYTORCH, MPI = PyTorchJobFramework(), MPIJobFramework()
REPLICA_FRAMEWORKS: tuple[ReplicaJobFramework, ...] = (
    PYTORCH,
    TFJobFramework(),
    PaddleJobFramework(),
    XGBoostJobFramework(),
    JAXJobFramework(),
    MPI,
)
APPROVED = {"api-approved.kubernetes.io": "unapproved, for a test"}
"""Definitions in groups of Kubernetes name their approval."""
POD = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "1"}}}]}


def make_replica_spec(replicas: int | None = None, **pod: Any) -> Object:
    """Pods of one replica type, of one cpu each."""
    template = {"metadata": {}, "spec": {**deepcopy(POD), **pod}}
    return {"template": template} | ({} if replicas is None else {"replicas": replicas})


def make_replica_job(
    framework: ReplicaJobFramework, specs: Mapping[str, Object] | None = None, name: str = "train", **spec: Any
) -> Object:
    """A job as a user sends it, in queue `q`; by default one replica of each type."""
    resource = framework.resource
    by_type = {each: make_replica_spec() for each in framework.replica_types} if specs is None else dict(specs)
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "labels": {"kueue.x-k8s.io/queue-name": "q"},
        },
        "spec": {framework.replica_specs: by_type, **spec},
    }


def make_condition_status(*types: str, message: str = "over") -> Object:
    """A status with conditions that are True."""
    return {"conditions": [{"type": each, "status": "True", "message": message} for each in types]}


def make_definition(resource: Resource) -> Object:
    """A CustomResourceDefinition that accepts anything, with a status subresource."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scope = "Namespaced" if resource.namespaced else "Cluster"
    names = {"kind": resource.kind, "plural": resource.plural, "singular": resource.kind.lower()}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}", "annotations": APPROVED},
        "spec": {"group": resource.group, "scope": scope, "names": names, "versions": [version]},
    }
