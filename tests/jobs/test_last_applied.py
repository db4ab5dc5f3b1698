"""What kubectl applied last stays with a job, though the manager does not keep it in memory."""

from typing import Any

import pytest

from jobs.job_manager_harness import JobManagerHarness, queue_objects, running_job_harness
from kit.builders.batch import make_job

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


async def deactivate(harness: JobManagerHarness) -> None:
    (workload,) = await harness.workloads()
    place = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/{workload['metadata']['name']}"
    reply = await harness.server.merge(place, {"spec": {"active": False}})
    assert reply.status == 200, reply


@pytest.mark.parametrize("others", [{}, {"example.com/owner": "ada"}])
async def test_it_survives_start_and_stop(others: dict[str, Any]) -> None:
    async with running_job_harness() as harness:
        for manifest in queue_objects():
            await harness.server.create(manifest)
        job = make_job()
        job["metadata"]["annotations"] = {LAST_APPLIED: '{"kind":"Job"}\n', **others}
        await harness.server.create(job)
        await harness.settle()
        assert (await harness.job())["spec"]["suspend"] is False
        await deactivate(harness)
        await harness.settle()
        found = await harness.job()
        assert found["spec"]["suspend"] is True
        assert found["metadata"]["annotations"] == job["metadata"]["annotations"]
