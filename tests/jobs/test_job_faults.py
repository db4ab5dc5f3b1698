"""With a failure of any write, a job gets to the same end: nothing twice, nothing left out."""

from itertools import chain, cycle
from typing import Any

import pytest

from jobs.job_manager_harness import JobManagerHarness, conditions_of, queue_objects, running_job_harness
from kit.builders.batch import make_job
from kit.faults import Rejection, RequestFault

RUNNING = {"status": {"active": 1, "ready": 1, "startTime": "2026-01-01T00:00:00Z"}}
FAULTS = (
    Rejection(409),
    RequestFault.UNREACHABLE,
    Rejection(500),
    RequestFault.LOST_RESPONSE,
    Rejection(429, retry_after=1),
    Rejection(503),
    Rejection(504),
)


async def life(harness: JobManagerHarness) -> Any:
    """A job is queued, runs, is evicted, stops, and is admitted again."""
    await harness.create(*queue_objects(), make_job())
    await harness.settle()
    await harness.change_job(RUNNING, subresource="status")
    (workload,) = await harness.workloads()
    await harness.merge("Workload", workload["metadata"]["name"], {"spec": {"active": False}})
    await harness.settle()
    stopped = await harness.job()
    await harness.change_job({"status": {"active": 0, "ready": 0}}, subresource="status")
    await harness.settle()
    (released,) = await harness.workloads()
    await harness.merge("Workload", workload["metadata"]["name"], {"spec": {"active": True}})
    await harness.settle()
    (again,) = await harness.workloads()
    return [_spec(stopped), conditions_of(released), _spec(await harness.job()), conditions_of(again)]


def _spec(job: Any) -> Any:
    """A Job, without the fields that its UID changes."""
    template = job["spec"]["template"]
    labels = set(template.get("metadata", {}).get("labels", {}))
    notes = sorted(job["metadata"].get("annotations", {}))
    return job["spec"]["suspend"], template["spec"], labels, notes


@pytest.mark.parametrize("first", range(0, len(FAULTS), 3))
async def test_every_second_write_may_fail(first: int) -> None:
    async with running_job_harness() as harness:
        expected = await life(harness)
    turned = FAULTS[first:] + FAULTS[:first]
    every_second = cycle(chain.from_iterable((fault, RequestFault.NONE) for fault in turned))
    async with running_job_harness() as harness:
        harness.manager.transport.faults = every_second
        assert await life(harness) == expected
        reasons = [reason for reason, _ in await harness.events()]
        assert reasons.count("CreatedWorkload") <= 1
