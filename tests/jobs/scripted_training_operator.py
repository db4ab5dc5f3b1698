"""A scripted operator in place of the Training Operator, for an API server in memory.

It follows Kubeflow's documentation: a suspended job has no pods, another one has a pod for each replica, and the status
counts them. Nothing of the real operator runs here.
"""

from collections.abc import Iterator

from jobs.replica_jobs import make_condition_status
from kit.apiserver import InMemoryApiServer, Object
from kohort.jobs.frameworks.kubeflow.replica_jobs import ReplicaJobFramework


class ScriptedTrainingOperator:
    """Creates and deletes the pods of one kind of jobs, one pass at a time."""

    def __init__(self, server: InMemoryApiServer, framework: ReplicaJobFramework) -> None:
        self._server = server
        self._framework = framework

    async def reconcile(self) -> None:
        """Bring the pods and the status of each job in line with its spec."""
        listed = await self._server.get(self._framework.resource.path("default"))
        for job in listed["items"]:
            if not _has_ended(job):
                await self._reconcile_job(job)

    async def pods(self, job: str) -> dict[str, Object]:
        """The pods of a job by name."""
        selector = f"training.kubeflow.org/job-name={job}"
        listed = await self._server.get("/api/v1/namespaces/default/pods", labelSelector=selector)
        return {each["metadata"]["name"]: each for each in listed["items"]}

    async def end(self, job: str, condition: str) -> None:
        """Report the end of a job, with its pods no longer active."""
        await self._report(job, {"replicaStatuses": None, **make_condition_status(condition)})

    async def _reconcile_job(self, job: Object) -> None:
        name, policy = job["metadata"]["name"], job["spec"].get("runPolicy") or {}
        wanted = {} if policy.get("suspend") else {pod["metadata"]["name"]: pod for pod in self._pods_of(job)}
        present = await self.pods(name)
        for pod in present.keys() - wanted.keys():
            reply = await self._server.request(
                "DELETE", f"/api/v1/namespaces/default/pods/{pod}", {"gracePeriodSeconds": 0}
            )
            assert reply.status == 200, reply
        for pod in wanted.keys() - present.keys():
            await self._server.create(wanted[pod])
        active = {type_: {"active": count} for type_, count in self._replicas(job)} if wanted else None
        await self._report(
            name, {"replicaStatuses": active, **make_condition_status("Running" if wanted else "Suspended")}
        )

    def _pods_of(self, job: Object) -> Iterator[Object]:
        resource, head = self._framework.resource, job["metadata"]
        owner = {"apiVersion": resource.api_version, "kind": resource.kind, "name": head["name"], "uid": head["uid"]}
        for type_, count in self._replicas(job):
            template = job["spec"][self._framework.replica_specs][type_]["template"]
            labels = {"training.kubeflow.org/job-name": head["name"], **template["metadata"].get("labels", {})}
            for index in range(count):
                metadata = {
                    "name": f"{head['name']}-{type_.lower()}-{index}",
                    "namespace": "default",
                    "labels": {**labels, "training.kubeflow.org/replica-index": str(index)},
                    "annotations": template["metadata"].get("annotations", {}),
                    "ownerReferences": [{**owner, "controller": True}],
                }
                yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}

    def _replicas(self, job: Object) -> list[tuple[str, int]]:
        specs = job["spec"][self._framework.replica_specs]
        return [(type_, spec.get("replicas", 1)) for type_, spec in specs.items()]

    async def _report(self, job: str, status: Object) -> None:
        path = self._framework.resource.path("default", job, "status")
        reply = await self._server.merge(path, {"status": status})
        assert reply.status == 200, reply


def _has_ended(job: Object) -> bool:
    conditions = job.get("status", {}).get("conditions", ())
    return any(each["type"] in ("Succeeded", "Failed") for each in conditions)
