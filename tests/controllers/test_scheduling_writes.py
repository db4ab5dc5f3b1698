"""How decisions come to be written: once, in order, and taken back where they no longer hold."""

import logging
from typing import Any

import pytest

from controllers.scheduling_harness import (
    SchedulingHarness,
    conditions_of,
    has_conditions,
    reserved_cpus,
    running_scheduling_harness,
)
from kit.apiserver import Object
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.faults import Rejection
from kohort.api.meta import ObjectKey

PREEMPTING: dict[str, Any] = {"preemption": {"withinClusterQueue": "LowerPriority"}}


async def opened(harness: SchedulingHarness, cpu: str = "2", **spec: Any) -> None:
    """One queue."""
    await harness.create_active(
        make_resource_flavor(), make_cluster_queue("q", cpu, **spec), make_local_queue("lq", "q")
    )


def message(found: Object) -> str:
    return next(str(each["message"]) for each in found["status"]["conditions"] if each["type"] == "QuotaReserved")


async def test_an_admission_is_one_write_of_nothing_but_the_status() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness)
        await harness.create(make_workload("w", "lq"))
        created = await harness.get("Workload", "w")
        admitted = await harness.wait_for(has_conditions(QuotaReserved="True", Admitted="True"), "Workload", "w")
        await harness.advance(5)
        (written,) = manager.transport.written("w")
        assert written["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
        assert admitted["spec"] == created["spec"]
        assert set(written["status"]) == {"admission", "conditions"}
        notes = [(await harness.events(reason))[0]["note"] for reason in ("QuotaReserved", "Admitted")]
        assert notes == [
            "Quota reserved in ClusterQueue q, wait time since queued was 0s",
            "Admitted by ClusterQueue q, wait time since reservation was 0s",
        ]


async def test_the_reason_why_a_workload_is_pending_is_written_once() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness)
        await harness.create(make_workload("w", "lq", "5"))
        found = await harness.wait_for(has_conditions(QuotaReserved="False"), "Workload", "w")
        assert conditions_of(found)["QuotaReserved"] == ("False", "ExceedsMaxQuota")
        await harness.create(make_workload("x", "lq"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "x")
        await harness.advance(30)
        assert len(manager.transport.written("w")) == 1
        assert [each["type"] for each in await harness.events("ExceedsMaxQuota")] == ["Warning"]


async def test_a_workload_admitted_within_a_second_never_gets_a_pending_reason() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness)
        await harness.create(make_workload("first", "lq", "2"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "first")
        await harness.create(make_workload("second", "lq", "2"))
        await harness.advance(0.5)
        await harness.finish("first")
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "second")
        await harness.advance(5)
        assert len(manager.transport.written("second")) == 1


async def test_other_words_for_the_same_reason_are_written_seldom() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness, "8")
        await harness.create(make_workload("full", "lq", "8"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "full")
        await harness.create(make_workload("w", "lq", "8"))
        pending = await harness.wait_for(has_conditions(QuotaReserved="False"), "Workload", "w")
        for cpu in ("9", "10", "11", "12"):
            quota = [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]
            await harness.merge(
                "ClusterQueue", "q", {"spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": quota}]}}
            )
            await harness.advance(1)
        assert len(manager.transport.written("w")) == 1
        await harness.advance(10)
        assert len(manager.transport.written("w")) == 2
        now = await harness.get("Workload", "w")
        assert "8 more needed" in message(pending)
        assert "4 more needed" in message(now)


async def test_a_decision_that_still_holds_is_written_after_a_conflict() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness)

        async def meddle() -> None:
            entry = {
                "type": "Foreign",
                "status": "True",
                "reason": "R",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            await harness.merge("Workload", "w", {"status": {"conditions": [entry]}}, "status")

        manager.transport.before.append(meddle)
        await harness.create(make_workload("w", "lq"))
        await harness.wait_for(has_conditions(Admitted="True", Foreign="True"), "Workload", "w")
        assert len(manager.transport.written("w")) == 2
        assert len(manager.writer) == 0


async def test_an_admission_of_what_changed_meanwhile_is_taken_back_and_decided_anew() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness)

        async def deactivate() -> None:
            await harness.merge("Workload", "w", {"spec": {"active": False}})

        manager.transport.before.append(deactivate)
        await harness.create(make_workload("w", "lq", "2"))
        await harness.advance(1)
        await harness.create(make_workload("x", "lq", "2"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "x")
        assert reserved_cpus(await harness.workloads(), "q") == 2
        assert not (await harness.states())["w"]["queue"]
        assert len(manager.writer) == 0


async def test_an_admission_of_what_went_to_another_queue_meanwhile_leaves_no_quota_behind() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness)
        await harness.create_active(make_cluster_queue("other"), make_local_queue("elsewhere", "other"))

        async def move() -> None:
            await harness.merge("Workload", "w", {"spec": {"queueName": "elsewhere"}})

        manager.transport.before.append(move)
        await harness.create(make_workload("w", "lq", "2"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")
        await harness.create(make_workload("x", "lq", "2"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "x")
        assert [reserved_cpus(await harness.workloads(), queue) for queue in ("q", "other")] == [2, 2]


async def test_an_admission_of_what_was_deleted_meanwhile_leaves_no_quota_behind() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness)
        manager.transport.before.append(lambda: harness.delete("Workload", "w"))
        await harness.create(make_workload("w", "lq", "2"))
        await harness.advance(1)
        await harness.create(make_workload("x", "lq", "2"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "x")
        assert set(manager.context.engine.store.queues["q"].holders) == {ObjectKey("default", "x")}


async def test_a_decision_for_a_former_uid_takes_nothing_from_the_next() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness)

        async def replace() -> None:
            await harness.delete("Workload", "w")
            await harness.create(make_workload("w", "lq", "2"))

        manager.transport.before.append(replace)
        await harness.create(make_workload("w", "lq", "2"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")
        await harness.create(make_workload("x", "lq", "2"))
        await harness.wait_for(has_conditions(QuotaReserved="False"), "Workload", "x")
        assert reserved_cpus(await harness.workloads(), "q") == 2


async def test_an_admission_rejected_by_the_server_is_retried_after_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness)
        manager.transport.faults[0] = Rejection(422)
        with caplog.at_level(logging.WARNING):
            await harness.create(make_workload("w", "lq", "2"))
            await harness.advance(1)
        assert "writing decision for default/w failed" in caplog.text
        await harness.create(make_workload("x", "lq", "1"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "x")
        assert len(manager.transport.written("w")) == 1
        await harness.finish("x")
        await harness.advance(70)
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")


async def test_a_preempted_workload_releases_quota_when_its_job_has_stopped_and_returns_after() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness, **PREEMPTING)
        await harness.create(make_workload("low", "lq", "2", priority=0))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "low")
        await harness.create(make_workload("high", "lq", "2", priority=9))
        found = await harness.wait_for(has_conditions(Evicted="True", Preempted="True"), "Workload", "low")
        assert conditions_of(found)["Admitted"][0] == "True"
        await harness.advance(3)
        assert conditions_of(await harness.get("Workload", "high"))["QuotaReserved"][0] == "False"
        await harness.stop_jobs()
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "high")
        assert reserved_cpus(await harness.workloads(), "q") == 2
        await harness.finish("high")
        again = await harness.wait_for(
            has_conditions(Admitted="True", Evicted="False", Requeued="True"), "Workload", "low"
        )
        assert again["status"]["schedulingStats"]["evictions"][0]["count"] == 1
        await harness.advance(1)
        for reason in ("EvictedDueToPreempted", "Preempted", "PreemptedWorkload"):
            assert len(await harness.events(reason)) == 1, reason
        assert len(manager.transport.written("high")) == 2, "why it waits, and its admission"
        metrics = manager.context.metrics
        assert metrics.preempted_workloads_total.value(preempting_cluster_queue="q", reason="InClusterQueue") == 1
        assert metrics.admitted_workloads_total.value(cluster_queue="q", priority_class="") == 3
        assert metrics.workload_eviction_latency_seconds.count(cluster_queue="q", reason="Preempted") == 1


async def test_a_preemptor_has_one_event_with_a_series_for_all_its_victims() -> None:
    async with running_scheduling_harness() as harness:
        await harness.start()
        await opened(harness, "8", **PREEMPTING)
        await harness.create(*(make_workload(f"low{n}", "lq", "1", priority=0) for n in range(8)))
        for n in range(8):
            await harness.wait_for(has_conditions(Admitted="True"), "Workload", f"low{n}")
        await harness.create(make_workload("high", "lq", "8", priority=9))
        for n in range(8):
            await harness.wait_for(has_conditions(Preempted="True"), "Workload", f"low{n}")
        await harness.advance(15)
        (event,) = await harness.events("PreemptedWorkload")
        assert event["regarding"]["name"] == "high"
        assert event["series"]["count"] == 8
        assert len(await harness.events("Preempted")) == 8


async def test_many_admissions_are_written_at_once() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness, "100")
        await harness.create(*(make_workload(f"w{n}", "lq") for n in range(60)))
        await harness.advance(1)
        assert reserved_cpus(await harness.workloads(), "q") == 60
        assert len(manager.transport.writes) == 60


async def test_pending_reasons_are_written_later_on_a_busy_server() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness)
        for _ in range(100):
            manager.context.server_load.observe(60.0)
        await harness.create(make_workload("w", "lq", "5"))
        await harness.advance(8)
        assert not manager.transport.written("w")
        await harness.advance(4)
        assert conditions_of(await harness.get("Workload", "w"))["QuotaReserved"] == ("False", "ExceedsMaxQuota")


async def test_finished_workloads_are_not_in_the_engine_and_do_not_block_others() -> None:
    """However many have finished, usage is counted over existing workloads."""
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness)
        await harness.create(make_workload("first", "lq", "2"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "first")
        await harness.create(make_workload("second", "lq", "2"))
        await harness.finish("first")
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "second")
        engine = manager.context.engine
        assert (
            set(engine.store.workloads)
            == {ObjectKey("default", "second")}
            == set(engine.store.local_queues[ObjectKey("default", "lq")].workloads)
        )
        again = await harness.start()
        await harness.advance(5)
        assert set(again.context.engine.store.workloads) == {ObjectKey("default", "second")}
