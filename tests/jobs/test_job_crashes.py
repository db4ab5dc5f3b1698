"""After a crash at any write, the next manager brings the job to the same end (JOB-27)."""

from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any

import pytest

from jobs.actions import (
    ELASTIC,
    JOB,
    KEY,
    OBJECT,
    admit,
    make_stored_job,
    newest_workload,
    pass_harness,
    preempt,
    run_until_settled,
)
from jobs.pass_harness import PassHarness
from kohort.api.codec import to_json

Scene = Callable[[PassHarness], Awaitable[None]]

START_TIME = {"status": {"active": 3, "startTime": "2026-08-01T12:00:00Z"}}
PODS_GONE = {"status": {"active": None}}


async def queued(harness: PassHarness) -> None:
    harness.put(make_stored_job())


async def admitted(harness: PassHarness) -> None:
    await queued(harness)
    await run_until_settled(harness)
    admit(harness, newest_workload(harness))


async def evicted(harness: PassHarness) -> None:
    await admitted(harness)
    await run_until_settled(harness)
    harness.patch("Job", OBJECT, START_TIME)
    preempt(harness, newest_workload(harness))


async def evicted_and_stopped(harness: PassHarness) -> None:
    await evicted(harness)
    await run_until_settled(harness)
    harness.patch("Job", OBJECT, PODS_GONE)


async def edited_while_running(harness: PassHarness) -> None:
    await admitted(harness)
    await run_until_settled(harness)
    harness.patch("Job", OBJECT, {"spec": {"parallelism": 4}})


async def workload_deleted(harness: PassHarness) -> None:
    await admitted(harness)
    await run_until_settled(harness)
    harness.delete("Workload", next(iter(harness.workloads)))


async def deleted(harness: PassHarness) -> None:
    await admitted(harness)
    await run_until_settled(harness)
    harness.delete("Job", OBJECT)


async def finished(harness: PassHarness) -> None:
    await admitted(harness)
    await run_until_settled(harness)
    done = {"type": "Complete", "status": "True", "message": "done"}
    harness.patch("Job", OBJECT, {"status": {"conditions": [done]}})


async def grown(harness: PassHarness) -> None:
    harness.put(make_stored_job(annotations=ELASTIC))
    await run_until_settled(harness)
    admit(harness, newest_workload(harness))
    await run_until_settled(harness)
    harness.advance(1)
    harness.patch("Job", OBJECT, {"metadata": {"generation": 3}, "spec": {"parallelism": 5}})


async def grown_and_admitted(harness: PassHarness) -> None:
    await grown(harness)
    await run_until_settled(harness)
    admit(harness, newest_workload(harness))


async def grown_and_evicted(harness: PassHarness) -> None:
    await grown_and_admitted(harness)
    await run_until_settled(harness)
    preempt(harness, newest_workload(harness))


SCENES: list[Scene] = [
    queued,
    admitted,
    evicted,
    evicted_and_stopped,
    edited_while_running,
    workload_deleted,
    deleted,
    finished,
    grown,
    grown_and_admitted,
    grown_and_evicted,
]


def state(harness: PassHarness) -> Any:
    """All objects, but for what every write changes."""
    objects = deepcopy(list(harness.objects.values()))
    workloads = [to_json(each) for each in harness.workloads.values()]
    for each in (*objects, *workloads):
        each["metadata"].pop("resourceVersion")
    return objects, workloads


async def ended(scene: Scene, cuts: list[int]) -> tuple[Any, int]:
    """The end of a scenario whose passes are cut off after so many writes each, and how many the first one had."""
    harness = pass_harness()
    await scene(harness)
    wanted = len((await harness.plan(JOB, KEY)).effects)
    for cut in cuts:
        await harness.reconcile(JOB, KEY, most=cut)
    await run_until_settled(harness)
    return state(harness), wanted


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
async def test_a_pass_that_was_cut_off_anywhere_is_made_good(scene: Scene) -> None:
    whole, wanted = await ended(scene, [])
    assert wanted
    for cut in range(wanted + 1):
        for again in range(wanted + 1):
            assert (await ended(scene, [cut, again]))[0] == whole


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
async def test_a_job_at_rest_is_left_alone(scene: Scene) -> None:
    harness = pass_harness()
    await scene(harness)
    await run_until_settled(harness)
    before = state(harness)
    assert (await harness.reconcile(JOB, KEY)).writes == []
    assert state(harness) == before


async def test_an_evicted_job_is_what_its_user_wrote_however_often_it_was_cut_off() -> None:
    harness = pass_harness()
    harness.put(make_stored_job())
    original = deepcopy(harness.objects["Job", OBJECT]["spec"])
    await evicted(harness)
    for _ in range(5):
        await harness.reconcile(JOB, KEY, most=1)
    harness.patch("Job", OBJECT, PODS_GONE)
    for _ in range(5):
        await harness.reconcile(JOB, KEY, most=1)
    await run_until_settled(harness)
    after = harness.objects["Job", OBJECT]["spec"]
    assert after["template"].pop("metadata", {}) == {}
    assert after == original
