"""A scripted stand-in for KServe and Kubernetes: the Deployment of a predictor, its ReplicaSet, its pods."""

from typing import Any

from jobs.custom_kinds import CustomKindsHarness, controller_of

Json = Any

SELECTOR = {"app": "iris-predictor"}


async def create_predictor(cluster: CustomKindsHarness, service: Json, cpu: str = "1", pods: int = 1) -> list[Json]:
    """Create what serves an InferenceService in mode Standard; the stored pods."""
    labels = {**(service["metadata"].get("labels") or {}), **SELECTOR, "component": "predictor"}
    container = {"name": "kserve-container", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    init = {"name": "storage-initializer", "image": "i", "resources": {"requests": {"cpu": "500m"}}}
    template = {"metadata": {"labels": labels}, "spec": {"initContainers": [init], "containers": [container]}}
    spec = {"replicas": pods, "selector": {"matchLabels": SELECTOR}, "template": template}
    deployment = await cluster.submit(_owned("Deployment", "iris-predictor", service, spec, labels))
    template = deployment["spec"]["template"]
    replica_set = _owned("ReplicaSet", "iris-predictor-6f7c9", deployment, {**spec, "template": template}, labels)
    await cluster.manager.create(replica_set)
    replica_set = await cluster.read(replica_set)
    made = []
    for number in range(pods):
        pod = _owned("Pod", f"iris-predictor-6f7c9-{number}", replica_set, template["spec"], labels)
        pod["metadata"] |= {
            key: template["metadata"][key] for key in ("labels", "annotations") if key in template["metadata"]
        }
        made.append(await cluster.submit(pod))
    return made


def _owned(kind: str, name: str, owner: Json, spec: Json, labels: Json) -> Json:
    head = {"name": name, "namespace": "default", "labels": dict(labels), "ownerReferences": controller_of(owner)}
    return {"apiVersion": "v1" if kind == "Pod" else "apps/v1", "kind": kind, "metadata": head, "spec": spec}
