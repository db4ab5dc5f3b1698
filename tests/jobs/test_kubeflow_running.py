"""A whole manager leads jobs of Kubeflow through their lives on an API server in memory.

A scripted operator creates the pods of PyTorchJobs and MPIJobs (`scripted_training_operator`).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from jobs.job_manager_harness import JobManagerHarness, conditions_of, running_job_harness
from jobs.replica_jobs import MPI, PYTORCH, make_definition, make_replica_job, make_replica_spec
from jobs.scripted_training_operator import ScriptedTrainingOperator
from jobs.train_jobs import TRAIN, make_runtime, make_train_job
from jobs.webhook_caller import WebhookCaller
from kit.apiserver import Object
from kit.builders.kueue import (
    make_cluster_queue,
    make_local_queue,
    make_resource_flavor,
    make_workload_priority_class,
)
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.controllers.context import ManagerSettings
from kohort.jobs.frameworks.kubeflow.replica_jobs import ReplicaJobFramework

KINDS = pytest.mark.parametrize("framework", [PYTORCH, MPI], ids=lambda each: each.resource.kind)


@dataclass
class TrainingCluster:
    """A cluster with two cpus for training jobs, its webhooks and its operator."""

    harness: JobManagerHarness
    framework: ReplicaJobFramework
    webhooks: WebhookCaller
    operator: ScriptedTrainingOperator

    async def submit(self, name: str, workers: int = 1, priority: str = "") -> None:
        """Submit a job of one pod, and so many workers, of one cpu each."""
        first, worker = self.framework.replica_types
        specs = {first: make_replica_spec(1, nodeSelector={"disk": "ssd"}), worker: make_replica_spec(workers)}
        job = make_replica_job(self.framework, specs, name)
        if priority:
            job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority
        await self.webhooks.send(job)
        await self.settle()

    async def settle(self) -> None:
        """Let the manager and the operator act, until the operator has nothing left to do."""
        for _ in range(3):
            await self.harness.settle()
            await self.operator.reconcile()
        await self.harness.settle()

    async def job(self, name: str) -> Object:
        return await self.harness.server.get(self.framework.resource.path("default", name))

    async def spec(self, name: str) -> Any:
        return (await self.job(name))["spec"]

    async def workload(self, job: str) -> Object:
        prefix = f"{self.framework.resource.kind.lower()}-{job}-"
        (found,) = (w for w in await self.harness.workloads() if w["metadata"]["name"].startswith(prefix))
        return found


@asynccontextmanager
async def running_training_cluster(framework: ReplicaJobFramework) -> AsyncIterator[TrainingCluster]:
    settings = ManagerSettings(Configuration(integrations=Integrations(frameworks=(framework.name,))))
    async with running_job_harness(settings, framework) as harness:
        await harness.create(
            make_definition(framework.resource),
            make_resource_flavor("f", nodeLabels={"tier": "a"}),
            make_cluster_queue("cq", "2", preemption={"withinClusterQueue": "LowerPriority"}),
            make_local_queue("q", "cq"),
            make_workload_priority_class("high", 100),
        )
        await harness.settle()
        operator = ScriptedTrainingOperator(harness.server, framework)
        yield TrainingCluster(harness, framework, WebhookCaller(harness, [framework]), operator)


@KINDS
async def test_a_job_waits_for_quota_runs_is_preempted_resumes_and_is_deleted(framework: ReplicaJobFramework) -> None:
    async with running_training_cluster(framework) as cluster:
        await cluster.submit("too-large", workers=2)
        assert await cluster.operator.pods("too-large") == {}

        await cluster.submit("a")
        pods = await cluster.operator.pods("a")
        first, worker = (each.lower() for each in framework.replica_types)
        assert set(pods) == {f"a-{first}-0", f"a-{worker}-0"}
        assert pods[f"a-{first}-0"]["spec"]["nodeSelector"] == {"disk": "ssd", "tier": "a"}
        assert pods[f"a-{worker}-0"]["metadata"]["labels"]["kueue.x-k8s.io/podset"] == worker

        await cluster.submit("urgent", priority="high")
        assert await cluster.operator.pods("a") == {}
        assert len(await cluster.operator.pods("urgent")) == 2
        assert conditions_of(await cluster.workload("a"))["QuotaReserved"][0] == "False"
        stopped = (await cluster.spec("a"))[framework.replica_specs]
        assert stopped[framework.replica_types[0]] == make_replica_spec(1, nodeSelector={"disk": "ssd"})
        assert stopped[framework.replica_types[1]] == make_replica_spec(1)

        await cluster.operator.end("urgent", "Succeeded")
        await cluster.settle()
        assert conditions_of(await cluster.workload("urgent"))["Finished"] == ("True", "Succeeded")
        assert set(await cluster.operator.pods("a")) == set(pods), "it has resumed"

        path = framework.resource.path("default", "a")
        assert (await cluster.harness.server.request("DELETE", path)).status == 200
        await cluster.harness.settle()
        assert conditions_of(await cluster.workload("a"))["Finished"] == ("True", "OwnerNotFound")


@KINDS
async def test_quota_is_kept_until_the_operator_has_deleted_the_pods(framework: ReplicaJobFramework) -> None:
    async with running_training_cluster(framework) as cluster:
        await cluster.submit("a")
        job = await cluster.spec("a")
        assert job["runPolicy"]["suspend"] is False
        patch = {"spec": {"active": False}}
        name = (await cluster.workload("a"))["metadata"]["name"]
        path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/{name}"
        assert (await cluster.harness.server.merge(path, patch)).status == 200
        await cluster.harness.settle()
        assert (await cluster.spec("a"))["runPolicy"]["suspend"] is True
        assert conditions_of(await cluster.workload("a"))["QuotaReserved"][0] == "True"
        await cluster.settle()
        assert conditions_of(await cluster.workload("a"))["QuotaReserved"][0] == "False"


async def test_a_train_job_waits_for_its_runtime_and_then_for_quota() -> None:
    settings = ManagerSettings(Configuration(integrations=Integrations(frameworks=(TRAIN.name,))))
    async with running_job_harness(settings, TRAIN) as harness:
        await harness.create(*(make_definition(each) for each in TRAIN.resources))
        await harness.create(make_resource_flavor("f", nodeLabels={"tier": "a"}))
        await harness.create(make_cluster_queue("cq", "2"), make_local_queue("q", "cq"))
        await harness.settle()
        job = make_train_job(trainer={"numNodes": 2})
        job["metadata"]["namespace"] = "default"
        await WebhookCaller(harness, [TRAIN]).send(job)
        await harness.settle()
        assert await harness.workloads() == []
        assert ("ErrWorkloadCompose", "runtime 'torch' not found") in await harness.events()
        await harness.create(make_runtime())
        await harness.settle()
        (workload,) = await harness.workloads()
        assert [(each["name"], each["count"]) for each in workload["spec"]["podSets"]] == [("node", 2)]
        spec = (await harness.server.get(TRAIN.resource.path("default", "llm")))["spec"]
        assert spec["suspend"] is False
        (entry,) = spec["runtimePatches"]
        (patched,) = entry["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
        assert patched["template"]["spec"]["template"]["spec"]["nodeSelector"] == {"tier": "a"}
