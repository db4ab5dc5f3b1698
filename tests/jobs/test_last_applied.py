"""What kubectl applied last stays with a job, though the manager does not keep it in memory."""

from typing import Any

import pytest

from jobs.job_houses import JobHouse, a_queue, job_house
from kit.builders.batch import make_job

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


async def deactivate(house: JobHouse) -> None:
    (workload,) = await house.workloads()
    place = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/{workload['metadata']['name']}"
    reply = await house.cluster.merge(place, {"spec": {"active": False}})
    assert reply.status == 200, reply


@pytest.mark.parametrize("others", [{}, {"example.com/owner": "ada"}])
async def test_it_survives_start_and_stop(others: dict[str, Any]) -> None:
    async with job_house() as house:
        for manifest in a_queue():
            await house.cluster.create(manifest)
        job = make_job()
        job["metadata"]["annotations"] = {LAST_APPLIED: '{"kind":"Job"}\n', **others}
        await house.cluster.create(job)
        await house.calm()
        assert (await house.job())["spec"]["suspend"] is False
        await deactivate(house)
        await house.calm()
        found = await house.job()
        assert found["spec"]["suspend"] is True
        assert found["metadata"]["annotations"] == job["metadata"]["annotations"]
