"""A scripted stand-in for the Spark Operator: the pods of applications, and their status as it reports it."""

from copy import deepcopy
from typing import Any, Final

from jobs.job_manager_harness import JobManagerHarness
from jobs.spark_applications import in_state
from jobs.webhook_caller import pods_by_name

Json = Any

APPLICATIONS: Final = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications"
PODS: Final = "/api/v1/namespaces/default/pods"
_ENDED: Final = ("COMPLETED", "FAILED")


class ScriptedSparkOperator:
    """Acts on SparkApplications only when it is called."""

    def __init__(self, harness: JobManagerHarness) -> None:
        self._harness = harness

    async def act(self) -> None:
        """Start unsuspended applications, and delete the pods of suspended ones."""
        for each in (await self._harness.server.get(APPLICATIONS))["items"]:
            state = (each.get("status") or {}).get("applicationState", {}).get("state")
            if state in _ENDED:
                continue
            if each["spec"].get("suspend"):
                await self._delete_pods(each["metadata"]["name"])
                await self._report(each, in_state("SUSPENDED"))
            elif state != "RUNNING":
                await self._run(each)
        await self._harness.settle()

    async def suspending(self, name: str) -> None:
        """Report that the pods of an application are being deleted."""
        await self._report(await self._harness.server.get(f"{APPLICATIONS}/{name}"), in_state("SUSPENDING"))
        await self._harness.settle()

    async def finish(self, name: str, state: str) -> None:
        """End an application."""
        await self._delete_pods(name)
        await self._report(await self._harness.server.get(f"{APPLICATIONS}/{name}"), in_state(state, "m"))
        await self._harness.settle()

    async def _run(self, obj: Json) -> None:
        if obj["spec"].get("nodeSelector"):
            raise AssertionError("the operator rejects a node selector besides those of the roles")
        name, spec = obj["metadata"]["name"], obj["spec"]
        executors = [f"{name}-exec-{number}" for number in range(spec["executor"]["instances"])]
        await self._harness.create(_pod(f"{name}-driver", spec["driver"], obj))
        for each in executors:
            await self._harness.create(_pod(each, spec["executor"], obj))
        await self._report(obj, in_state("RUNNING", **dict.fromkeys(executors, "RUNNING")))

    async def _delete_pods(self, name: str) -> None:
        for pod in await pods_by_name(self._harness):
            if pod.startswith(f"{name}-"):
                await self._harness.server.request("DELETE", f"{PODS}/{pod}")

    async def _report(self, obj: Json, status: Json) -> None:
        path = f"{APPLICATIONS}/{obj['metadata']['name']}/status"
        response = await self._harness.server.merge(path, {"status": {"executorState": None}})
        assert response.status == 200, response
        response = await self._harness.server.merge(path, {"status": status})
        assert response.status == 200, response


def _pod(name: str, role: Json, obj: Json) -> Json:
    head = obj["metadata"]
    owner = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": head["name"], "uid": head["uid"]}
    metadata = {"name": name, "namespace": "default", "ownerReferences": [{**owner, "controller": True}]}
    labels, annotations = role.get("labels", {}), role.get("annotations", {})
    container = {"name": "spark", "image": "spark:4", "resources": {"requests": {"cpu": role["coreRequest"]}}}
    placed = {each: deepcopy(role[each]) for each in ("nodeSelector", "tolerations") if each in role}
    spec = {"containers": [container], **placed}
    head = {**metadata, "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": spec}
