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


async def queued(stage: PassHarness) -> None:
    stage.put(make_stored_job())


async def admitted(stage: PassHarness) -> None:
    await queued(stage)
    await run_until_settled(stage)
    admit(stage, newest_workload(stage))


async def evicted(stage: PassHarness) -> None:
    await admitted(stage)
    await run_until_settled(stage)
    stage.patch("Job", OBJECT, START_TIME)
    preempt(stage, newest_workload(stage))


async def evicted_and_stopped(stage: PassHarness) -> None:
    await evicted(stage)
    await run_until_settled(stage)
    stage.patch("Job", OBJECT, PODS_GONE)


async def edited_while_running(stage: PassHarness) -> None:
    await admitted(stage)
    await run_until_settled(stage)
    stage.patch("Job", OBJECT, {"spec": {"parallelism": 4}})


async def workload_deleted(stage: PassHarness) -> None:
    await admitted(stage)
    await run_until_settled(stage)
    stage.delete("Workload", next(iter(stage.workloads)))


async def deleted(stage: PassHarness) -> None:
    await admitted(stage)
    await run_until_settled(stage)
    stage.delete("Job", OBJECT)


async def finished(stage: PassHarness) -> None:
    await admitted(stage)
    await run_until_settled(stage)
    done = {"type": "Complete", "status": "True", "message": "done"}
    stage.patch("Job", OBJECT, {"status": {"conditions": [done]}})


async def grown(stage: PassHarness) -> None:
    stage.put(make_stored_job(annotations=ELASTIC))
    await run_until_settled(stage)
    admit(stage, newest_workload(stage))
    await run_until_settled(stage)
    stage.advance(1)
    stage.patch("Job", OBJECT, {"metadata": {"generation": 3}, "spec": {"parallelism": 5}})


async def grown_and_admitted(stage: PassHarness) -> None:
    await grown(stage)
    await run_until_settled(stage)
    admit(stage, newest_workload(stage))


async def grown_and_evicted(stage: PassHarness) -> None:
    await grown_and_admitted(stage)
    await run_until_settled(stage)
    preempt(stage, newest_workload(stage))


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


def state(stage: PassHarness) -> Any:
    """All objects, but for what every write changes."""
    objects = deepcopy(list(stage.objects.values()))
    workloads = [to_json(each) for each in stage.workloads.values()]
    for each in (*objects, *workloads):
        each["metadata"].pop("resourceVersion")
    return objects, workloads


async def ended(scene: Scene, cuts: list[int]) -> tuple[Any, int]:
    """The end of a scenario whose passes are cut off after so many writes each, and how many the first one had."""
    stage = pass_harness()
    await scene(stage)
    wanted = len((await stage.plan(JOB, KEY)).effects)
    for cut in cuts:
        await stage.reconcile(JOB, KEY, most=cut)
    await run_until_settled(stage)
    return state(stage), wanted


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
async def test_a_pass_that_was_cut_off_anywhere_is_made_good(scene: Scene) -> None:
    whole, wanted = await ended(scene, [])
    assert wanted
    for cut in range(wanted + 1):
        for again in range(wanted + 1):
            assert (await ended(scene, [cut, again]))[0] == whole


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
async def test_a_job_at_rest_is_left_alone(scene: Scene) -> None:
    stage = pass_harness()
    await scene(stage)
    await run_until_settled(stage)
    before = state(stage)
    assert (await stage.reconcile(JOB, KEY)).writes == []
    assert state(stage) == before


async def test_an_evicted_job_is_what_its_user_wrote_however_often_it_was_cut_off() -> None:
    stage = pass_harness()
    stage.put(make_stored_job())
    original = deepcopy(stage.objects["Job", OBJECT]["spec"])
    await evicted(stage)
    for _ in range(5):
        await stage.reconcile(JOB, KEY, most=1)
    stage.patch("Job", OBJECT, PODS_GONE)
    for _ in range(5):
        await stage.reconcile(JOB, KEY, most=1)
    await run_until_settled(stage)
    after = stage.objects["Job", OBJECT]["spec"]
    assert after["template"].pop("metadata", {}) == {}
    assert after == original
