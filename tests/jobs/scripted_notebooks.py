"""A scripted stand-in for Kubeflow's notebook controller and Kubernetes' StatefulSet controller."""

from copy import deepcopy
from typing import Any

from jobs.custom_kinds import CustomKindsHarness, controller_of

Json = Any

STOPPED = "kubeflow-resource-stopped"


class ScriptedNotebookController:
    """Acts on one Notebook only when it is called."""

    def __init__(self, cluster: CustomKindsHarness) -> None:
        self._cluster = cluster

    async def act(self, notebook: Json) -> list[str]:
        """Create or update the StatefulSet, then its pod; the errors of a rejected update."""
        notebook = await self._cluster.read(notebook)
        wanted = _stateful_set(notebook)
        try:
            current = await self._cluster.read(wanted)
        except AssertionError:
            current = await self._cluster.submit(wanted)
        errors = await self._update(current, wanted)
        await self._keep_pod(await self._cluster.read(wanted))
        return errors

    async def stateful_set(self, notebook: Json) -> Json:
        """The StatefulSet of a Notebook."""
        return await self._cluster.read(_stateful_set(await self._cluster.read(notebook)))

    async def _update(self, current: Json, wanted: Json) -> list[str]:
        """As the notebook controller does: labels, annotations, replicas and pod spec become the desired ones."""
        labels = dict.fromkeys(current["metadata"].get("labels") or {})
        patch = {
            "metadata": {"labels": labels},
            "spec": {
                "replicas": wanted["spec"]["replicas"],
                "template": {"spec": {"containers": wanted["spec"]["template"]["spec"]["containers"]}},
            },
        }
        return await self._cluster.change(current, patch)

    async def _keep_pod(self, stateful_set: Json) -> None:
        """Create or delete the pod, and report it."""
        name = f"{stateful_set['metadata']['name']}-0"
        pod = (await self._cluster.pods()).get(name)
        replicas = stateful_set["spec"]["replicas"]
        if replicas and pod is None:
            await self._cluster.submit(_pod(stateful_set, name))
        elif not replicas and pod is not None:
            await self._cluster.delete({"apiVersion": "v1", "kind": "Pod", **pod})
        pod = (await self._cluster.pods()).get(name)
        is_ready = pod is not None and not pod["spec"].get("schedulingGates")
        await self._cluster.report(stateful_set, replicas=replicas, readyReplicas=int(is_ready))


def _stateful_set(notebook: Json) -> Json:
    head = notebook["metadata"]
    labels = {"statefulset": head["name"], "notebook-name": head["name"], **(head.get("labels") or {})}
    template = {"metadata": {"labels": labels}, "spec": deepcopy(notebook["spec"]["template"]["spec"])}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": head["name"],
            "namespace": head["namespace"],
            "ownerReferences": controller_of(notebook),
        },
        "spec": {
            "replicas": 0 if STOPPED in (head.get("annotations") or {}) else 1,
            "serviceName": head["name"],
            "selector": {"matchLabels": {"statefulset": head["name"]}},
            "template": template,
        },
    }


def _pod(stateful_set: Json, name: str) -> Json:
    template = deepcopy(stateful_set["spec"]["template"])
    labels = {**template["metadata"]["labels"], "apps.kubernetes.io/pod-index": "0"}
    head = {**template["metadata"], "name": name, "namespace": "default", "labels": labels}
    head["ownerReferences"] = controller_of(stateful_set)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": template["spec"]}
