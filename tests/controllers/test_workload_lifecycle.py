"""A Workload's life as the controller leads it: checks, stops, pauses, limits, the end, and relatives (API-120…133)."""

from typing import Any

from controllers.stages import Stage, conditions, says, stage, used
from kit.apiserver import Object
from kit.builders.kueue import (
    admission_checks,
    make_admission_check,
    make_cluster_queue,
    make_local_queue,
    make_resource_flavor,
    make_workload,
)
from kohort.api.config.common import ObjectRetentionPolicies, RequeuingStrategy, WorkloadRetention
from kohort.api.config.v1beta2 import Configuration, WaitForPodsReady
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.controllers.context import ManagerSettings
from kohort.controllers.workloads.variants import flavor_of
from kohort.engine.lifecycle.pods_ready import report_readiness
from kohort.engine.lifecycle.slices import settle_slices

FINALIZER = "kueue.x-k8s.io/resource-in-use"


async def opened(scene: Stage, cpu: str = "4", **spec: Any) -> None:
    """One queue; its check, if it lists one, is `c`."""
    await scene.open(
        make_resource_flavor(),
        make_admission_check("c"),
        make_cluster_queue("q", cpu, **spec),
        make_local_queue("lq", "q"),
    )


def with_gates(*gates: Gate) -> FeatureGates:
    return FeatureGates(DEFAULT_GATES.on | set(gates))


def job_of(name: str) -> Object:
    return {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"uid-{name}", "controller": True}


async def test_a_workload_with_a_check_is_reserved_first_and_admitted_when_the_check_is_ready() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene, **admission_checks("c"))
        await scene.create(make_workload("w", "lq"))
        found = await scene.until(says(QuotaReserved="True"), "Workload", "w")
        assert [(each["name"], each["state"]) for each in found["status"]["admissionChecks"]] == [("c", "Pending")]
        assert conditions(found)["Admitted"] == ("False", "UnsatisfiedAdmissionChecks")
        await scene.later(4)
        waited = int(scene.clock.now())
        await scene.answer("w", "c", "Ready")
        await scene.until(says(Admitted="True"), "Workload", "w")
        await scene.later(1)
        (told,) = await scene.events("Admitted")
        assert f"wait time since reservation was {waited}s" in told["note"]
        assert told["reportingController"] == "kueue-workload-controller"
        assert manager.world.metrics.admission_checks_wait_time_seconds.count(cluster_queue="q", priority_class="") == 1
        assert len(manager.wire.writes) <= 3


async def test_a_check_that_says_retry_has_the_workload_evicted_and_queued_again_after_its_pause() -> None:
    async with stage() as scene:
        await scene.start()
        await opened(scene, **admission_checks("c"))
        await scene.create(make_workload("w", "lq"))
        await scene.until(says(QuotaReserved="True"), "Workload", "w")
        await scene.answer("w", "c", "Retry", requeueAfterSeconds=20)
        await scene.until(says(Evicted="True"), "Workload", "w")
        await scene.stop_jobs()
        await scene.later(15)
        assert conditions(await scene.get("Workload", "w"))["QuotaReserved"][0] == "False"
        again = await scene.until(says(QuotaReserved="True", Evicted="False", Requeued="True"), "Workload", "w")
        assert [(each["state"], each["retryCount"]) for each in again["status"]["admissionChecks"]] == [("Pending", 1)]


async def test_a_check_that_rejects_a_workload_has_it_deactivated() -> None:
    async with stage() as scene:
        await scene.start()
        await opened(scene, **admission_checks("c"))
        await scene.create(make_workload("w", "lq"))
        await scene.until(says(QuotaReserved="True"), "Workload", "w")
        await scene.answer("w", "c", "Rejected", message="no")
        found = await scene.until(says(Evicted="True"), "Workload", "w")
        assert found["spec"]["active"] is False
        assert conditions(found)["Evicted"] == ("True", "DeactivatedDueToAdmissionCheck")
        await scene.later(1)
        assert [each["type"] for each in await scene.events("AdmissionCheckRejected")] == ["Warning"]


async def test_a_deactivated_workload_comes_back_when_it_is_activated() -> None:
    async with stage() as scene:
        await scene.start()
        await opened(scene)
        await scene.create(make_workload("w", "lq"))
        await scene.until(says(Admitted="True"), "Workload", "w")
        await scene.merge("Workload", "w", {"spec": {"active": False}})
        await scene.until(says(Evicted="True"), "Workload", "w")
        await scene.stop_jobs()
        await scene.until(says(QuotaReserved="False"), "Workload", "w")
        await scene.merge("Workload", "w", {"spec": {"active": True}})
        await scene.until(says(Admitted="True", Requeued="True"), "Workload", "w")


async def test_a_queue_that_drains_evicts_and_one_that_goes_on_takes_back() -> None:
    async with stage() as scene:
        await scene.start()
        await opened(scene)
        await scene.create(make_workload("w", "lq"))
        await scene.until(says(Admitted="True"), "Workload", "w")
        await scene.merge("ClusterQueue", "q", {"spec": {"stopPolicy": "HoldAndDrain"}})
        await scene.until(says(Evicted="True"), "Workload", "w")
        await scene.stop_jobs()
        stopped = ("False", "Suspended")
        await scene.until(lambda each: conditions(each)["QuotaReserved"] == stopped, "Workload", "w")
        await scene.merge("ClusterQueue", "q", {"spec": {"stopPolicy": "None"}})
        await scene.until(says(Admitted="True", Requeued="True"), "Workload", "w")


async def test_a_workload_says_which_queue_is_missing_until_it_comes() -> None:
    async with stage() as scene:
        await scene.start()
        await scene.open(make_resource_flavor())
        await scene.create(make_workload("w", "lq"))
        found = await scene.until(says(QuotaReserved="False"), "Workload", "w")
        assert conditions(found)["QuotaReserved"] == ("False", "Misconfigured")
        assert found["status"]["conditions"][0]["message"] == "LocalQueue lq doesn't exist"
        await scene.open(make_local_queue("lq", "q"), make_cluster_queue("q"))
        await scene.until(says(Admitted="True"), "Workload", "w")


async def test_pods_that_are_not_ready_in_time_cost_the_quota_for_a_growing_while_and_at_last_for_good() -> None:
    strategy = RequeuingStrategy(backoff_base_seconds=20, backoff_limit_count=1)
    waiting = WaitForPodsReady(timeout="5s", recovery_timeout="5s", requeuing_strategy=strategy)
    settings = ManagerSettings(Configuration(wait_for_pods_ready=waiting))
    async with stage(settings) as scene:
        manager = await scene.start(settings)
        await opened(scene)
        await scene.create(make_workload("w", "lq"))
        admitted = await scene.until(says(Admitted="True"), "Workload", "w")
        before = await scene.workload("w")
        await scene.write(before, report_readiness(before, ready=False, now=scene.clock.wall()))
        assert conditions(admitted)["Admitted"][0] == "True"
        found = await scene.until(says(Evicted="True"), "Workload", "w")
        assert found["status"]["requeueState"]["count"] == 1
        await scene.stop_jobs()
        await scene.later(8)
        assert "admission" not in (await scene.get("Workload", "w"))["status"]
        again = await scene.until(says(Admitted="True", Requeued="True"), "Workload", "w")
        assert "requeueAt" not in again["status"]["requeueState"]
        over = await scene.until(says(Evicted="True"), "Workload", "w")
        assert over["spec"]["active"] is False
        assert conditions(over)["Evicted"][1] == "DeactivatedDueToRequeuingLimitExceeded"
        labels = {"cluster_queue": "q", "priority_class": "", "underlying_cause": "WaitForStart"}
        assert manager.world.metrics.evicted_workloads_total.value(reason="PodsReadyTimeout", **labels) == 1


async def test_a_workload_that_used_its_time_up_is_given_up() -> None:
    async with stage() as scene:
        await scene.start()
        await opened(scene)
        await scene.create(make_workload("w", "lq", maximumExecutionTimeSeconds=30))
        await scene.until(says(Admitted="True"), "Workload", "w")
        await scene.later(25)
        assert "Evicted" not in conditions(await scene.get("Workload", "w"))
        over = await scene.until(says(Evicted="True"), "Workload", "w")
        assert conditions(over)["Evicted"][1] == "DeactivatedDueToMaximumExecutionTimeExceeded"


async def test_a_finished_workload_goes_when_its_time_is_over_and_its_quota_at_once() -> None:
    kept = ObjectRetentionPolicies(workloads=WorkloadRetention(after_finished="10s"))
    settings = ManagerSettings(Configuration(object_retention_policies=kept))
    async with stage(settings) as scene:
        manager = await scene.start(settings)
        await opened(scene)
        await scene.create(make_workload("w", "lq", "4"), make_workload("x", "lq", "4"))
        await scene.later(3)
        first = next(name for name, each in (await scene.states()).items() if each["queue"])
        await scene.finish(first)
        other = "x" if first == "w" else "w"
        await scene.until(says(Admitted="True"), "Workload", other)
        await scene.later(5)
        assert (await scene.ask("Workload", first)).status == 200
        await scene.gone("Workload", first)
        await scene.later(1)
        assert len(await scene.events("Deleted")) == 1
        assert manager.world.metrics.finished_workloads_total.value(cluster_queue="q", priority_class="") == 1


async def test_a_workload_whose_job_is_gone_finishes_and_may_be_deleted() -> None:
    async with stage() as scene:
        await scene.start()
        await opened(scene)
        orphan = make_workload("w", "lq")
        orphan["metadata"] |= {"labels": {"kueue.x-k8s.io/job-uid": "u"}, "finalizers": [FINALIZER]}
        await scene.create(orphan)
        found = await scene.until(says(Finished="True"), "Workload", "w")
        assert conditions(found)["Finished"][1] == "OwnerNotFound"
        await scene.until(lambda each: not each["metadata"].get("finalizers"), "Workload", "w")


async def test_a_bigger_slice_takes_the_quota_over_and_the_smaller_one_ends() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene, "4")
        await scene.create(_slice("small", "3"))
        await scene.until(says(Admitted="True"), "Workload", "small")
        await scene.create(_slice("big", "4", replaces="default/small"))
        await scene.until(says(Admitted="True"), "Workload", "big")
        ended = await scene.until(says(Finished="True"), "Workload", "small")
        assert conditions(ended)["Finished"][1] == "WorkloadSliceReplaced"
        assert used(await scene.workloads(), "q") == 4
        metrics = manager.world.metrics
        assert metrics.replaced_workload_slices_total.value(cluster_queue="q") == 1
        assert metrics.finished_workloads_total.value(cluster_queue="q", priority_class="") == 1


async def test_a_preempted_slice_that_ends_for_its_replacement_counts_as_finished_in_its_cluster_queue() -> None:
    async with stage() as scene:
        manager = await scene.start()
        await opened(scene, "4", preemption={"withinClusterQueue": "LowerPriority"})
        await scene.create(_slice("small", "3"))
        await scene.until(says(Admitted="True"), "Workload", "small")
        await scene.create(_slice("big", "9", replaces="default/small"), make_workload("high", "lq", "3", priority=9))
        await scene.until(says(Evicted="True"), "Workload", "small")
        await scene.stop_jobs()
        await scene.until(says(Admitted="True"), "Workload", "high")
        small = await scene.workload("small")
        assert small.status.admission is None
        (ended,) = settle_slices([small, await scene.workload("big")], scene.clock.wall()).ended
        await scene.write(small, ended)
        await scene.later(1)
        metrics = manager.world.metrics
        assert metrics.finished_workloads_total.value(cluster_queue="q", priority_class="") == 1


async def test_a_slice_that_was_replaced_before_a_crash_ends_after_it() -> None:
    async with stage() as scene:
        first = await scene.start()
        await opened(scene, "4")
        await scene.create(_slice("small", "3"))
        await scene.until(says(Admitted="True"), "Workload", "small")
        first.wire.last = len(first.wire.writes) + 1
        await scene.create(_slice("big", "4", replaces="default/small"))
        await scene.until(says(Admitted="True"), "Workload", "big")
        await scene.crash(first)
        assert "Finished" not in conditions(await scene.get("Workload", "small"))
        await scene.start()
        await scene.until(says(Finished="True"), "Workload", "small")
        assert used(await scene.workloads(), "q") == 4


def _slice(name: str, cpu: str, replaces: str = "") -> Object:
    found = make_workload(name, "lq", cpu)
    annotations = {"kueue.x-k8s.io/elastic-job": "true"}
    if replaces:
        annotations["kueue.x-k8s.io/workload-slice-replacement-for"] = replaces
    found["metadata"] |= {"annotations": annotations, "ownerReferences": [job_of("job")]}
    return found


async def test_a_workload_gets_a_variant_for_each_flavor_and_runs_by_what_one_of_them_got() -> None:
    settings = ManagerSettings(gates=with_gates(Gate.ConcurrentAdmission))
    async with stage(settings) as scene:
        await scene.start(settings)
        policy = {"concurrentAdmissionPolicy": {"migration": {"mode": "TryPreferredFlavors"}}}
        await scene.open(make_resource_flavor("fast"), make_resource_flavor("slow"), make_local_queue("lq", "q"))
        await scene.open(make_cluster_queue("q", "4", "fast slow", **policy))
        await scene.create(make_workload("job", "lq"))
        found = await scene.until(says(Admitted="True"), "Workload", "job")
        assert found["metadata"]["labels"] == {"kueue.x-k8s.io/concurrent-admission-parent": "true"}
        variants = [each for each in await scene.workloads() if each.metadata.owner_references]
        assert sorted(flavor_of(each) for each in variants) == ["fast", "slow"]
        assert used(variants, "q") == 1
        (runs,) = [each for each in variants if each.status.admission]
        assert found["status"]["admission"]["podSetAssignments"][0]["flavors"] == {"cpu": flavor_of(runs)}
        await scene.later(1)
        assert len(await scene.events("CreatedVariant")) == 2
        await scene.finish("job")
        for each in variants:
            await scene.until(says(Finished="True"), "Workload", each.metadata.name)


async def test_variants_follow_the_flavors_of_their_queue() -> None:
    settings = ManagerSettings(gates=with_gates(Gate.ConcurrentAdmission))
    async with stage(settings) as scene:
        await scene.start(settings)
        policy = {"concurrentAdmissionPolicy": {"migration": {"mode": "TryPreferredFlavors"}}}
        await scene.open(make_resource_flavor("old"), make_resource_flavor("new"), make_local_queue("lq", "q"))
        await scene.open(make_cluster_queue("q", "1", "old", **policy))
        await scene.create(make_workload("job", "lq", "2"))
        await scene.later(5)
        changed = make_cluster_queue("q", "1", "new", **policy)["spec"]["resourceGroups"]
        await scene.merge("ClusterQueue", "q", {"spec": {"resourceGroups": changed}})
        await scene.later(5)
        assert [flavor_of(each) for each in await scene.workloads() if each.metadata.owner_references] == ["new"]
        assert len(await scene.events("DeletedVariant")) == 1
