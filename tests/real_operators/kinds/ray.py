"""Ray's kinds, by KubeRay: pods of one head and of groups of workers, without a Ray that runs in them."""

from typing import Any, Final

from kohort.jobs.frameworks.ray.raycluster import RayClusterFramework
from kohort.jobs.frameworks.ray.rayjob import RayJobFramework
from kohort.jobs.frameworks.ray.rayservice import RayServiceFramework
from real_operators.job_kind import FOREVER, End, JobKind, pod_template

Json = Any


def _cluster() -> Json:
    """A head and two workers; with a field that KubeRay adds to any object that it writes."""
    workers = {
        "groupName": "small",
        "replicas": 2,
        "minReplicas": 1,
        "maxReplicas": 5,
        "rayStartParams": {},
        "scaleStrategy": {},
        "template": pod_template(FOREVER, container="ray-worker"),
    }
    head = {"rayStartParams": {}, "template": pod_template(FOREVER, container="ray-head")}
    return {"rayVersion": "2.46.0", "headGroupSpec": head, "workerGroupSpecs": [workers]}


def _job(_: str, seconds: str) -> Json:
    return {
        "entrypoint": "python train.py",
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": 0,
        "rayClusterSpec": _cluster(),
        "submitterPodTemplate": pod_template(seconds, container="ray-job-submitter", restartPolicy="Never"),
    }


def _service(_: str, seconds: str) -> Json:
    return {"serveConfigV2": "applications: []\n", "rayClusterConfig": _cluster()}


RAYCLUSTER: Final = JobKind(
    name="raycluster",
    resource=RayClusterFramework.resource,
    operators=("ray",),
    make_spec=lambda _name, _seconds: _cluster(),
    pods={"{name}-head-*": 1, "{name}-small-worker-*": 2},
    pod_sets={"head": 1, "small": 2},
    cpus=3,
    end=End.DELETED,
)
RAYJOB: Final = JobKind(
    name="rayjob",
    resource=RayJobFramework.resource,
    operators=("ray",),
    make_spec=_job,
    pods={"{name}-?????-head-*": 1, "{name}-?????-small-worker-*": 2, "{name}-?????": 1},
    pod_sets={"head": 1, "small": 2, "submitter": 1},
    cpus=4,
)
RAYSERVICE: Final = JobKind(
    name="rayservice",
    resource=RayServiceFramework.resource,
    operators=("ray",),
    make_spec=_service,
    pods={"{name}-?????-head-*": 1, "{name}-?????-small-worker-*": 2},
    pod_sets={"head": 1, "small": 2},
    cpus=3,
    end=End.DELETED,
)
