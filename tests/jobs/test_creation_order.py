"""Jobs created within one second are queued in the order of their creation on the embedded control plane (SCH-212e)."""

import random

from jobs.job_manager_harness import queue_objects, running_job_harness
from kit.builders.batch import make_job


async def test_jobs_of_one_second_wait_in_the_order_of_their_creation() -> None:
    names = [f"job-{number}" for number in range(12)]
    random.Random(7).shuffle(names)  # noqa: S311
    async with running_job_harness() as harness:
        for manifest in queue_objects(cpu="0"):
            await harness.server.create(manifest)
        for name in names:
            await harness.server.create(make_job(name))
        await harness.settle()
        workloads = await harness.workloads()
        assert len({each["metadata"]["creationTimestamp"] for each in workloads}) == 1
        waiting = harness.manager.context.engine.store.pending["cq"].first(len(names))
        owners = {each["metadata"]["name"]: each["metadata"]["ownerReferences"][0]["name"] for each in workloads}
        assert [owners[each.key.name] for each in waiting] == names
