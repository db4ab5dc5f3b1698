"""Jobs from their beginning to their end, on the embedded server in virtual time."""

from collections.abc import AsyncIterator

import pytest_asyncio

from embedded.controllers.jobs.job_harness import TRACKING, JobControllerHarness, job, running_job_controller_harness

COMPLETED = ("True", "CompletionsReached", "Reached expected number of succeeded pods")
TOO_MANY_FAILURES = ("True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")


@pytest_asyncio.fixture
async def world() -> AsyncIterator[JobControllerHarness]:
    async with running_job_controller_harness() as found:
        yield found


async def test_a_job_makes_a_pod_of_its_template(world: JobControllerHarness) -> None:
    made = await world.create(job())
    await world.settle()
    (pod,) = await world.pods()
    assert pod["metadata"]["generateName"] == "work-"
    assert pod["metadata"]["finalizers"] == [TRACKING]
    assert pod["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] == made["metadata"]["uid"]
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", made["metadata"]["uid"], True)
    status = await world.status(made)
    assert (status["active"], status["ready"], status["terminating"]) == (1, 0, 0)
    assert ("SuccessfulCreate", f"Created pod: {pod['metadata']['name']}") in await world.events()


async def test_a_job_completes_when_its_pods_have_succeeded(world: JobControllerHarness) -> None:
    made = await world.create(job(completions=3, parallelism=2))
    await world.settle()
    assert await world.finish_all_pods() == 2
    assert await world.finish_all_pods() == 1
    status = await world.status(made)
    assert (status["succeeded"], status.get("active"), status["uncountedTerminatedPods"]) == (3, None, {})
    assert "completionTime" in status
    assert await world.conditions(made) == {"SuccessCriteriaMet": COMPLETED, "Complete": COMPLETED}
    assert ("Completed", "Job completed") in await world.events()
    assert not any(pod["metadata"].get("finalizers") for pod in await world.pods())


async def test_failed_pods_are_replaced_after_ten_seconds_and_then_twenty(world: JobControllerHarness) -> None:
    made = await world.create(job(backoffLimit=2))
    await world.settle()
    for wait in (10, 20):
        assert await world.finish_all_pods(code=1) == 1
        await world.advance(wait - 5)
        assert not await world.active()
        await world.advance(6)
        assert len(await world.active()) == 1
    await world.finish_all_pods(code=1)
    assert await world.conditions(made) == {"FailureTarget": TOO_MANY_FAILURES, "Failed": TOO_MANY_FAILURES}
    assert (await world.status(made))["failed"] == 3
    assert "BackoffLimitExceeded" in await world.reasons()


async def test_a_success_resets_the_failure_count(world: JobControllerHarness) -> None:
    await world.create(job(completions=2, parallelism=1))
    await world.settle()
    await world.finish_all_pods(code=1)
    await world.advance(11)
    await world.finish_all_pods()
    assert len(await world.active()) == 1


async def test_a_failing_job_stops_its_other_pods_and_waits_for_them(world: JobControllerHarness) -> None:
    made = await world.create(job(completions=2, parallelism=2, backoffLimit=0))
    await world.settle()
    await world.mark_running(*await world.active())
    await world.settle()
    await world.finish_pods((await world.active())[0], code=1)
    await world.settle()
    assert await world.conditions(made) == {"FailureTarget": TOO_MANY_FAILURES}
    status = await world.status(made)
    assert (status.get("active"), status["terminating"], status["failed"]) == (None, 1, 2)
    await world.remove_terminating_pods()
    assert "Failed" in await world.conditions(made)
    assert (await world.status(made))["failed"] == 2


async def test_a_job_past_its_deadline_fails(world: JobControllerHarness) -> None:
    made = await world.create(job(activeDeadlineSeconds=30))
    await world.settle()
    await world.advance(25)
    assert not await world.conditions(made)
    await world.advance(6)
    await world.remove_terminating_pods()
    expected = ("True", "DeadlineExceeded", "Job was active longer than specified deadline")
    assert (await world.conditions(made))["Failed"] == expected
    assert ("DeadlineExceeded", "Job was active longer than specified deadline") in await world.events()


async def test_without_completions_one_success_is_enough_and_the_others_run_on(world: JobControllerHarness) -> None:
    made = await world.create(job(parallelism=3, completions=None))
    await world.settle()
    first, *others = await world.active()
    await world.finish_pods(first)
    await world.settle()
    assert len(await world.active()) == 2
    assert not await world.conditions(made)
    await world.finish_pods(*others, code=1)
    await world.settle()
    assert (await world.conditions(made))["Complete"] == COMPLETED


async def test_a_suspended_job_has_no_pods_and_runs_when_resumed(world: JobControllerHarness) -> None:
    made = await world.create(job(suspend=True))
    await world.settle()
    assert not await world.pods()
    assert await world.conditions(made) == {"Suspended": ("True", "JobSuspended", "Job suspended")}
    assert "startTime" not in await world.status(made)
    await world.merge(made, {"spec": {"suspend": False}})
    await world.settle()
    assert len(await world.active()) == 1
    assert await world.conditions(made) == {"Suspended": ("False", "JobResumed", "Job resumed")}
    assert "startTime" in await world.status(made)
    assert {"Suspended", "Resumed"} <= set(await world.reasons())


async def test_suspending_a_running_job_removes_its_pods_without_counting_them(world: JobControllerHarness) -> None:
    made = await world.create(job(completions=2, parallelism=2))
    await world.settle()
    await world.mark_running(*await world.active())
    await world.merge(made, {"spec": {"suspend": True}})
    await world.settle()
    status = await world.status(made)
    assert (status.get("active"), status["terminating"], status.get("failed")) == (None, 2, None)
    assert "startTime" not in status
    await world.remove_terminating_pods()
    assert not await world.pods()
    assert (await world.status(made))["terminating"] == 0
    assert (await world.reasons()).count("SuccessfulDelete") == 2


async def test_less_parallelism_removes_pods_that_have_not_come_far(world: JobControllerHarness) -> None:
    made = await world.create(job(completions=4, parallelism=3))
    await world.settle()
    advanced = (await world.active())[1]
    await world.mark_running(advanced)
    await world.merge(made, {"spec": {"parallelism": 1}})
    await world.settle()
    assert [pod["metadata"]["name"] for pod in await world.active()] == [advanced["metadata"]["name"]]
    assert (await world.status(made)).get("failed") is None
    await world.merge(made, {"spec": {"parallelism": 4}})
    await world.settle()
    assert len(await world.active()) == 4


async def test_a_deleted_pod_counts_as_failed_and_is_replaced(world: JobControllerHarness) -> None:
    made = await world.create(job())
    await world.settle()
    (pod,) = await world.active()
    await world.mark_running(pod)
    await world.delete(pod)
    await world.settle()
    assert (await world.status(made))["failed"] == 1
    await world.remove_terminating_pods()
    await world.advance(11)
    assert len(await world.active()) == 1


async def test_pods_that_may_not_be_made_are_reported_and_tried_again(world: JobControllerHarness) -> None:
    world.interceptor.reject("POST", "/pods", 403)
    made = await world.create(job(parallelism=3, completions=3))
    await world.clock.advance(0.1)
    assert (await world.status(made)).get("active") is None
    assert "FailedCreate" in await world.reasons()
    await world.advance(5)
    assert len(await world.active()) == 3


async def test_a_job_that_another_manages_is_left_alone(world: JobControllerHarness) -> None:
    made = await world.create(job(managedBy="example.com/other"))
    await world.advance(5)
    assert not await world.pods()
    assert not await world.status(made)


async def test_restarts_of_containers_count_like_failures(world: JobControllerHarness) -> None:
    made = await world.create(job(restart="OnFailure", backoffLimit=2))
    await world.settle()
    (pod,) = await world.active()
    await world.mark_running(pod)
    status = {"name": "main", "image": "i", "imageID": "", "ready": True, "restartCount": 2, "state": {"running": {}}}
    await world.set_status(pod, containerStatuses=[status])
    await world.settle()
    await world.remove_terminating_pods()
    assert (await world.conditions(made))["Failed"] == TOO_MANY_FAILURES


async def test_a_pod_that_ends_while_it_is_stopped_does_not_take_the_end_of_its_job_back(
    world: JobControllerHarness,
) -> None:
    made = await world.create(job(restart="OnFailure", backoffLimit=1))
    await world.settle()
    (pod,) = await world.active()
    await world.mark_running(pod)

    async def end() -> None:
        await world.finish_pods(pod, code=1)

    world.interceptor.before("DELETE", f"/pods/{pod['metadata']['name']}", end)
    status = {"name": "main", "image": "i", "imageID": "", "ready": True, "restartCount": 1, "state": {"running": {}}}
    await world.set_status(pod, containerStatuses=[status])
    await world.settle()
    await world.remove_terminating_pods()
    assert (await world.conditions(made))["Failed"] == TOO_MANY_FAILURES
    assert (await world.status(made))["failed"] == 1


async def test_nothing_to_complete_is_complete_at_once(world: JobControllerHarness) -> None:
    made = await world.create(job(completions=0))
    await world.settle()
    assert (await world.conditions(made))["Complete"] == COMPLETED
