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
async def world() -> AsyncIterator[JobControllerHarness]:
    async with running_job_controller_harness(CronJobController, ExpiredJobs) as found:
        yield found


def cron_job(schedule: str = "* * * * *", template: Object | None = None, **spec: Any) -> Object:
    head = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick", "namespace": "default"}}
    spec = {"schedule": schedule, "jobTemplate": {"spec": (template or job())["spec"]}, **spec}
    return {**head, "spec": spec}


async def jobs(world: JobControllerHarness) -> list[str]:
    return [each["metadata"]["name"] for each in await world.items("/apis/batch/v1/namespaces/default/jobs")]


async def test_a_job_is_made_every_minute_and_noted(world: JobControllerHarness) -> None:
    made = await world.create(cron_job())
    await world.advance(61)
    await world.advance(60)
    assert await jobs(world) == [f"tick-{MINUTE_ZERO + 1}", f"tick-{MINUTE_ZERO + 2}"]
    status = await world.status(made)
    assert [each["name"] for each in status["active"]] == await jobs(world)
    assert status["lastScheduleTime"] == "2026-01-01T00:02:00Z"
    first = await world.cluster.get(f"/apis/batch/v1/namespaces/default/jobs/tick-{MINUTE_ZERO + 1}")
    assert first["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"] == "2026-01-01T00:01:00Z"
    assert first["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    assert ("SuccessfulCreate", f"Created job tick-{MINUTE_ZERO + 1}") in await world.events()


async def test_a_job_that_ended_is_no_longer_active_and_its_success_is_noted(world: JobControllerHarness) -> None:
    made = await world.create(cron_job("0 * * * *"))
    await world.advance(3601)
    await world.finish_all_pods()
    status = await world.status(made)
    assert (status.get("active", []), "lastSuccessfulTime" in status) == ([], True)
    assert (
        "SawCompletedJob",
        f"Saw completed job: tick-{MINUTE_ZERO + 60}, condition: Complete",
    ) in await world.events()


async def test_old_jobs_go_beyond_the_limits_of_history(world: JobControllerHarness) -> None:
    await world.create(cron_job(successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0))
    await world.advance(61)
    for _ in range(3):
        await world.finish_all_pods()
        await world.advance(60)
    assert await jobs(world) == [f"tick-{MINUTE_ZERO + 3}", f"tick-{MINUTE_ZERO + 4}"]
    assert ("SuccessfulDelete", f"Deleted job tick-{MINUTE_ZERO + 1}") in await world.events()


async def test_forbid_waits_for_the_running_job(world: JobControllerHarness) -> None:
    await world.create(cron_job(concurrencyPolicy="Forbid"))
    await world.advance(125)
    assert await jobs(world) == [f"tick-{MINUTE_ZERO + 1}"]
    message = "Not starting job because prior execution is running and concurrency policy is Forbid"
    assert ("JobAlreadyActive", message) in await world.events()
    await world.finish_all_pods()
    await world.advance(60)
    assert len(await jobs(world)) >= 2


async def test_replace_deletes_the_running_job_first(world: JobControllerHarness) -> None:
    made = await world.create(cron_job(concurrencyPolicy="Replace"))
    await world.advance(125)
    assert await jobs(world) == [f"tick-{MINUTE_ZERO + 2}"]
    assert [each["name"] for each in (await world.status(made))["active"]] == await jobs(world)


async def test_a_suspended_cron_job_makes_nothing_and_catches_up_once(world: JobControllerHarness) -> None:
    made = await world.create(cron_job(suspend=True))
    await world.advance(600)
    assert not await jobs(world)
    await world.merge(made, {"spec": {"suspend": False}})
    await world.settle()
    assert await jobs(world) == [f"tick-{MINUTE_ZERO + 10}"]


async def test_a_start_that_is_too_late_is_left_out(world: JobControllerHarness) -> None:
    made = await world.create(cron_job("0 * * * *", suspend=True, startingDeadlineSeconds=30))
    await world.advance(3700)
    await world.merge(made, {"spec": {"suspend": False}})
    await world.settle()
    assert not await jobs(world)
    await world.advance(3600)
    assert await jobs(world) == [f"tick-{MINUTE_ZERO + 120}"]


async def test_too_many_missed_starts_are_reported_and_the_last_one_is_made(world: JobControllerHarness) -> None:
    made = await world.create(cron_job(suspend=True))
    await world.advance(60 * 200)
    await world.merge(made, {"spec": {"suspend": False}})
    await world.settle()
    assert await jobs(world) == [f"tick-{MINUTE_ZERO + 200}"]
    assert "TooManyMissedTimes" in await world.reasons()


async def test_times_are_those_of_the_time_zone(world: JobControllerHarness) -> None:
    await world.create(cron_job("0 2 * * *", timeZone="Asia/Tokyo"))
    await world.advance(17 * 3600 + 5)
    (name,) = await jobs(world)
    made = await world.cluster.get(f"/apis/batch/v1/namespaces/default/jobs/{name}")
    moment = made["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    assert moment == "2026-01-02T02:00:00+09:00"


async def test_a_job_that_went_missing_is_no_longer_active(world: JobControllerHarness) -> None:
    made = await world.create(cron_job("0 * * * *"))
    await world.advance(3601)
    name = f"tick-{MINUTE_ZERO + 60}"
    await world.cluster.request(
        "DELETE", f"/apis/batch/v1/namespaces/default/jobs/{name}", {"propagationPolicy": "Background"}
    )
    await world.settle()
    assert not (await world.status(made)).get("active")
    assert ("MissingJob", f"Active job went missing: {name}") in await world.events()


async def test_a_job_that_was_made_and_not_noted_is_found_again(world: JobControllerHarness) -> None:
    world.interceptor.reject("PATCH", "/cronjobs/tick/status", 409)
    made = await world.create(cron_job("0 * * * *", job(suspend=True)))
    await world.advance(3605)
    assert await jobs(world) == [f"tick-{MINUTE_ZERO + 60}"]
    assert [each["name"] for each in (await world.status(made))["active"]] == await jobs(world)


async def test_a_job_that_ended_is_deleted_when_its_time_is_up(world: JobControllerHarness) -> None:
    made = await world.create(job("short", ttlSecondsAfterFinished=30))
    await world.settle()
    await world.finish_all_pods()
    await world.advance(20)
    assert "deletionTimestamp" not in (await world.get(made))["metadata"]
    await world.merge(made, {"spec": {"ttlSecondsAfterFinished": 60}})
    await world.advance(20)
    assert "deletionTimestamp" not in (await world.get(made))["metadata"]
    await world.advance(30)
    gone = await world.get(made)
    assert "deletionTimestamp" in gone["metadata"]
    assert gone["metadata"]["finalizers"] == ["foregroundDeletion"]
