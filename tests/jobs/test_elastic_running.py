"""An elastic Job on a whole control plane: it grows while it runs, and no pod is placed without quota (GS-21)."""

from jobs.actions import ELASTIC
from jobs.job_houses import a_queue, conditions
from jobs.scenario_replay import NAMESPACE, PODS, JobCluster, running_job_cluster
from kit.builders.batch import make_job
from kohort.api.config.v1beta2 import Configuration
from kohort.controllers.context import ManagerSettings
from kohort.jobs.frameworks.job import BatchJobFramework

JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"


async def placed(home: JobCluster) -> int:
    """Pods that no gate holds back."""
    pods = (await home.cluster.get(PODS))["items"]
    return sum(not pod["spec"].get("schedulingGates") for pod in pods)


async def resize(home: JobCluster, pods: int) -> None:
    reply = await home.cluster.merge(f"{JOBS}/etl", {"spec": {"parallelism": pods}})
    assert reply.status == 200, reply
    await home.later(6)


async def test_a_job_grows_as_far_as_quota_goes_and_shrinks_at_once() -> None:
    async with running_job_cluster(ManagerSettings(Configuration(wait_for_pods_ready=None))) as home:
        await home.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        flavor, queue, local = a_queue("4")
        local["metadata"]["namespace"] = NAMESPACE
        job = make_job(parallelism=2, completions=None)
        job["metadata"] |= {"namespace": NAMESPACE, "annotations": ELASTIC}
        BatchJobFramework().gate_templates(job)
        await home.create(flavor, queue, local, job)
        await home.later(6)
        assert await placed(home) == 2
        await resize(home, 4)
        assert await placed(home) == 4
        await resize(home, 6)
        assert await placed(home) == 4, "the larger slice has no quota yet"
        assert (await home.cluster.get(f"{JOBS}/etl"))["spec"]["suspend"] is False
        await resize(home, 3)
        living = [each for each in await home.workloads() if "Finished" not in conditions(each)]
        assert [each["spec"]["podSets"][0]["count"] for each in living if each["status"].get("admission")] == [3]
