"""AppWrappers on a manager, from their submission to their deletion, with a scripted operator (§17.4).

The operator is not that of Project CodeFlare: `scripted_codeflare` creates the wrapped objects and writes the status.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobs.app_wrappers import (
    QUEUE,
    component,
    make_app_wrapper,
    pod_template,
    wrapped_job,
    wrapped_part,
    wrapped_service,
)
from jobs.job_manager_harness import JobManagerHarness, conditions_of, queue_objects, running_job_harness
from jobs.kind_harness import JobKindHarness
from jobs.replica_jobs import make_definition
from jobs.scripted_codeflare import APP_WRAPPERS, ScriptedCodeFlare
from jobs.webhook_caller import pods_by_name
from kit.builders.kueue import make_workload_priority_class
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration, WaitForPodsReady
from kohort.controllers.context import ManagerSettings
from kohort.jobs.frameworks.appwrapper import AppWrapperFramework
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.frameworks.pods.framework import PodFramework

Json = Any

FRAMEWORKS = (AppWrapperFramework(), BatchJobFramework(), PodFramework())
SETTINGS = ManagerSettings(
    Configuration(
        integrations=Integrations(frameworks=tuple(each.name for each in FRAMEWORKS)),
        wait_for_pods_ready=WaitForPodsReady(),
    )
)


def labelled(wrapped: Json) -> Json:
    """The component with a queue of its own, which is not used (JOB-6)."""
    wrapped["template"]["metadata"]["labels"] = {QUEUE: "q"}
    return wrapped


def wrapped_pair(name: str) -> list[Json]:
    """A Job of two pods, and a Pod."""
    pod = component("v1", "Pod", pod_template()["spec"], f"{name}-pod")
    job = wrapped_job(2, pod_template(restartPolicy="Never"), f"{name}-job")
    return [labelled(job), labelled(pod)]


class AppWrapperHarness(JobKindHarness):
    """A cluster for three pods, and a scripted operator."""

    def __init__(self, manager: JobManagerHarness) -> None:
        super().__init__(manager, FRAMEWORKS)
        self.operator = ScriptedCodeFlare(manager, self.webhooks)

    async def submit(self, name: str = "wrap", priority: str = "") -> None:
        obj = make_app_wrapper(*wrapped_pair(name), name=name)
        await self.send(obj, priority)

    async def app_wrapper(self, name: str = "wrap") -> Json:
        return await self.manager.server.get(f"{APP_WRAPPERS}/{name}")

    async def workload(self, name: str = "wrap") -> Json:
        return await super().workload(name)

    async def conditions(self, name: str = "wrap") -> dict[str, tuple[str, str]]:
        return await super().conditions(name)


@pytest.fixture
async def cluster() -> AsyncIterator[AppWrapperHarness]:
    async with running_job_harness(SETTINGS, *FRAMEWORKS) as manager:
        flavor, queue, local = queue_objects("3")
        queue["spec"]["preemption"] = {"withinClusterQueue": "LowerPriority"}
        classes = [make_workload_priority_class("low", 1), make_workload_priority_class("high", 9)]
        await manager.create(flavor, queue, local, make_definition(AppWrapperFramework.resource), *classes)
        await manager.settle()
        yield AppWrapperHarness(manager)


async def test_an_app_wrapper_waits_for_quota_runs_is_preempted_runs_again_finishes_and_is_deleted(
    cluster: AppWrapperHarness,
) -> None:
    await cluster.submit("first")
    await cluster.operator.act()
    await cluster.submit(priority="low")
    waiting = await cluster.app_wrapper()
    assert waiting["spec"]["suspend"] is True
    assert (await cluster.conditions())["QuotaReserved"][0] == "False"
    counts = [(each["name"], each["count"]) for each in (await cluster.workload())["spec"]["podSets"]]
    assert counts == [("wrap-0", 2), ("wrap-1", 1)]

    await cluster.operator.report("first", "Succeeded")
    assert (await cluster.conditions("first"))["Finished"] == ("True", "Succeeded")
    assert (await cluster.app_wrapper())["spec"]["suspend"] is False
    await cluster.operator.act()
    template = (await cluster.manager.job("wrap-job"))["spec"]["template"]
    pod = (await pods_by_name(cluster.manager))["wrap-pod"]
    for each, name in ((template, "wrap-0"), (pod, "wrap-1")):
        assert each["spec"]["nodeSelector"] == {"tier": "a"}
        assert each["metadata"]["labels"]["kueue.x-k8s.io/podset"] == name
    assert (await cluster.conditions())["PodsReady"] == ("True", "Started")

    await cluster.submit("urgent", priority="high")
    preempted = await cluster.app_wrapper()
    assert preempted["spec"] == waiting["spec"]
    assert (await cluster.conditions())["Evicted"] == ("True", "Preempted")
    assert (await cluster.conditions())["QuotaReserved"][0] == "True", "objects are still deployed"
    await cluster.operator.act()
    assert (await cluster.app_wrapper("urgent"))["spec"]["suspend"] is False
    assert (await cluster.conditions())["QuotaReserved"][0] == "False"

    await cluster.operator.act()
    await cluster.operator.report("urgent", "Failed", ResourcesDeployed=True)
    assert "Finished" not in await cluster.conditions("urgent"), "its objects are being deleted"
    await cluster.operator.report("urgent", "Failed", ResourcesDeployed=False)
    assert (await cluster.conditions("urgent"))["Finished"] == ("True", "Failed")
    await cluster.operator.act()
    await cluster.operator.report("wrap", "Succeeded")
    finished = await cluster.workload()
    assert conditions_of(finished)["Finished"] == ("True", "Succeeded")
    assert not finished["metadata"].get("finalizers")

    response = await cluster.manager.server.request("DELETE", f"{APP_WRAPPERS}/wrap")
    assert response.status == 200
    await cluster.manager.settle()
    reasons = {reason for reason, _ in await cluster.manager.events()}
    assert {"CreatedWorkload", "Started", "Stopped", "FinishedWorkload"} <= reasons


async def test_a_deleted_app_wrapper_frees_its_quota(cluster: AppWrapperHarness) -> None:
    await cluster.submit()
    await cluster.submit("next")
    assert (await cluster.app_wrapper("next"))["spec"]["suspend"] is True
    await cluster.manager.server.request("DELETE", f"{APP_WRAPPERS}/wrap")
    await cluster.manager.settle()
    assert (await cluster.app_wrapper("next"))["spec"]["suspend"] is False


async def test_wrapped_objects_are_not_queued_and_are_suspended_with_their_app_wrapper(
    cluster: AppWrapperHarness,
) -> None:
    """JOB-6, JOB-136."""
    await cluster.submit()
    await cluster.operator.act()
    assert len(await cluster.manager.workloads()) == 1
    job, pod = await cluster.manager.job("wrap-job"), (await pods_by_name(cluster.manager))["wrap-pod"]
    assert not job["spec"].get("suspend")
    assert not pod["spec"].get("schedulingGates")
    workload = await cluster.workload()
    await cluster.manager.merge("Workload", workload["metadata"]["name"], {"spec": {"active": False}})
    await cluster.operator.report("wrap", "Suspended")
    assert (await cluster.manager.job("wrap-job"))["spec"]["suspend"] is True
    assert len(await cluster.manager.workloads()) == 1


@pytest.mark.parametrize(
    "components",
    [
        [wrapped_service()],
        [wrapped_job(1, {"spec": {"containers": "none"}})],
        [wrapped_part(pod_template(), declared=[{"path": "template.spec.nothing"}])],
        [wrapped_job(1)] * 3000,
        [wrapped_job(2**40)],
    ],
    ids=["no pods", "no containers", "a path to nothing", "thousands of components", "a huge count"],
)
async def test_an_app_wrapper_that_cannot_be_queued_gets_one_event_and_is_not_retried(
    cluster: AppWrapperHarness, components: list[Json]
) -> None:
    """As created while webhooks were off."""
    await cluster.manager.create(make_app_wrapper(*components, suspend=True))
    await cluster.manager.settle()
    assert await cluster.manager.workloads() == []
    (event,) = await cluster.manager.events()
    assert event[0] == "ErrWorkloadCompose"
    assert event[1].startswith("cannot be queued: ")
    before = len(cluster.manager.manager.transport.sent)
    await cluster.manager.advance(60.0)
    sent = cluster.manager.manager.transport.sent[before:]
    assert [each.path for each in sent if "watch" not in dict(each.query)] == []
