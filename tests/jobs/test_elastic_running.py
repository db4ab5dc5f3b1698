"""An elastic Job on a whole control plane: it grows while it runs, and no pod is placed without quota (GS-21)."""

from jobs.actions import ELASTIC
from jobs.job_cluster import PODS, JobCluster, running_job_cluster
from jobs.job_manager_harness import conditions_of, queue_objects
from kit.builders.batch import make_job
from kit.builders.core import make_namespace
from kit.golden.lifecycle import NAMESPACE
from kohort.api.config.v1beta2 import Configuration
from kohort.controllers.context import ManagerSettings
from kohort.jobs.frameworks.job import BatchJobFramework

JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"


async def placed(harness: JobCluster) -> int:
    """Pods that no gate holds back."""
    pods = (await harness.server.get(PODS))["items"]
    return sum(not pod["spec"].get("schedulingGates") for pod in pods)


async def resize(harness: JobCluster, pods: int) -> None:
    reply = await harness.server.merge(f"{JOBS}/etl", {"spec": {"parallelism": pods}})
    assert reply.status == 200, reply
    await harness.advance(6)


async def test_a_job_grows_as_far_as_quota_allows_and_shrinks_at_once() -> None:
    async with running_job_cluster(ManagerSettings(Configuration(wait_for_pods_ready=None))) as harness:
        await harness.create(make_namespace(NAMESPACE))
        flavor, queue, local = queue_objects("4")
        local["metadata"]["namespace"] = NAMESPACE
        job = make_job(parallelism=2, completions=None)
        job["metadata"] |= {"namespace": NAMESPACE, "annotations": ELASTIC}
        BatchJobFramework().gate_templates(job)
        await harness.create(flavor, queue, local, job)
        await harness.advance(6)
        assert await placed(harness) == 2
        await resize(harness, 4)
        assert await placed(harness) == 4
        await resize(harness, 6)
        assert await placed(harness) == 4, "the larger slice has no quota yet"
        assert (await harness.server.get(f"{JOBS}/etl"))["spec"]["suspend"] is False
        await resize(harness, 3)
        living = [each for each in await harness.workloads() if "Finished" not in conditions_of(each)]
        assert [each["spec"]["podSets"][0]["count"] for each in living if each["status"].get("admission")] == [3]
