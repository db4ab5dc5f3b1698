"""RayJobs on a manager, from their submission to their deletion, with a scripted operator (§17.2).

The operator is not KubeRay's: `scripted_kuberay` creates the pods and writes the status as that one does.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobs.job_manager_harness import JobManagerHarness, conditions_of, queue_objects, running_job_harness
from jobs.ray_objects import ELASTIC, make_ray_cluster, make_ray_job, ray_definition, worker_group
from jobs.scripted_kuberay import RAY_CLUSTERS, RAY_JOBS, ScriptedKubeRay
from jobs.webhook_caller import WebhookCaller, pods_by_name
from kit.builders.kueue import make_resource_group, make_workload_priority_class
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration, WaitForPodsReady
from kohort.controllers.context import ManagerSettings
from kohort.jobs.frameworks.ray.raycluster import RayClusterFramework
from kohort.jobs.frameworks.ray.rayjob import RayJobFramework
from kohort.jobs.frameworks.ray.rayservice import RayServiceFramework

Json = Any

FRAMEWORKS = (RayClusterFramework(), RayJobFramework(), RayServiceFramework())
SETTINGS = ManagerSettings(
    Configuration(
        integrations=Integrations(frameworks=tuple(each.name for each in FRAMEWORKS)),
        wait_for_pods_ready=WaitForPodsReady(),
    )
)
PRIORITY = "kueue.x-k8s.io/priority-class"


class RayHarness:
    """A cluster for five pods, and a scripted operator."""

    def __init__(self, manager: JobManagerHarness) -> None:
        self.manager = manager
        self.webhooks = WebhookCaller(manager, FRAMEWORKS)
        self.operator = ScriptedKubeRay(manager, self.webhooks)

    async def submit(self, name: str = "tune", priority: str = "", **more: Json) -> None:
        ray_job = make_ray_job(name=name, **more)
        del ray_job["metadata"]["uid"]
        if priority:
            ray_job["metadata"]["labels"][PRIORITY] = priority
        await self.webhooks.send(ray_job)
        await self.manager.settle()

    async def ray_job(self, name: str = "tune") -> Json:
        return await self.manager.server.get(f"{RAY_JOBS}/{name}")

    async def workload(self, name: str = "tune") -> Json:
        (found,) = (
            each for each in await self.manager.workloads() if each["metadata"]["ownerReferences"][0]["name"] == name
        )
        return found

    async def conditions(self, name: str = "tune") -> dict[str, tuple[str, str]]:
        return conditions_of(await self.workload(name))

    async def pods(self) -> list[Json]:
        return list((await pods_by_name(self.manager)).values())


@pytest.fixture
async def cluster() -> AsyncIterator[RayHarness]:
    async with running_job_harness(SETTINGS, *FRAMEWORKS) as manager:
        flavor, queue, local = queue_objects()
        queue["spec"] |= {
            "resourceGroups": [make_resource_group({"cpu": "5", "memory": "1Gi"}, "f")],
            "preemption": {"withinClusterQueue": "LowerPriority"},
        }
        definitions = [ray_definition(each.resource.kind) for each in FRAMEWORKS]
        classes = [make_workload_priority_class("low", 1), make_workload_priority_class("high", 9)]
        await manager.create(flavor, queue, local, *definitions, *classes)
        await manager.settle()
        yield RayHarness(manager)


async def test_a_ray_job_waits_for_quota_runs_is_preempted_runs_again_finishes_and_is_deleted(
    cluster: RayHarness,
) -> None:
    await cluster.submit("first")
    await cluster.operator.act()
    await cluster.submit(priority="low")
    waiting = await cluster.ray_job()
    assert waiting["spec"]["suspend"] is True
    assert (await cluster.conditions())["QuotaReserved"][0] == "False"
    counts = [(each["name"], each["count"]) for each in (await cluster.workload())["spec"]["podSets"]]
    assert counts == [("head", 1), ("workers", 2), ("submitter", 1)]

    await cluster.operator.finish("first", "SUCCEEDED")
    assert (await cluster.conditions("first"))["Finished"] == ("True", "Succeeded")
    assert (await cluster.ray_job())["spec"]["suspend"] is False
    await cluster.operator.act()
    pods = await cluster.pods()
    roles = sorted(each["metadata"]["labels"]["kueue.x-k8s.io/podset"] for each in pods)
    assert roles == ["head", "submitter", "workers", "workers"]
    assert all(each["spec"]["nodeSelector"] == {"tier": "a"} for each in pods)
    assert (await cluster.conditions())["PodsReady"] == ("True", "Started")

    await cluster.submit("urgent", priority="high")
    preempted = await cluster.ray_job()
    assert preempted["spec"] == waiting["spec"]
    assert (await cluster.conditions())["Evicted"] == ("True", "Preempted")
    assert (await cluster.conditions())["QuotaReserved"][0] == "True", "pods still run"
    await cluster.operator.act()
    assert (await cluster.ray_job("urgent"))["spec"]["suspend"] is False
    assert (await cluster.conditions())["QuotaReserved"][0] == "False"

    await cluster.operator.act()
    await cluster.operator.finish("urgent", "FAILED")
    assert (await cluster.conditions("urgent"))["Finished"] == ("True", "Failed")
    assert (await cluster.ray_job())["spec"]["suspend"] is False
    await cluster.operator.act()
    assert len(await cluster.pods()) == 4
    await cluster.operator.finish("tune", "SUCCEEDED")
    finished = await cluster.workload()
    assert conditions_of(finished)["Finished"] == ("True", "Succeeded")
    assert not finished["metadata"].get("finalizers")
    assert await cluster.pods() == []

    response = await cluster.manager.server.request("DELETE", f"{RAY_JOBS}/tune")
    assert response.status == 200
    await cluster.manager.settle()
    reasons = {reason for reason, _ in await cluster.manager.events()}
    assert {"CreatedWorkload", "Started", "Stopped", "FinishedWorkload"} <= reasons


async def test_a_deleted_ray_job_frees_its_quota(cluster: RayHarness) -> None:
    await cluster.submit()
    await cluster.submit("next")
    assert (await cluster.ray_job("next"))["spec"]["suspend"] is True
    await cluster.manager.server.request("DELETE", f"{RAY_JOBS}/tune")
    await cluster.manager.settle()
    assert (await cluster.ray_job("next"))["spec"]["suspend"] is False


async def test_the_cluster_of_a_ray_job_is_not_queued(cluster: RayHarness) -> None:
    await cluster.submit()
    await cluster.operator.act()
    (child,) = (await cluster.manager.server.get(RAY_CLUSTERS))["items"]
    assert "suspend" not in child["spec"]
    assert len(await cluster.manager.workloads()) == 1


async def test_an_elastic_ray_job_grows_with_its_cluster(cluster: RayHarness) -> None:
    autoscaled = {"enableInTreeAutoscaling": True}
    elastic: Json = {"annotations": {ELASTIC: "true"}, "cluster": autoscaled, "submissionMode": "HTTPMode"}
    await cluster.submit(**elastic)
    await cluster.manager.create(child_of(await cluster.ray_job()))
    response = await cluster.manager.server.merge(
        f"{RAY_JOBS}/tune/status",
        {"status": {"jobDeploymentStatus": "Running", "rayClusterName": "tune-1"}},
    )
    assert response.status == 200
    await cluster.manager.settle()
    assert [workers(each) for each in await cluster.manager.workloads()] == [2]
    grown = {"spec": {"workerGroupSpecs": [worker_group(replicas=3)]}}
    assert (await cluster.manager.server.merge(f"{RAY_CLUSTERS}/tune-1", grown)).status == 200
    await cluster.manager.settle()
    sizes = {workers(each): conditions_of(each) for each in await cluster.manager.workloads()}
    assert sizes[3]["Admitted"] == ("True", "Admitted")
    assert sizes[2]["Finished"] == ("True", "WorkloadSliceReplaced")
    assert (await cluster.ray_job())["spec"]["suspend"] is False


def workers(workload: Json) -> int:
    return int(workload["spec"]["podSets"][1]["count"])


def child_of(ray_job: Json) -> Json:
    """The RayCluster of the job."""
    found = make_ray_cluster(name="tune-1", annotations={ELASTIC: "true"}, enableInTreeAutoscaling=True)
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "tune", "uid": ray_job["metadata"]["uid"]}
    found["metadata"] |= {"ownerReferences": [{**owner, "controller": True}]}
    del found["metadata"]["uid"]
    return found


@pytest.mark.parametrize(
    "groups",
    [[worker_group(f"g{number}") for number in range(20)], [worker_group("a", {"spec": {"containers": "none"}})]],
    ids=["20 groups", "no containers"],
)
async def test_a_ray_cluster_that_cannot_be_queued_gets_one_event_and_is_not_retried(
    cluster: RayHarness, groups: list[Json]
) -> None:
    """As created while webhooks were off."""
    await cluster.manager.create(make_ray_cluster(*groups, suspend=True))
    await cluster.manager.settle()
    assert await cluster.manager.workloads() == []
    assert [reason for reason, _ in await cluster.manager.events()] == ["ErrWorkloadCompose"]
    before = len(cluster.manager.manager.transport.sent)
    await cluster.manager.advance(60.0)
    sent = cluster.manager.manager.transport.sent[before:]
    assert [each.path for each in sent if "watch" not in dict(each.query)] == []
