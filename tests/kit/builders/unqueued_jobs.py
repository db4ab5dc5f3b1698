"""Objects of job frameworks that are not queued, of the size that users' objects have: two pod templates, 3 to 4 KB."""

from collections.abc import Callable
from typing import Any

from kit.builders.core import Object, make_object
from kohort.api.resource import Resource

NAMESPACE = "default"


def make_unqueued_job(resource: Resource, number: int) -> Object:
    """Object `number` of a kind, without a queue."""
    spec = SPECS.get(resource.kind, _by_role)(number)
    labels = {"app.kubernetes.io/name": f"run-{number}", "team": f"team-{number % 20}"}
    name = f"{resource.kind.lower()}-{number:05}"
    return make_object(resource.api_version, resource.kind, name, NAMESPACE, labels, spec=spec)


def _template(number: int, role: str) -> Object:
    metadata = {"labels": {"run": f"run-{number}", "role": role}, "annotations": {"owner.example.org/mail": "a@b.c"}}
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{number}"}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
    ]
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    spec = {"containers": [_container(number, role)], "volumes": volumes, "tolerations": [toleration]}
    return {"metadata": metadata, "spec": {**spec, "nodeSelector": {"pool": "gpu"}, "serviceAccountName": "training"}}


def _container(number: int, role: str) -> Object:
    variables = [{"name": f"SETTING_{each}", "value": f"{role}-{number}-{each}"} for each in range(12)]
    secret = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": f"token-{number}", "key": "token"}}}
    resources = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"}
    return {
        "name": role,
        "image": "registry.example.com/research/training:2.41.0-cuda12.4",
        "command": ["/bin/bash", "-c"],
        "args": [f"ulimit -n 65536; exec python -m training.main --role {role} --run {number} --steps 100000"],
        "env": [*variables, secret],
        "ports": [{"name": "gcs", "containerPort": 6379}, {"name": "client", "containerPort": 10001}],
        "resources": {"requests": resources, "limits": resources},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 5, "failureThreshold": 120},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "shm", "mountPath": "/shared"}],
    }


def _replicas(number: int, *types: str) -> Object:
    return {each: {"replicas": 2, "template": _template(number, each.lower())} for each in types}


def _replicated_jobs(number: int) -> list[Object]:
    return [
        {"name": role, "replicas": 2, "template": {"spec": {"parallelism": 2, "template": _template(number, role)}}}
        for role in ("driver", "workers")
    ]


def _ray_cluster(number: int) -> Object:
    workers = {"groupName": "workers", "replicas": 2, "template": _template(number, "worker"), "rayStartParams": {}}
    head = {"template": _template(number, "head"), "rayStartParams": {}}
    return {"headGroupSpec": head, "workerGroupSpecs": [workers]}


def _by_role(number: int) -> Object:
    return {"leader": {"template": _template(number, "leader")}, "workers": {"template": _template(number, "worker")}}


def _groups(number: int) -> Object:
    pods = {"leaderTemplate": _template(number, "leader"), "workerTemplate": _template(number, "worker"), "size": 2}
    return {"replicas": 2, "leaderWorkerTemplate": pods}


def _train_job(number: int) -> Object:
    container = _container(number, "node")
    trainer = {name: container[name] for name in ("image", "command", "args", "env")}
    return {"runtimeRef": {"name": "torch"}, "trainer": {**trainer, "numNodes": 4}}


SPECS: dict[str, Callable[[int], dict[str, Any]]] = {
    "JobSet": lambda number: {"replicatedJobs": _replicated_jobs(number)},
    "RayCluster": _ray_cluster,
    "RayJob": lambda number: {"entrypoint": "python main.py", "rayClusterSpec": _ray_cluster(number)},
    "RayService": lambda number: {"serveConfigV2": "applications: []", "rayClusterConfig": _ray_cluster(number)},
    "PyTorchJob": lambda number: {"pytorchReplicaSpecs": _replicas(number, "Master", "Worker")},
    "TFJob": lambda number: {"tfReplicaSpecs": _replicas(number, "Chief", "Worker")},
    "XGBoostJob": lambda number: {"xgbReplicaSpecs": _replicas(number, "Master", "Worker")},
    "PaddleJob": lambda number: {"paddleReplicaSpecs": _replicas(number, "Master", "Worker")},
    "JAXJob": lambda number: {"jaxReplicaSpecs": _replicas(number, "Worker")},
    "MPIJob": lambda number: {"mpiReplicaSpecs": _replicas(number, "Launcher", "Worker")},
    "TrainJob": _train_job,
    "LeaderWorkerSet": _groups,
}
"""The specs of kinds; others get one by role."""
