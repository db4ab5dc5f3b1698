"""Random RayClusters, RayJobs and RayServices."""

from collections.abc import Callable
from typing import Any

from job_comparison.cases import metadata
from job_comparison.choices import Choices
from job_comparison.templates import pod_template, shared_topology

Json = Any
MANAGERS = ("kueue.x-k8s.io/multikueue", "ray.io/kuberay-operator")
Generator = Callable[[Choices, str, str], list[Json]]


def cluster_spec(c: Choices) -> Json:
    """A head and groups of workers."""
    number = c.one(18, 19) if c.error(0.1) else c.one(*(0, 1, 1, 1, 2, 2, 3) * 2, 16, 17)
    request = shared_topology(c) if number == 1 else None
    head = {"rayStartParams": {}, "template": pod_template(c, "ray-head", restart="", request=request)}
    names = [c.one("head", "Workers", "submitter") if c.error(0.1) else f"group-{index}" for index in range(number)]
    autoscaler = {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "250m"}}}
    return {
        "headGroupSpec": head,
        **({"workerGroupSpecs": [_workers(c, each, request) for each in names]} if names or c.chance(0.5) else {}),
        **c.maybe(0.4, rayVersion="2.41.0"),
        **c.member(0.1, "enableInTreeAutoscaling", c.error(0.5), False),
        **c.member(0.1, "autoscalerOptions", autoscaler, {"idleTimeoutSeconds": 10}),
        **c.maybe(0.1, gcsFaultToleranceOptions={"redisAddress": "redis:6379"}),
    }


def _workers(c: Choices, name: str, request: Json) -> Json:
    counts = {**c.member(0.8, "replicas", 0, 1, 1, 2, 5), **c.member(0.2, "numOfHosts", 1, 2, 4)}
    pods = counts.get("replicas", 0) * counts.get("numOfHosts", 1)
    return {
        "groupName": name,
        "minReplicas": 0,
        "maxReplicas": 10,
        "rayStartParams": {},
        **counts,
        "template": pod_template(c, "ray-worker", restart="", pods=pods, request=request),
    }


def _ray(kind: str, spec: Callable[[Choices], Json]) -> Generator:
    def generate(c: Choices, name: str, namespace: str) -> list[Json]:
        head = metadata(c, name, namespace, elastic=0.12)
        if c.chance(0.05):
            head["annotations"] = {**head.get("annotations", {}), "ray.io/ft-enabled": "true"}
        return [{"apiVersion": "ray.io/v1", "kind": kind, "metadata": head, "spec": spec(c)}]

    return generate


def _switches(c: Choices) -> Json:
    return {**c.member(0.3, "suspend", True, False), **c.member(0.06, "managedBy", *MANAGERS)}


def _job_spec(c: Choices) -> Json:
    return {
        "entrypoint": "python main.py",
        **({} if c.error(0.05) else {"rayClusterSpec": cluster_spec(c)}),
        **({"clusterSelector": {"ray.io/cluster": "shared"}} if c.error(0.1) else {}),
        **({} if c.error(0.1) else {"shutdownAfterJobFinishes": not c.error(0.1)}),
        **c.member(0.7, "submissionMode", "K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"),
        **({"submitterPodTemplate": pod_template(c, "submit")} if c.chance(0.2) else {}),
        **_switches(c),
    }


def _service_spec(c: Choices) -> Json:
    cluster = {**cluster_spec(c), **c.member(0.3, "suspend", True, False)}
    return {"serveConfigV2": "applications: []", "rayClusterConfig": cluster, **c.member(0.06, "managedBy", *MANAGERS)}


ray_cluster = _ray("RayCluster", lambda c: {**cluster_spec(c), **_switches(c)})
ray_job = _ray("RayJob", _job_spec)
ray_service = _ray("RayService", _service_spec)
