"""Whatever goes wrong on the way, a job is led to the same end: nothing twice, nothing left out."""

from itertools import chain, cycle
from typing import Any

import pytest

from jobs.job_houses import JobHouse, a_queue, conditions, job_house
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


async def life(house: JobHouse) -> Any:
    """A job is queued, runs, is given up, stops, and is wanted again."""
    await house.create(*a_queue(), make_job())
    await house.calm()
    await house.change_job(RUNNING, subresource="status")
    (workload,) = await house.workloads()
    await house.merge("Workload", workload["metadata"]["name"], {"spec": {"active": False}})
    await house.calm()
    stopped = await house.job()
    await house.change_job({"status": {"active": 0, "ready": 0}}, subresource="status")
    await house.calm()
    (released,) = await house.workloads()
    await house.merge("Workload", workload["metadata"]["name"], {"spec": {"active": True}})
    await house.calm()
    (again,) = await house.workloads()
    return [_spec(stopped), conditions(released), _spec(await house.job()), conditions(again)]


def _spec(job: Any) -> Any:
    """What a Job says, without what its UID makes different."""
    template = job["spec"]["template"]
    labels = set(template.get("metadata", {}).get("labels", {}))
    notes = sorted(job["metadata"].get("annotations", {}))
    return job["spec"]["suspend"], template["spec"], labels, notes


@pytest.mark.parametrize("first", range(0, len(FAULTS), 3))
async def test_every_second_write_may_fail(first: int) -> None:
    async with job_house() as house:
        expected = await life(house)
    turned = FAULTS[first:] + FAULTS[:first]
    every_second = cycle(chain.from_iterable((fault, RequestFault.NONE) for fault in turned))
    async with job_house() as house:
        house.manager.wire.faults = every_second
        assert await life(house) == expected
        told = [reason for reason, _ in await house.events()]
        assert told.count("CreatedWorkload") <= 1
