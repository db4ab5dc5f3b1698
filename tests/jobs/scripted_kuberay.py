"""A scripted stand-in for KubeRay's operator: RayClusters and pods of RayJobs, and their status as it reports it."""

from copy import deepcopy
from typing import Any

from jobs.job_manager_harness import JobManagerHarness
from jobs.webhook_caller import WebhookCaller, pods_by_name

Json = Any

RAY_JOBS = "/apis/ray.io/v1/namespaces/default/rayjobs"
RAY_CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"
PODS = "/api/v1/namespaces/default/pods"


class ScriptedKubeRay:
    """Acts on RayJobs only when it is called."""

    def __init__(self, harness: JobManagerHarness, webhooks: WebhookCaller) -> None:
        self._harness = harness
        self._webhooks = webhooks
        self._clusters = 0

    async def act(self) -> None:
        """Create what unsuspended RayJobs lack, and delete what suspended ones have."""
        for ray_job in (await self._harness.server.get(RAY_JOBS))["items"]:
            status = ray_job.get("status") or {}
            if status.get("jobDeploymentStatus") in ("Complete", "Failed"):
                continue
            if ray_job["spec"].get("suspend"):
                await self._tear_down(ray_job)
            elif not status.get("rayClusterName"):
                await self._deploy(ray_job)
        await self._harness.settle()

    async def finish(self, name: str, job_status: str) -> None:
        """End a RayJob, and delete its cluster."""
        ray_job = await self._harness.server.get(f"{RAY_JOBS}/{name}")
        await self._delete_pods(ray_job)
        ended = "Complete" if job_status == "SUCCEEDED" else "Failed"
        await self._report(ray_job, jobDeploymentStatus=ended, jobStatus=job_status, message="m")
        await self._harness.settle()

    async def _deploy(self, ray_job: Json) -> None:
        self._clusters += 1
        name = f"{ray_job['metadata']['name']}-{self._clusters}"
        cluster = {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": {
                "name": name,
                "namespace": "default",
                "labels": ray_job["metadata"]["labels"],
                "ownerReferences": [_controller(ray_job)],
            },
            "spec": deepcopy(ray_job["spec"]["rayClusterSpec"]),
        }
        await self._webhooks.send(cluster)
        for number, template in enumerate(_templates(ray_job)):
            await self._harness.create(_pod(f"{name}-{number}", template, ray_job))
        await self._report(
            ray_job, jobDeploymentStatus="Running", rayClusterName=name, rayClusterStatus={"state": "ready"}
        )

    async def _tear_down(self, ray_job: Json) -> None:
        await self._delete_pods(ray_job)
        await self._report(ray_job, jobDeploymentStatus="Suspended", rayClusterName=None, rayClusterStatus=None)

    async def _delete_pods(self, ray_job: Json) -> None:
        cluster = (ray_job.get("status") or {}).get("rayClusterName")
        if cluster:
            await self._harness.server.request("DELETE", f"{RAY_CLUSTERS}/{cluster}")
            for name in await pods_by_name(self._harness):
                if name.startswith(f"{cluster}-"):
                    await self._harness.server.request("DELETE", f"{PODS}/{name}")

    async def _report(self, ray_job: Json, **status: Json) -> None:
        response = await self._harness.server.merge(
            f"{RAY_JOBS}/{ray_job['metadata']['name']}/status", {"status": status}
        )
        assert response.status == 200, response


def _templates(ray_job: Json) -> list[Json]:
    """The template of each pod."""
    spec = ray_job["spec"]["rayClusterSpec"]
    found = [spec["headGroupSpec"]["template"]]
    for group in spec["workerGroupSpecs"]:
        found += [group["template"]] * group.get("replicas", 1) * group.get("numOfHosts", 1)
    return [*found, ray_job["spec"]["submitterPodTemplate"]]


def _pod(name: str, template: Json, ray_job: Json) -> Json:
    metadata = {**(template.get("metadata") or {}), "name": name, "namespace": "default"}
    metadata["ownerReferences"] = [_controller(ray_job)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _controller(ray_job: Json) -> Json:
    metadata = ray_job["metadata"]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
