"""CronJobs make Jobs by the clock; Jobs that ended go when their time is up."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from embedded.controllers.jobs.job_harness import JobControllerHarness, job, running_job_controller_harness
from kit.apiserver import Object
from kohort.embedded.controllers.cronjobs.controller import CronJobController
from kohort.embedded.controllers.ttl import ExpiredJobs

MINUTE_ZERO = 29453760
"""The start of virtual time, in minutes of the epoch."""


@pytest_asyncio.fixture
async def harness() -> AsyncIterator[JobControllerHarness]:
    async with running_job_controller_harness(CronJobController, ExpiredJobs) as found:
        yield found


def cron_job(schedule: str = "* * * * *", template: Object | None = None, **spec: Any) -> Object:
    head = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick", "namespace": "default"}}
    spec = {"schedule": schedule, "jobTemplate": {"spec": (template or job())["spec"]}, **spec}
    return {**head, "spec": spec}


async def jobs(harness: JobControllerHarness) -> list[str]:
    return [each["metadata"]["name"] for each in await harness.items("/apis/batch/v1/namespaces/default/jobs")]


async def test_a_job_is_made_every_minute_and_noted(harness: JobControllerHarness) -> None:
    made = await harness.create(cron_job())
    await harness.advance(61)
    await harness.advance(60)
    assert await jobs(harness) == [f"tick-{MINUTE_ZERO + 1}", f"tick-{MINUTE_ZERO + 2}"]
    status = await harness.status(made)
    assert [each["name"] for each in status["active"]] == await jobs(harness)
    assert status["lastScheduleTime"] == "2026-01-01T00:02:00Z"
    first = await harness.cluster.get(f"/apis/batch/v1/namespaces/default/jobs/tick-{MINUTE_ZERO + 1}")
    assert first["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"] == "2026-01-01T00:01:00Z"
    assert first["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    assert ("SuccessfulCreate", f"Created job tick-{MINUTE_ZERO + 1}") in await harness.events()


async def test_a_job_that_ended_is_no_longer_active_and_its_success_is_noted(harness: JobControllerHarness) -> None:
    made = await harness.create(cron_job("0 * * * *"))
    await harness.advance(3601)
    await harness.finish_all_pods()
    status = await harness.status(made)
    assert (status.get("active", []), "lastSuccessfulTime" in status) == ([], True)
    assert (
        "SawCompletedJob",
        f"Saw completed job: tick-{MINUTE_ZERO + 60}, condition: Complete",
    ) in await harness.events()


async def test_old_jobs_go_beyond_the_limits_of_history(harness: JobControllerHarness) -> None:
    await harness.create(cron_job(successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0))
    await harness.advance(61)
    for _ in range(3):
        await harness.finish_all_pods()
        await harness.advance(60)
    assert await jobs(harness) == [f"tick-{MINUTE_ZERO + 3}", f"tick-{MINUTE_ZERO + 4}"]
    assert ("SuccessfulDelete", f"Deleted job tick-{MINUTE_ZERO + 1}") in await harness.events()


async def test_forbid_waits_for_the_running_job(harness: JobControllerHarness) -> None:
    await harness.create(cron_job(concurrencyPolicy="Forbid"))
    await harness.advance(125)
    assert await jobs(harness) == [f"tick-{MINUTE_ZERO + 1}"]
    message = "Not starting job because prior execution is running and concurrency policy is Forbid"
    assert ("JobAlreadyActive", message) in await harness.events()
    await harness.finish_all_pods()
    await harness.advance(60)
    assert len(await jobs(harness)) >= 2


async def test_replace_deletes_the_running_job_first(harness: JobControllerHarness) -> None:
    made = await harness.create(cron_job(concurrencyPolicy="Replace"))
    await harness.advance(125)
    assert await jobs(harness) == [f"tick-{MINUTE_ZERO + 2}"]
    assert [each["name"] for each in (await harness.status(made))["active"]] == await jobs(harness)


async def test_a_suspended_cron_job_makes_nothing_and_catches_up_once(harness: JobControllerHarness) -> None:
    made = await harness.create(cron_job(suspend=True))
    await harness.advance(600)
    assert not await jobs(harness)
    await harness.merge(made, {"spec": {"suspend": False}})
    await harness.settle()
    assert await jobs(harness) == [f"tick-{MINUTE_ZERO + 10}"]


async def test_a_start_that_is_too_late_is_left_out(harness: JobControllerHarness) -> None:
    made = await harness.create(cron_job("0 * * * *", suspend=True, startingDeadlineSeconds=30))
    await harness.advance(3700)
    await harness.merge(made, {"spec": {"suspend": False}})
    await harness.settle()
    assert not await jobs(harness)
    await harness.advance(3600)
    assert await jobs(harness) == [f"tick-{MINUTE_ZERO + 120}"]


async def test_too_many_missed_starts_are_reported_and_the_last_one_is_made(harness: JobControllerHarness) -> None:
    made = await harness.create(cron_job(suspend=True))
    await harness.advance(60 * 200)
    await harness.merge(made, {"spec": {"suspend": False}})
    await harness.settle()
    assert await jobs(harness) == [f"tick-{MINUTE_ZERO + 200}"]
    assert "TooManyMissedTimes" in await harness.reasons()


async def test_times_are_those_of_the_time_zone(harness: JobControllerHarness) -> None:
    await harness.create(cron_job("0 2 * * *", timeZone="Asia/Tokyo"))
    await harness.advance(17 * 3600 + 5)
    (name,) = await jobs(harness)
    made = await harness.cluster.get(f"/apis/batch/v1/namespaces/default/jobs/{name}")
    moment = made["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    assert moment == "2026-01-02T02:00:00+09:00"


async def test_a_job_that_went_missing_is_no_longer_active(harness: JobControllerHarness) -> None:
    made = await harness.create(cron_job("0 * * * *"))
    await harness.advance(3601)
    name = f"tick-{MINUTE_ZERO + 60}"
    await harness.cluster.request(
        "DELETE", f"/apis/batch/v1/namespaces/default/jobs/{name}", {"propagationPolicy": "Background"}
    )
    await harness.settle()
    assert not (await harness.status(made)).get("active")
    assert ("MissingJob", f"Active job went missing: {name}") in await harness.events()


async def test_a_job_that_was_made_and_not_noted_is_found_again(harness: JobControllerHarness) -> None:
    harness.interceptor.reject("PATCH", "/cronjobs/tick/status", 409)
    made = await harness.create(cron_job("0 * * * *", job(suspend=True)))
    await harness.advance(3605)
    assert await jobs(harness) == [f"tick-{MINUTE_ZERO + 60}"]
    assert [each["name"] for each in (await harness.status(made))["active"]] == await jobs(harness)


async def test_a_job_that_ended_is_deleted_when_its_time_is_up(harness: JobControllerHarness) -> None:
    made = await harness.create(job("short", ttlSecondsAfterFinished=30))
    await harness.settle()
    await harness.finish_all_pods()
    await harness.advance(20)
    assert "deletionTimestamp" not in (await harness.get(made))["metadata"]
    await harness.merge(made, {"spec": {"ttlSecondsAfterFinished": 60}})
    await harness.advance(20)
    assert "deletionTimestamp" not in (await harness.get(made))["metadata"]
    await harness.advance(30)
    gone = await harness.get(made)
    assert "deletionTimestamp" in gone["metadata"]
    assert gone["metadata"]["finalizers"] == ["foregroundDeletion"]
