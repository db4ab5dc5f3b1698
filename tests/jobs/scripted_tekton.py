"""A scripted stand-in for Tekton's controller: TaskRuns and pods of PipelineRuns, and their status as it reports it."""

from typing import Any

from jobs.custom_kinds import CustomKindsHarness, controller_of
from kohort.jobs.frameworks.tekton.types import TASK_RUNS

Json = Any


class ScriptedTekton:
    """Acts on a PipelineRun only when it is called; labels flow from the run to its TaskRuns and their pods."""

    def __init__(self, cluster: CustomKindsHarness) -> None:
        self._cluster = cluster

    async def run_task(self, run: Json, task: str, cpu: str = "1", **pod_spec: Json) -> Json:
        """Start the run if it may start, and create the pod of a task; the pod as it is stored."""
        run = await self._cluster.read(run)
        assert run["spec"].get("status", "") in ("", "CancelledRunFinally"), "a pending run gets no tasks"
        if not (run.get("status") or {}).get("startTime"):
            await self._cluster.report(run, startTime="2026-08-01T12:00:00Z", conditions=[_succeeded("Unknown")])
        name = f"{run['metadata']['name']}-{task}"
        task_run = _child(run, name, TASK_RUNS.api_version, TASK_RUNS.kind, {"taskRef": {"name": task}})
        await self._cluster.manager.create(task_run)
        container = {"name": "step-main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        pod = _child(await self._cluster.read(task_run), f"{name}-pod", "v1", "Pod", {"containers": [container]})
        pod["spec"] |= pod_spec
        return await self._cluster.submit(pod)

    async def end_task(self, pod: Json, phase: str = "Succeeded") -> None:
        """End the pod of a task."""
        await self._cluster.report(pod, phase=phase)

    async def finish(self, run: Json, succeeded: str, reason: str) -> None:
        """End a run."""
        conditions = [{**_succeeded(succeeded), "reason": reason, "message": "m"}]
        await self._cluster.report(run, completionTime="2026-08-01T13:00:00Z", conditions=conditions)


def _succeeded(status: str) -> Json:
    return {"type": "Succeeded", "status": status}


def _child(owner: Json, name: str, api_version: str, kind: str, spec: Json) -> Json:
    head = {"name": name, "namespace": "default", "labels": dict(owner["metadata"].get("labels") or {})}
    head["ownerReferences"] = controller_of(owner)
    return {"apiVersion": api_version, "kind": kind, "metadata": head, "spec": spec}
