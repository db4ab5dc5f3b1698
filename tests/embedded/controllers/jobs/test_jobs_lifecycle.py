"""Jobs from their beginning to their end, on the embedded server in virtual time."""

from collections.abc import AsyncIterator

import pytest_asyncio

from embedded.controllers.jobs.job_harness import TRACKING, JobControllerHarness, job, running_job_controller_harness

COMPLETED = ("True", "CompletionsReached", "Reached expected number of succeeded pods")
TOO_MANY_FAILURES = ("True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")


@pytest_asyncio.fixture
async def harness() -> AsyncIterator[JobControllerHarness]:
    async with running_job_controller_harness() as found:
        yield found


async def test_a_job_makes_a_pod_of_its_template(harness: JobControllerHarness) -> None:
    made = await harness.create(job())
    await harness.settle()
    (pod,) = await harness.pods()
    assert pod["metadata"]["generateName"] == "work-"
    assert pod["metadata"]["finalizers"] == [TRACKING]
    assert pod["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] == made["metadata"]["uid"]
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", made["metadata"]["uid"], True)
    status = await harness.status(made)
    assert (status["active"], status["ready"], status["terminating"]) == (1, 0, 0)
    assert ("SuccessfulCreate", f"Created pod: {pod['metadata']['name']}") in await harness.events()


async def test_a_job_completes_when_its_pods_have_succeeded(harness: JobControllerHarness) -> None:
    made = await harness.create(job(completions=3, parallelism=2))
    await harness.settle()
    assert await harness.finish_all_pods() == 2
    assert await harness.finish_all_pods() == 1
    status = await harness.status(made)
    assert (status["succeeded"], status.get("active"), status["uncountedTerminatedPods"]) == (3, None, {})
    assert "completionTime" in status
    assert await harness.conditions(made) == {"SuccessCriteriaMet": COMPLETED, "Complete": COMPLETED}
    assert ("Completed", "Job completed") in await harness.events()
    assert not any(pod["metadata"].get("finalizers") for pod in await harness.pods())


async def test_failed_pods_are_replaced_after_ten_seconds_and_then_twenty(harness: JobControllerHarness) -> None:
    made = await harness.create(job(backoffLimit=2))
    await harness.settle()
    for wait in (10, 20):
        assert await harness.finish_all_pods(code=1) == 1
        await harness.advance(wait - 5)
        assert not await harness.active()
        await harness.advance(6)
        assert len(await harness.active()) == 1
    await harness.finish_all_pods(code=1)
    assert await harness.conditions(made) == {"FailureTarget": TOO_MANY_FAILURES, "Failed": TOO_MANY_FAILURES}
    assert (await harness.status(made))["failed"] == 3
    assert "BackoffLimitExceeded" in await harness.reasons()


async def test_a_success_resets_the_failure_count(harness: JobControllerHarness) -> None:
    await harness.create(job(completions=2, parallelism=1))
    await harness.settle()
    await harness.finish_all_pods(code=1)
    await harness.advance(11)
    await harness.finish_all_pods()
    assert len(await harness.active()) == 1


async def test_a_failing_job_stops_its_other_pods_and_waits_for_them(harness: JobControllerHarness) -> None:
    made = await harness.create(job(completions=2, parallelism=2, backoffLimit=0))
    await harness.settle()
    await harness.mark_running(*await harness.active())
    await harness.settle()
    await harness.finish_pods((await harness.active())[0], code=1)
    await harness.settle()
    assert await harness.conditions(made) == {"FailureTarget": TOO_MANY_FAILURES}
    status = await harness.status(made)
    assert (status.get("active"), status["terminating"], status["failed"]) == (None, 1, 2)
    await harness.remove_terminating_pods()
    assert "Failed" in await harness.conditions(made)
    assert (await harness.status(made))["failed"] == 2


async def test_a_job_past_its_deadline_fails(harness: JobControllerHarness) -> None:
    made = await harness.create(job(activeDeadlineSeconds=30))
    await harness.settle()
    await harness.advance(25)
    assert not await harness.conditions(made)
    await harness.advance(6)
    await harness.remove_terminating_pods()
    expected = ("True", "DeadlineExceeded", "Job was active longer than specified deadline")
    assert (await harness.conditions(made))["Failed"] == expected
    assert ("DeadlineExceeded", "Job was active longer than specified deadline") in await harness.events()


async def test_without_completions_one_success_is_enough_and_the_others_run_on(harness: JobControllerHarness) -> None:
    made = await harness.create(job(parallelism=3, completions=None))
    await harness.settle()
    first, *others = await harness.active()
    await harness.finish_pods(first)
    await harness.settle()
    assert len(await harness.active()) == 2
    assert not await harness.conditions(made)
    await harness.finish_pods(*others, code=1)
    await harness.settle()
    assert (await harness.conditions(made))["Complete"] == COMPLETED


async def test_a_suspended_job_has_no_pods_and_runs_when_resumed(harness: JobControllerHarness) -> None:
    made = await harness.create(job(suspend=True))
    await harness.settle()
    assert not await harness.pods()
    assert await harness.conditions(made) == {"Suspended": ("True", "JobSuspended", "Job suspended")}
    assert "startTime" not in await harness.status(made)
    await harness.merge(made, {"spec": {"suspend": False}})
    await harness.settle()
    assert len(await harness.active()) == 1
    assert await harness.conditions(made) == {"Suspended": ("False", "JobResumed", "Job resumed")}
    assert "startTime" in await harness.status(made)
    assert {"Suspended", "Resumed"} <= set(await harness.reasons())


async def test_suspending_a_running_job_removes_its_pods_without_counting_them(harness: JobControllerHarness) -> None:
    made = await harness.create(job(completions=2, parallelism=2))
    await harness.settle()
    await harness.mark_running(*await harness.active())
    await harness.merge(made, {"spec": {"suspend": True}})
    await harness.settle()
    status = await harness.status(made)
    assert (status.get("active"), status["terminating"], status.get("failed")) == (None, 2, None)
    assert "startTime" not in status
    await harness.remove_terminating_pods()
    assert not await harness.pods()
    assert (await harness.status(made))["terminating"] == 0
    assert (await harness.reasons()).count("SuccessfulDelete") == 2


async def test_less_parallelism_removes_pods_that_have_not_come_far(harness: JobControllerHarness) -> None:
    made = await harness.create(job(completions=4, parallelism=3))
    await harness.settle()
    advanced = (await harness.active())[1]
    await harness.mark_running(advanced)
    await harness.merge(made, {"spec": {"parallelism": 1}})
    await harness.settle()
    assert [pod["metadata"]["name"] for pod in await harness.active()] == [advanced["metadata"]["name"]]
    assert (await harness.status(made)).get("failed") is None
    await harness.merge(made, {"spec": {"parallelism": 4}})
    await harness.settle()
    assert len(await harness.active()) == 4


async def test_a_deleted_pod_counts_as_failed_and_is_replaced(harness: JobControllerHarness) -> None:
    made = await harness.create(job())
    await harness.settle()
    (pod,) = await harness.active()
    await harness.mark_running(pod)
    await harness.delete(pod)
    await harness.settle()
    assert (await harness.status(made))["failed"] == 1
    await harness.remove_terminating_pods()
    await harness.advance(11)
    assert len(await harness.active()) == 1


async def test_pods_that_may_not_be_made_are_reported_and_tried_again(harness: JobControllerHarness) -> None:
    harness.interceptor.reject("POST", "/pods", 403)
    made = await harness.create(job(parallelism=3, completions=3))
    await harness.clock.advance(0.1)
    assert (await harness.status(made)).get("active") is None
    assert "FailedCreate" in await harness.reasons()
    await harness.advance(5)
    assert len(await harness.active()) == 3


async def test_a_job_that_another_manages_is_left_alone(harness: JobControllerHarness) -> None:
    made = await harness.create(job(managedBy="example.com/other"))
    await harness.advance(5)
    assert not await harness.pods()
    assert not await harness.status(made)


async def test_restarts_of_containers_count_like_failures(harness: JobControllerHarness) -> None:
    made = await harness.create(job(restart="OnFailure", backoffLimit=2))
    await harness.settle()
    (pod,) = await harness.active()
    await harness.mark_running(pod)
    status = {"name": "main", "image": "i", "imageID": "", "ready": True, "restartCount": 2, "state": {"running": {}}}
    await harness.set_status(pod, containerStatuses=[status])
    await harness.settle()
    await harness.remove_terminating_pods()
    assert (await harness.conditions(made))["Failed"] == TOO_MANY_FAILURES


async def test_a_pod_that_ends_while_it_is_stopped_does_not_take_the_end_of_its_job_back(
    harness: JobControllerHarness,
) -> None:
    made = await harness.create(job(restart="OnFailure", backoffLimit=1))
    await harness.settle()
    (pod,) = await harness.active()
    await harness.mark_running(pod)

    async def end() -> None:
        await harness.finish_pods(pod, code=1)

    harness.interceptor.before("DELETE", f"/pods/{pod['metadata']['name']}", end)
    status = {"name": "main", "image": "i", "imageID": "", "ready": True, "restartCount": 1, "state": {"running": {}}}
    await harness.set_status(pod, containerStatuses=[status])
    await harness.settle()
    await harness.remove_terminating_pods()
    assert (await harness.conditions(made))["Failed"] == TOO_MANY_FAILURES
    assert (await harness.status(made))["failed"] == 1


async def test_nothing_to_complete_is_complete_at_once(harness: JobControllerHarness) -> None:
    made = await harness.create(job(completions=0))
    await harness.settle()
    assert (await harness.conditions(made))["Complete"] == COMPLETED
