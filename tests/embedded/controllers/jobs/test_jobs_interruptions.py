"""Caches that lag, writes that fail, controllers that are replaced: nothing is made or counted twice."""

from collections.abc import AsyncIterator

import pytest_asyncio

from embedded.controllers.harness import with_controller
from embedded.controllers.jobs.job_harness import TRACKING, JobControllerHarness, job, running_job_controller_harness
from kit.apiserver import Object
from kit.builders.core import make_pod


@pytest_asyncio.fixture
async def harness() -> AsyncIterator[JobControllerHarness]:
    async with running_job_controller_harness() as found:
        yield found


async def test_a_cache_of_pods_that_lags_makes_no_pod_twice(harness: JobControllerHarness) -> None:
    harness.interceptor.hold_watches("pods")
    made = await harness.create(job(completions=4, parallelism=2))
    await harness.advance(5)
    await harness.merge(made, {"spec": {"parallelism": 3}})
    await harness.advance(5)
    assert len(await harness.pods()) == 3
    harness.interceptor.release_watches("pods")
    await harness.settle()
    assert len(await harness.pods()) == 3
    assert (await harness.status(made))["active"] == 3


async def test_a_cache_of_jobs_that_lags_counts_no_pod_twice(harness: JobControllerHarness) -> None:
    made = await harness.create(job(completions=3, parallelism=1))
    await harness.settle()
    harness.interceptor.hold_watches("jobs")
    await harness.finish_all_pods()
    await harness.finish_all_pods()
    assert (await harness.status(made))["succeeded"] == 2
    harness.interceptor.release_watches("jobs")
    await harness.finish_all_pods()
    assert (await harness.status(made))["succeeded"] == 3
    assert "Complete" in await harness.conditions(made)
    assert len(await harness.pods()) == 3


async def test_a_finalizer_that_stays_on_delays_the_count_but_does_not_spoil_it(harness: JobControllerHarness) -> None:
    made = await harness.create(job(completions=2, parallelism=2))
    await harness.settle()
    first, second = await harness.active()
    harness.interceptor.reject("PATCH", f"/pods/{first['metadata']['name']}", 500, 500, 500, 500, 500)
    await harness.finish_pods(first, second)
    await harness.advance(30)
    assert (await harness.status(made))["succeeded"] == 2
    assert (await harness.status(made))["uncountedTerminatedPods"] == {}
    assert "Complete" in await harness.conditions(made)


async def test_a_status_that_is_changed_meanwhile_is_not_overwritten(harness: JobControllerHarness) -> None:
    made = await harness.create(job())
    await harness.settle()

    async def label() -> None:
        await harness.merge(made, {"metadata": {"labels": {"team": "a"}}})

    harness.interceptor.before("PATCH", "/status", label)
    await harness.finish_all_pods()
    await harness.settle()
    assert (await harness.status(made))["succeeded"] == 1
    assert (await harness.get(made))["metadata"]["labels"]["team"] == "a"


async def test_a_new_controller_continues_where_the_last_one_stopped() -> None:
    async with running_job_controller_harness() as harness:
        made = await harness.create(job(completions=3, parallelism=3))
        await harness.settle()
        pods = await harness.active()
        await harness.finish_pods(pods[0])
        uid = pods[0]["metadata"]["uid"]
        # The note of a controller that went away before it took the finalizer off.
        await harness.set_status(made, uncountedTerminatedPods={"succeeded": [uid]})
        await harness.settle()
        assert (await harness.status(made))["succeeded"] == 1
        await harness.finish_all_pods()
        assert (await harness.status(made))["succeeded"] == 3


async def test_pods_of_a_job_that_is_gone_lose_their_finalizer(harness: JobControllerHarness) -> None:
    made = await harness.create(job(parallelism=2, completions=2))
    await harness.settle()
    await harness.delete(made, propagationPolicy="Background")
    await harness.settle()
    assert not any(pod["metadata"].get("finalizers") for pod in await harness.pods())


async def test_pods_of_another_owner_keep_a_finalizer_equal_to_ours(harness: JobControllerHarness) -> None:
    managed = await harness.create(job("other", managedBy="example.com/other"))
    theirs = with_controller(make_pod("theirs"), managed)
    theirs["metadata"]["finalizers"] = [TRACKING]
    await harness.create(theirs)
    stray = make_pod("stray")
    stray["metadata"]["finalizers"] = [TRACKING]
    await harness.create(stray)
    await harness.settle()
    kept = {each["metadata"]["name"]: each["metadata"].get("finalizers") for each in await harness.pods()}
    assert kept["theirs"] == [TRACKING]
    assert not kept["stray"]


async def test_a_terminating_job_creates_no_pods_and_releases_existing_ones(harness: JobControllerHarness) -> None:
    made = await harness.create(job(parallelism=2, completions=2))
    await harness.settle()
    (first, _) = await harness.active()
    await harness.delete(made, propagationPolicy="Foreground")
    await harness.delete(first)
    await harness.settle()
    assert len(await harness.pods()) == 1
    assert not (await harness.pods())[0]["metadata"].get("finalizers")


def matching(name: str, labels: Object) -> Object:
    found = make_pod(name, restartPolicy="Never")
    return {**found, "metadata": {**found["metadata"], "labels": labels}}


async def test_strays_that_a_selector_takes_in_are_adopted_and_counted(harness: JobControllerHarness) -> None:
    stray = await harness.create(matching("stray", {"app": "a"}))
    by_hand = job(manualSelector=True, selector={"matchLabels": {"app": "a"}})
    by_hand["spec"]["template"]["metadata"] = {"labels": {"app": "a"}}
    made = await harness.create(by_hand)
    await harness.settle()
    (adopted,) = await harness.pods()
    assert adopted["metadata"]["uid"] == stray["metadata"]["uid"]
    assert adopted["metadata"]["finalizers"] == [TRACKING]
    await harness.finish_pods(adopted)
    await harness.settle()
    assert (await harness.status(made))["succeeded"] == 1


async def test_a_pod_that_no_longer_matches_is_released_and_replaced(harness: JobControllerHarness) -> None:
    made = await harness.create(job())
    await harness.settle()
    (mine,) = await harness.active()
    await harness.merge(
        mine, {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": None, "controller-uid": None}}}
    )
    await harness.settle()
    let_go = await harness.get(mine)
    assert not let_go["metadata"].get("ownerReferences")
    assert not let_go["metadata"].get("finalizers")
    assert (await harness.status(made))["active"] == 1
    assert len(await harness.pods()) == 2
