"""A whole manager runs the lifecycles of pods and pod groups on an API server in memory."""

from typing import Any

from jobs.job_manager_harness import JobManagerHarness, conditions_of, queue_objects, running_job_harness
from jobs.pod_builders import gated, make_member, make_pod
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.controllers.context import ManagerSettings
from kohort.jobs.builtin import built_in_frameworks

PODS = "/api/v1/namespaces/default/pods"
SETTINGS = ManagerSettings(
    Configuration(integrations=Integrations(frameworks=("batch/job", "pod", "statefulset")), wait_for_pods_ready=None)
)


def placed(found: Any) -> Any:
    """A pod as it is sent, in the namespace of the harness."""
    head = {name: value for name, value in found["metadata"].items() if name not in ("uid", "creationTimestamp")}
    containers = [{**each, "image": "i:1"} for each in found["spec"]["containers"]]
    return {**found, "metadata": {**head, "namespace": "default"}, "spec": {**found["spec"], "containers": containers}}


async def pods(harness: JobManagerHarness) -> dict[str, bool]:
    """Each pod, and whether it still waits."""
    listed = (await harness.server.get(PODS))["items"]
    return {each["metadata"]["name"]: bool(each["spec"].get("schedulingGates")) for each in listed}


async def test_a_pod_waits_for_quota_and_runs_with_it() -> None:
    async with running_job_harness(SETTINGS, *built_in_frameworks()) as harness:
        await harness.create(*queue_objects("1"), placed(gated(make_pod("a"))), placed(gated(make_pod("b"))))
        await harness.settle()
        assert sorted((await pods(harness)).values()) == [False, True]
        assert len(await harness.workloads()) == 2


async def test_a_group_starts_as_a_whole_and_surplus_pods_are_deleted_once() -> None:
    async with running_job_harness(SETTINGS, *built_in_frameworks()) as harness:
        await harness.create(*queue_objects("2"), placed(gated(make_member("a"))))
        await harness.settle()
        assert await harness.workloads() == []
        await harness.create(placed(gated(make_member("b"))), placed(gated(make_member("c"))))
        await harness.settle()
        assert list((await pods(harness)).values()) == [False, False]
        (workload,) = await harness.workloads()
        assert conditions_of(workload)["Admitted"] == ("True", "Admitted")
        assert [reason for reason, _ in await harness.events()].count("ExcessPodDeleted") == 1
        await harness.create(placed(gated(make_member("d"))))
        await harness.settle()
        assert "d" not in await pods(harness)
