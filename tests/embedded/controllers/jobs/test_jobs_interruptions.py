"""Caches that lag, writes that fail, controllers that are replaced: nothing is made or counted twice."""

from collections.abc import AsyncIterator

import pytest_asyncio

from embedded.controllers.harness import with_controller
from embedded.controllers.jobs.job_harness import TRACKING, JobControllerHarness, job, running_job_controller_harness
from kit.apiserver import Object
from kit.builders.core import make_pod


@pytest_asyncio.fixture
async def world() -> AsyncIterator[JobControllerHarness]:
    async with running_job_controller_harness() as found:
        yield found


async def test_a_cache_of_pods_that_lags_makes_no_pod_twice(world: JobControllerHarness) -> None:
    world.interceptor.hold_watches("pods")
    made = await world.create(job(completions=4, parallelism=2))
    await world.advance(5)
    await world.merge(made, {"spec": {"parallelism": 3}})
    await world.advance(5)
    assert len(await world.pods()) == 3
    world.interceptor.release_watches("pods")
    await world.settle()
    assert len(await world.pods()) == 3
    assert (await world.status(made))["active"] == 3


async def test_a_cache_of_jobs_that_lags_counts_no_pod_twice(world: JobControllerHarness) -> None:
    made = await world.create(job(completions=3, parallelism=1))
    await world.settle()
    world.interceptor.hold_watches("jobs")
    await world.finish_all_pods()
    await world.finish_all_pods()
    assert (await world.status(made))["succeeded"] == 2
    world.interceptor.release_watches("jobs")
    await world.finish_all_pods()
    assert (await world.status(made))["succeeded"] == 3
    assert "Complete" in await world.conditions(made)
    assert len(await world.pods()) == 3


async def test_a_finalizer_that_stays_on_delays_the_count_but_does_not_spoil_it(world: JobControllerHarness) -> None:
    made = await world.create(job(completions=2, parallelism=2))
    await world.settle()
    first, second = await world.active()
    world.interceptor.reject("PATCH", f"/pods/{first['metadata']['name']}", 500, 500, 500, 500, 500)
    await world.finish_pods(first, second)
    await world.advance(30)
    assert (await world.status(made))["succeeded"] == 2
    assert (await world.status(made))["uncountedTerminatedPods"] == {}
    assert "Complete" in await world.conditions(made)


async def test_a_status_that_is_changed_meanwhile_is_not_overwritten(world: JobControllerHarness) -> None:
    made = await world.create(job())
    await world.settle()

    async def label() -> None:
        await world.merge(made, {"metadata": {"labels": {"team": "a"}}})

    world.interceptor.before("PATCH", "/status", label)
    await world.finish_all_pods()
    await world.settle()
    assert (await world.status(made))["succeeded"] == 1
    assert (await world.get(made))["metadata"]["labels"]["team"] == "a"


async def test_a_new_controller_continues_where_the_last_one_stopped() -> None:
    async with running_job_controller_harness() as world:
        made = await world.create(job(completions=3, parallelism=3))
        await world.settle()
        pods = await world.active()
        await world.finish_pods(pods[0])
        uid = pods[0]["metadata"]["uid"]
        # The note of a controller that went away before it took the finalizer off.
        await world.set_status(made, uncountedTerminatedPods={"succeeded": [uid]})
        await world.settle()
        assert (await world.status(made))["succeeded"] == 1
        await world.finish_all_pods()
        assert (await world.status(made))["succeeded"] == 3


async def test_pods_of_a_job_that_is_gone_lose_their_finalizer(world: JobControllerHarness) -> None:
    made = await world.create(job(parallelism=2, completions=2))
    await world.settle()
    await world.delete(made, propagationPolicy="Background")
    await world.settle()
    assert not any(pod["metadata"].get("finalizers") for pod in await world.pods())


async def test_pods_of_another_owner_keep_a_finalizer_equal_to_ours(world: JobControllerHarness) -> None:
    managed = await world.create(job("other", managedBy="example.com/other"))
    theirs = with_controller(make_pod("theirs"), managed)
    theirs["metadata"]["finalizers"] = [TRACKING]
    await world.create(theirs)
    stray = make_pod("stray")
    stray["metadata"]["finalizers"] = [TRACKING]
    await world.create(stray)
    await world.settle()
    kept = {each["metadata"]["name"]: each["metadata"].get("finalizers") for each in await world.pods()}
    assert kept["theirs"] == [TRACKING]
    assert not kept["stray"]


async def test_a_terminating_job_creates_no_pods_and_releases_existing_ones(world: JobControllerHarness) -> None:
    made = await world.create(job(parallelism=2, completions=2))
    await world.settle()
    (first, _) = await world.active()
    await world.delete(made, propagationPolicy="Foreground")
    await world.delete(first)
    await world.settle()
    assert len(await world.pods()) == 1
    assert not (await world.pods())[0]["metadata"].get("finalizers")


def matching(name: str, labels: Object) -> Object:
    found = make_pod(name, restartPolicy="Never")
    return {**found, "metadata": {**found["metadata"], "labels": labels}}


async def test_strays_that_a_selector_takes_in_are_adopted_and_counted(world: JobControllerHarness) -> None:
    stray = await world.create(matching("stray", {"app": "a"}))
    by_hand = job(manualSelector=True, selector={"matchLabels": {"app": "a"}})
    by_hand["spec"]["template"]["metadata"] = {"labels": {"app": "a"}}
    made = await world.create(by_hand)
    await world.settle()
    (adopted,) = await world.pods()
    assert adopted["metadata"]["uid"] == stray["metadata"]["uid"]
    assert adopted["metadata"]["finalizers"] == [TRACKING]
    await world.finish_pods(adopted)
    await world.settle()
    assert (await world.status(made))["succeeded"] == 1


async def test_a_pod_that_no_longer_matches_is_released_and_replaced(world: JobControllerHarness) -> None:
    made = await world.create(job())
    await world.settle()
    (mine,) = await world.active()
    await world.merge(
        mine, {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": None, "controller-uid": None}}}
    )
    await world.settle()
    let_go = await world.get(mine)
    assert not let_go["metadata"].get("ownerReferences")
    assert not let_go["metadata"].get("finalizers")
    assert (await world.status(made))["active"] == 1
    assert len(await world.pods()) == 2
