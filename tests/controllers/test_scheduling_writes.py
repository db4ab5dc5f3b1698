"""How decisions come to be written: once, in order, and taken back where they no longer hold."""

import logging
from typing import Any

import pytest

from controllers.stages import Stage, conditions, says, stage, used
from kit.apiserver import Object
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.faults import Rejection
from kohort.api.meta import ObjectKey

PREEMPTING: dict[str, Any] = {"preemption": {"withinClusterQueue": "LowerPriority"}}


async def opened(scene: Stage, cpu: str = "2", **spec: Any) -> None:
    """One queue."""
    await scene.open(make_resource_flavor(), make_cluster_queue("q", cpu, **spec), make_local_queue("lq", "q"))


def message(found: Object) -> str:
    return next(str(each["message"]) for each in found["status"]["conditions"] if each["type"] == "QuotaReserved")


async def test_an_admission_is_one_write_of_nothing_but_the_status() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene)
        await scene.create(make_workload("w", "lq"))
        created = await scene.get("Workload", "w")
        admitted = await scene.until(says(QuotaReserved="True", Admitted="True"), "Workload", "w")
        await scene.later(5)
        (written,) = manager.wire.written("w")
        assert written["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
        assert admitted["spec"] == created["spec"]
        assert set(written["status"]) == {"admission", "conditions"}
        notes = [(await scene.events(reason))[0]["note"] for reason in ("QuotaReserved", "Admitted")]
        assert notes == [
            "Quota reserved in ClusterQueue q, wait time since queued was 0s",
            "Admitted by ClusterQueue q, wait time since reservation was 0s",
        ]


async def test_a_workload_that_must_wait_is_told_so_once() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene)
        await scene.create(make_workload("w", "lq", "5"))
        found = await scene.until(says(QuotaReserved="False"), "Workload", "w")
        assert conditions(found)["QuotaReserved"] == ("False", "ExceedsMaxQuota")
        await scene.create(make_workload("x", "lq"))
        await scene.until(says(Admitted="True"), "Workload", "x")
        await scene.later(30)
        assert len(manager.wire.written("w")) == 1
        assert [each["type"] for each in await scene.events("ExceedsMaxQuota")] == ["Warning"]


async def test_who_is_admitted_within_a_second_is_never_told_to_wait() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene)
        await scene.create(make_workload("first", "lq", "2"))
        await scene.until(says(Admitted="True"), "Workload", "first")
        await scene.create(make_workload("second", "lq", "2"))
        await scene.later(0.5)
        await scene.finish("first")
        await scene.until(says(Admitted="True"), "Workload", "second")
        await scene.later(5)
        assert len(manager.wire.written("second")) == 1


async def test_other_words_for_the_same_reason_are_written_seldom() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene, "8")
        await scene.create(make_workload("full", "lq", "8"))
        await scene.until(says(Admitted="True"), "Workload", "full")
        await scene.create(make_workload("w", "lq", "8"))
        told = await scene.until(says(QuotaReserved="False"), "Workload", "w")
        for cpu in ("9", "10", "11", "12"):
            quota = [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]
            await scene.merge(
                "ClusterQueue", "q", {"spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": quota}]}}
            )
            await scene.later(1)
        assert len(manager.wire.written("w")) == 1
        await scene.later(10)
        assert len(manager.wire.written("w")) == 2
        now = await scene.get("Workload", "w")
        assert "8 more needed" in message(told)
        assert "4 more needed" in message(now)


async def test_a_decision_that_still_holds_is_written_on_top_of_what_somebody_else_wrote() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene)

        async def meddle() -> None:
            entry = {
                "type": "Foreign",
                "status": "True",
                "reason": "R",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            await scene.merge("Workload", "w", {"status": {"conditions": [entry]}}, "status")

        manager.wire.before.append(meddle)
        await scene.create(make_workload("w", "lq"))
        await scene.until(says(Admitted="True", Foreign="True"), "Workload", "w")
        assert len(manager.wire.written("w")) == 2
        assert len(manager.writer) == 0


async def test_an_admission_of_what_changed_meanwhile_is_taken_back_and_decided_anew() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene)

        async def deactivate() -> None:
            await scene.merge("Workload", "w", {"spec": {"active": False}})

        manager.wire.before.append(deactivate)
        await scene.create(make_workload("w", "lq", "2"))
        await scene.later(1)
        await scene.create(make_workload("x", "lq", "2"))
        await scene.until(says(Admitted="True"), "Workload", "x")
        assert used(await scene.workloads(), "q") == 2
        assert not (await scene.states())["w"]["queue"]
        assert len(manager.writer) == 0


async def test_an_admission_of_what_went_to_another_queue_meanwhile_leaves_no_quota_behind() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene)
        await scene.open(make_cluster_queue("other"), make_local_queue("elsewhere", "other"))

        async def move() -> None:
            await scene.merge("Workload", "w", {"spec": {"queueName": "elsewhere"}})

        manager.wire.before.append(move)
        await scene.create(make_workload("w", "lq", "2"))
        await scene.until(says(Admitted="True"), "Workload", "w")
        await scene.create(make_workload("x", "lq", "2"))
        await scene.until(says(Admitted="True"), "Workload", "x")
        assert [used(await scene.workloads(), queue) for queue in ("q", "other")] == [2, 2]


async def test_an_admission_of_what_was_deleted_meanwhile_leaves_no_quota_behind() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene)
        manager.wire.before.append(lambda: scene.delete("Workload", "w"))
        await scene.create(make_workload("w", "lq", "2"))
        await scene.later(1)
        await scene.create(make_workload("x", "lq", "2"))
        await scene.until(says(Admitted="True"), "Workload", "x")
        assert set(manager.world.engine.store.queues["q"].holders) == {ObjectKey("default", "x")}


async def test_what_was_decided_for_a_former_life_takes_nothing_from_the_next() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene)

        async def replace() -> None:
            await scene.delete("Workload", "w")
            await scene.create(make_workload("w", "lq", "2"))

        manager.wire.before.append(replace)
        await scene.create(make_workload("w", "lq", "2"))
        await scene.until(says(Admitted="True"), "Workload", "w")
        await scene.create(make_workload("x", "lq", "2"))
        await scene.until(says(QuotaReserved="False"), "Workload", "x")
        assert used(await scene.workloads(), "q") == 2


async def test_an_admission_that_the_server_refuses_stands_aside_for_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene)
        manager.wire.faults[0] = Rejection(422)
        with caplog.at_level(logging.WARNING):
            await scene.create(make_workload("w", "lq", "2"))
            await scene.later(1)
        assert "writing decision for default/w failed" in caplog.text
        await scene.create(make_workload("x", "lq", "1"))
        await scene.until(says(Admitted="True"), "Workload", "x")
        assert len(manager.wire.written("w")) == 1
        await scene.finish("x")
        await scene.later(70)
        await scene.until(says(Admitted="True"), "Workload", "w")


async def test_a_preempted_workload_gives_way_when_its_job_has_stopped_and_returns_after() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene, **PREEMPTING)
        await scene.create(make_workload("low", "lq", "2", priority=0))
        await scene.until(says(Admitted="True"), "Workload", "low")
        await scene.create(make_workload("high", "lq", "2", priority=9))
        found = await scene.until(says(Evicted="True", Preempted="True"), "Workload", "low")
        assert conditions(found)["Admitted"][0] == "True"
        await scene.later(3)
        assert conditions(await scene.get("Workload", "high"))["QuotaReserved"][0] == "False"
        await scene.stop_jobs()
        await scene.until(says(Admitted="True"), "Workload", "high")
        assert used(await scene.workloads(), "q") == 2
        await scene.finish("high")
        again = await scene.until(says(Admitted="True", Evicted="False", Requeued="True"), "Workload", "low")
        assert again["status"]["schedulingStats"]["evictions"][0]["count"] == 1
        await scene.later(1)
        for reason in ("EvictedDueToPreempted", "Preempted", "PreemptedWorkload"):
            assert len(await scene.events(reason)) == 1, reason
        assert len(manager.wire.written("high")) == 2, "why it waits, and its admission"
        metrics = manager.world.metrics
        assert metrics.preempted_workloads_total.value(preempting_cluster_queue="q", reason="InClusterQueue") == 1
        assert metrics.admitted_workloads_total.value(cluster_queue="q", priority_class="") == 3
        assert metrics.workload_eviction_latency_seconds.count(cluster_queue="q", reason="Preempted") == 1


async def test_a_preemptor_has_one_event_with_a_series_for_all_its_victims() -> None:
    async with stage() as scene:
        await scene.start()
        await opened(scene, "8", **PREEMPTING)
        await scene.create(*(make_workload(f"low{n}", "lq", "1", priority=0) for n in range(8)))
        for n in range(8):
            await scene.until(says(Admitted="True"), "Workload", f"low{n}")
        await scene.create(make_workload("high", "lq", "8", priority=9))
        for n in range(8):
            await scene.until(says(Preempted="True"), "Workload", f"low{n}")
        await scene.later(15)
        (event,) = await scene.events("PreemptedWorkload")
        assert event["regarding"]["name"] == "high"
        assert event["series"]["count"] == 8
        assert len(await scene.events("Preempted")) == 8


async def test_many_admissions_are_written_at_once() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene, "100")
        await scene.create(*(make_workload(f"w{n}", "lq") for n in range(60)))
        await scene.later(1)
        assert used(await scene.workloads(), "q") == 60
        assert len(manager.wire.writes) == 60


async def test_a_busy_server_hears_later_why_somebody_waits() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene)
        for _ in range(100):
            manager.world.server_load.observe(60.0)
        await scene.create(make_workload("w", "lq", "5"))
        await scene.later(8)
        assert not manager.wire.written("w")
        await scene.later(4)
        assert conditions(await scene.get("Workload", "w"))["QuotaReserved"] == ("False", "ExceedsMaxQuota")


async def test_the_engine_knows_nothing_of_who_has_finished_and_nobody_waits_for_him() -> None:
    """However many have been, figures are counted over those who are."""
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene)
        await scene.create(make_workload("first", "lq", "2"))
        await scene.until(says(Admitted="True"), "Workload", "first")
        await scene.create(make_workload("second", "lq", "2"))
        await scene.finish("first")
        await scene.until(says(Admitted="True"), "Workload", "second")
        engine = manager.world.engine
        assert (
            set(engine.store.workloads)
            == {ObjectKey("default", "second")}
            == set(engine.store.local_queues[ObjectKey("default", "lq")].workloads)
        )
        again = await scene.start()
        await scene.later(5)
        assert set(again.world.engine.store.workloads) == {ObjectKey("default", "second")}
