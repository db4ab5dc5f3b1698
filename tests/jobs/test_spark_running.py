"""SparkApplications on a manager, from their submission to their deletion, with a scripted operator (§17.6).

The operator is not that of Kubeflow: `scripted_spark_operator` creates the pods and writes the status as that one does.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobs.job_manager_harness import JobManagerHarness, conditions_of, queue_objects, running_job_harness
from jobs.kind_harness import JobKindHarness
from jobs.replica_jobs import make_definition
from jobs.scripted_spark_operator import APPLICATIONS, ScriptedSparkOperator
from jobs.spark_applications import make_application, role
from jobs.webhook_caller import pods_by_name
from kit.builders.kueue import make_resource_group, make_workload_priority_class
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration, WaitForPodsReady
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.controllers.context import ManagerSettings
from kohort.jobs.frameworks.pods.framework import PodFramework
from kohort.jobs.frameworks.sparkapplication import SparkApplicationFramework

Json = Any

FRAMEWORKS = (SparkApplicationFramework(), PodFramework())
SETTINGS = ManagerSettings(
    Configuration(
        integrations=Integrations(frameworks=tuple(each.name for each in FRAMEWORKS)),
        wait_for_pods_ready=WaitForPodsReady(),
    ),
    gates=FeatureGates(DEFAULT_GATES.on | {Gate.SparkApplicationIntegration}),
)


class SparkHarness(JobKindHarness):
    """A cluster for three pods, and a scripted operator."""

    def __init__(self, manager: JobManagerHarness) -> None:
        super().__init__(manager, FRAMEWORKS)
        self.operator = ScriptedSparkOperator(manager)

    async def submit(self, name: str = "pi", priority: str = "", **spec: Json) -> None:
        obj = make_application(name, nodeSelector={"z": "1"}, **spec)
        await self.send(obj, priority)

    async def application(self, name: str = "pi") -> Json:
        return await self.manager.server.get(f"{APPLICATIONS}/{name}")

    async def workload(self, name: str = "pi") -> Json:
        return await super().workload(name)

    async def conditions(self, name: str = "pi") -> dict[str, tuple[str, str]]:
        return await super().conditions(name)


@pytest.fixture
async def cluster() -> AsyncIterator[SparkHarness]:
    async with running_job_harness(SETTINGS, *FRAMEWORKS) as manager:
        flavor, queue, local = queue_objects()
        queue["spec"] |= {
            "resourceGroups": [make_resource_group({"cpu": "3", "memory": "8Gi"}, "f")],
            "preemption": {"withinClusterQueue": "LowerPriority"},
        }
        classes = [make_workload_priority_class("low", 1), make_workload_priority_class("high", 9)]
        definition = make_definition(SparkApplicationFramework.resource)
        await manager.create(flavor, queue, local, definition, *classes)
        await manager.settle()
        yield SparkHarness(manager)


async def test_an_application_waits_for_quota_runs_is_preempted_runs_again_finishes_and_is_deleted(
    cluster: SparkHarness,
) -> None:
    await cluster.submit("first")
    await cluster.operator.act()
    await cluster.submit(priority="low")
    waiting = await cluster.application()
    assert waiting["spec"]["suspend"] is True
    assert (await cluster.conditions())["QuotaReserved"][0] == "False"
    counts = [(each["name"], each["count"]) for each in (await cluster.workload())["spec"]["podSets"]]
    assert counts == [("driver", 1), ("executor", 2)]

    await cluster.operator.finish("first", "COMPLETED")
    assert (await cluster.conditions("first"))["Finished"] == ("True", "Succeeded")
    assert (await cluster.application())["spec"]["suspend"] is False
    await cluster.operator.act()
    pods = await pods_by_name(cluster.manager)
    roles = {name: pod["metadata"]["labels"]["kueue.x-k8s.io/podset"] for name, pod in pods.items()}
    assert roles == {"pi-driver": "driver", "pi-exec-0": "executor", "pi-exec-1": "executor"}
    assert all(each["spec"]["nodeSelector"] == {"tier": "a", "z": "1"} for each in pods.values())
    assert (await cluster.conditions())["PodsReady"] == ("True", "Started")

    await cluster.submit("urgent", priority="high")
    preempted = await cluster.application()
    assert preempted["spec"] == waiting["spec"]
    assert "annotations" not in preempted["metadata"]
    assert (await cluster.conditions())["Evicted"] == ("True", "Preempted")
    await cluster.operator.suspending("pi")
    assert (await cluster.conditions())["QuotaReserved"][0] == "True", "pods still run"
    await cluster.operator.act()
    assert (await cluster.application("urgent"))["spec"]["suspend"] is False
    assert (await cluster.conditions())["QuotaReserved"][0] == "False"

    await cluster.operator.act()
    await cluster.operator.finish("urgent", "FAILED")
    finished = await cluster.workload("urgent")
    assert conditions_of(finished)["Finished"] == ("True", "Failed")
    assert next(each for each in finished["status"]["conditions"] if each["type"] == "Finished")["message"] == "m"
    await cluster.operator.act()
    assert len(await pods_by_name(cluster.manager)) == 3
    await cluster.operator.finish("pi", "COMPLETED")
    assert not (await cluster.workload())["metadata"].get("finalizers")

    response = await cluster.manager.server.request("DELETE", f"{APPLICATIONS}/pi")
    assert response.status == 200
    await cluster.manager.settle()
    reasons = {reason for reason, _ in await cluster.manager.events()}
    assert {"CreatedWorkload", "Started", "Stopped", "FinishedWorkload"} <= reasons


async def test_pods_of_an_application_are_not_queued(cluster: SparkHarness) -> None:
    await cluster.submit()
    await cluster.operator.act()
    assert len(await cluster.manager.workloads()) == 1


@pytest.mark.parametrize(
    "spec",
    [{"driver": role("x")}, {"executor": role(instances=-1)}, {"executor": role(instances=2**40)}, {"driver": "x"}],
    ids=["no amount", "a negative count", "a huge count", "no object"],
)
async def test_an_application_that_cannot_be_queued_gets_one_event_and_is_not_retried(
    cluster: SparkHarness, spec: Json
) -> None:
    """As created while webhooks were off."""
    await cluster.manager.create(make_application(suspend=True, **spec))
    await cluster.manager.settle()
    assert await cluster.manager.workloads() == []
    (event,) = await cluster.manager.events()
    assert event[0] == "ErrWorkloadCompose"
    assert event[1].startswith("cannot be queued: ")
    before = len(cluster.manager.manager.transport.sent)
    await cluster.manager.advance(60.0)
    sent = cluster.manager.manager.transport.sent[before:]
    assert [each.path for each in sent if "watch" not in dict(each.query)] == []
