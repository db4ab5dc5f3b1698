"""Jobs created within one second are queued in the order of their creation on the embedded control plane (SCH-212e)."""

import random

from jobs.job_houses import a_queue, job_house
from kit.builders.batch import make_job


async def test_jobs_of_one_second_wait_in_the_order_of_their_creation() -> None:
    names = [f"job-{number}" for number in range(12)]
    random.Random(7).shuffle(names)  # noqa: S311
    async with job_house() as house:
        for manifest in a_queue(cpu="0"):
            await house.cluster.create(manifest)
        for name in names:
            await house.cluster.create(make_job(name))
        await house.calm()
        workloads = await house.workloads()
        assert len({each["metadata"]["creationTimestamp"] for each in workloads}) == 1
        waiting = house.manager.world.engine.store.pending["cq"].first(len(names))
        owners = {each["metadata"]["name"]: each["metadata"]["ownerReferences"][0]["name"] for each in workloads}
        assert [owners[each.key.name] for each in waiting] == names
