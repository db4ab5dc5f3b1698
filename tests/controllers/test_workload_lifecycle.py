"""The lifecycle of a Workload in its controller: checks, stops, requeues, limits, end, and relatives (API-120…133)."""

from typing import Any

from controllers.scheduling_harness import (
    SchedulingHarness,
    conditions_of,
    has_conditions,
    reserved_cpus,
    running_scheduling_harness,
)
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
from kohort.engine.lifecycle.slices import reconcile_slices

FINALIZER = "kueue.x-k8s.io/resource-in-use"


async def opened(harness: SchedulingHarness, cpu: str = "4", **spec: Any) -> None:
    """One queue; its check, if it lists one, is `c`."""
    await harness.create_active(
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
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness, **admission_checks("c"))
        await harness.create(make_workload("w", "lq"))
        found = await harness.wait_for(has_conditions(QuotaReserved="True"), "Workload", "w")
        assert [(each["name"], each["state"]) for each in found["status"]["admissionChecks"]] == [("c", "Pending")]
        assert conditions_of(found)["Admitted"] == ("False", "UnsatisfiedAdmissionChecks")
        await harness.advance(4)
        waited = int(harness.clock.now())
        await harness.set_check("w", "c", "Ready")
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")
        await harness.advance(1)
        (event,) = await harness.events("Admitted")
        assert f"wait time since reservation was {waited}s" in event["note"]
        assert event["reportingController"] == "kueue-workload-controller"
        assert (
            manager.context.metrics.admission_checks_wait_time_seconds.count(cluster_queue="q", priority_class="") == 1
        )
        assert len(manager.transport.writes) <= 3


async def test_a_check_in_state_retry_evicts_the_workload_and_requeues_it_after_its_delay() -> None:
    async with running_scheduling_harness() as harness:
        await harness.start()
        await opened(harness, **admission_checks("c"))
        await harness.create(make_workload("w", "lq"))
        await harness.wait_for(has_conditions(QuotaReserved="True"), "Workload", "w")
        await harness.set_check("w", "c", "Retry", requeueAfterSeconds=20)
        await harness.wait_for(has_conditions(Evicted="True"), "Workload", "w")
        await harness.stop_jobs()
        await harness.advance(15)
        assert conditions_of(await harness.get("Workload", "w"))["QuotaReserved"][0] == "False"
        again = await harness.wait_for(
            has_conditions(QuotaReserved="True", Evicted="False", Requeued="True"), "Workload", "w"
        )
        assert [(each["state"], each["retryCount"]) for each in again["status"]["admissionChecks"]] == [("Pending", 1)]


async def test_a_check_that_rejects_a_workload_has_it_deactivated() -> None:
    async with running_scheduling_harness() as harness:
        await harness.start()
        await opened(harness, **admission_checks("c"))
        await harness.create(make_workload("w", "lq"))
        await harness.wait_for(has_conditions(QuotaReserved="True"), "Workload", "w")
        await harness.set_check("w", "c", "Rejected", message="no")
        found = await harness.wait_for(has_conditions(Evicted="True"), "Workload", "w")
        assert found["spec"]["active"] is False
        assert conditions_of(found)["Evicted"] == ("True", "DeactivatedDueToAdmissionCheck")
        await harness.advance(1)
        assert [each["type"] for each in await harness.events("AdmissionCheckRejected")] == ["Warning"]


async def test_a_deactivated_workload_comes_back_when_it_is_activated() -> None:
    async with running_scheduling_harness() as harness:
        await harness.start()
        await opened(harness)
        await harness.create(make_workload("w", "lq"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")
        await harness.merge("Workload", "w", {"spec": {"active": False}})
        await harness.wait_for(has_conditions(Evicted="True"), "Workload", "w")
        await harness.stop_jobs()
        await harness.wait_for(has_conditions(QuotaReserved="False"), "Workload", "w")
        await harness.merge("Workload", "w", {"spec": {"active": True}})
        await harness.wait_for(has_conditions(Admitted="True", Requeued="True"), "Workload", "w")


async def test_a_draining_queue_evicts_and_a_resumed_one_admits_again() -> None:
    async with running_scheduling_harness() as harness:
        await harness.start()
        await opened(harness)
        await harness.create(make_workload("w", "lq"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")
        await harness.merge("ClusterQueue", "q", {"spec": {"stopPolicy": "HoldAndDrain"}})
        await harness.wait_for(has_conditions(Evicted="True"), "Workload", "w")
        await harness.stop_jobs()
        stopped = ("False", "Suspended")
        await harness.wait_for(lambda each: conditions_of(each)["QuotaReserved"] == stopped, "Workload", "w")
        await harness.merge("ClusterQueue", "q", {"spec": {"stopPolicy": "None"}})
        await harness.wait_for(has_conditions(Admitted="True", Requeued="True"), "Workload", "w")


async def test_a_workload_names_its_missing_queue_until_it_exists() -> None:
    async with running_scheduling_harness() as harness:
        await harness.start()
        await harness.create_active(make_resource_flavor())
        await harness.create(make_workload("w", "lq"))
        found = await harness.wait_for(has_conditions(QuotaReserved="False"), "Workload", "w")
        assert conditions_of(found)["QuotaReserved"] == ("False", "Misconfigured")
        assert found["status"]["conditions"][0]["message"] == "LocalQueue lq doesn't exist"
        await harness.create_active(make_local_queue("lq", "q"), make_cluster_queue("q"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")


async def test_pods_that_are_not_ready_in_time_cost_the_quota_for_a_growing_while_and_at_last_for_good() -> None:
    strategy = RequeuingStrategy(backoff_base_seconds=20, backoff_limit_count=1)
    waiting = WaitForPodsReady(timeout="5s", recovery_timeout="5s", requeuing_strategy=strategy)
    settings = ManagerSettings(Configuration(wait_for_pods_ready=waiting))
    async with running_scheduling_harness(settings) as harness:
        manager = await harness.start(settings)
        await opened(harness)
        await harness.create(make_workload("w", "lq"))
        admitted = await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")
        before = await harness.workload("w")
        await harness.write(before, report_readiness(before, ready=False, now=harness.clock.wall()))
        assert conditions_of(admitted)["Admitted"][0] == "True"
        found = await harness.wait_for(has_conditions(Evicted="True"), "Workload", "w")
        assert found["status"]["requeueState"]["count"] == 1
        await harness.stop_jobs()
        await harness.advance(8)
        assert "admission" not in (await harness.get("Workload", "w"))["status"]
        again = await harness.wait_for(has_conditions(Admitted="True", Requeued="True"), "Workload", "w")
        assert "requeueAt" not in again["status"]["requeueState"]
        over = await harness.wait_for(has_conditions(Evicted="True"), "Workload", "w")
        assert over["spec"]["active"] is False
        assert conditions_of(over)["Evicted"][1] == "DeactivatedDueToRequeuingLimitExceeded"
        labels = {"cluster_queue": "q", "priority_class": "", "underlying_cause": "WaitForStart"}
        assert manager.context.metrics.evicted_workloads_total.value(reason="PodsReadyTimeout", **labels) == 1


async def test_a_workload_that_used_its_time_up_is_given_up() -> None:
    async with running_scheduling_harness() as harness:
        await harness.start()
        await opened(harness)
        await harness.create(make_workload("w", "lq", maximumExecutionTimeSeconds=30))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")
        await harness.advance(25)
        assert "Evicted" not in conditions_of(await harness.get("Workload", "w"))
        over = await harness.wait_for(has_conditions(Evicted="True"), "Workload", "w")
        assert conditions_of(over)["Evicted"][1] == "DeactivatedDueToMaximumExecutionTimeExceeded"


async def test_a_finished_workload_is_deleted_after_its_retention_and_releases_quota_at_once() -> None:
    kept = ObjectRetentionPolicies(workloads=WorkloadRetention(after_finished="10s"))
    settings = ManagerSettings(Configuration(object_retention_policies=kept))
    async with running_scheduling_harness(settings) as harness:
        manager = await harness.start(settings)
        await opened(harness)
        await harness.create(make_workload("w", "lq", "4"), make_workload("x", "lq", "4"))
        await harness.advance(3)
        first = next(name for name, each in (await harness.states()).items() if each["queue"])
        await harness.finish(first)
        other = "x" if first == "w" else "w"
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", other)
        await harness.advance(5)
        assert (await harness.request("Workload", first)).status == 200
        await harness.wait_until_gone("Workload", first)
        await harness.advance(1)
        assert len(await harness.events("Deleted")) == 1
        assert manager.context.metrics.finished_workloads_total.value(cluster_queue="q", priority_class="") == 1


async def test_a_workload_whose_job_is_gone_finishes_and_may_be_deleted() -> None:
    async with running_scheduling_harness() as harness:
        await harness.start()
        await opened(harness)
        orphan = make_workload("w", "lq")
        orphan["metadata"] |= {"labels": {"kueue.x-k8s.io/job-uid": "u"}, "finalizers": [FINALIZER]}
        await harness.create(orphan)
        found = await harness.wait_for(has_conditions(Finished="True"), "Workload", "w")
        assert conditions_of(found)["Finished"][1] == "OwnerNotFound"
        await harness.wait_for(lambda each: not each["metadata"].get("finalizers"), "Workload", "w")


async def test_a_bigger_slice_takes_the_quota_over_and_the_smaller_one_ends() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness, "4")
        await harness.create(_slice("small", "3"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "small")
        await harness.create(_slice("big", "4", replaces="default/small"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "big")
        ended = await harness.wait_for(has_conditions(Finished="True"), "Workload", "small")
        assert conditions_of(ended)["Finished"][1] == "WorkloadSliceReplaced"
        assert reserved_cpus(await harness.workloads(), "q") == 4
        metrics = manager.context.metrics
        assert metrics.replaced_workload_slices_total.value(cluster_queue="q") == 1
        assert metrics.finished_workloads_total.value(cluster_queue="q", priority_class="") == 1


async def test_a_preempted_slice_that_ends_for_its_replacement_counts_as_finished_in_its_cluster_queue() -> None:
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        await opened(harness, "4", preemption={"withinClusterQueue": "LowerPriority"})
        await harness.create(_slice("small", "3"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "small")
        await harness.create(_slice("big", "9", replaces="default/small"), make_workload("high", "lq", "3", priority=9))
        await harness.wait_for(has_conditions(Evicted="True"), "Workload", "small")
        await harness.stop_jobs()
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "high")
        small = await harness.workload("small")
        assert small.status.admission is None
        (ended,) = reconcile_slices([small, await harness.workload("big")], harness.clock.wall()).ended
        await harness.write(small, ended)
        await harness.advance(1)
        metrics = manager.context.metrics
        assert metrics.finished_workloads_total.value(cluster_queue="q", priority_class="") == 1


async def test_a_slice_that_was_replaced_before_a_crash_ends_after_it() -> None:
    async with running_scheduling_harness() as harness:
        first = await harness.start()
        await opened(harness, "4")
        await harness.create(_slice("small", "3"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "small")
        first.transport.crash_after = len(first.transport.writes) + 1
        await harness.create(_slice("big", "4", replaces="default/small"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "big")
        await harness.crash(first)
        assert "Finished" not in conditions_of(await harness.get("Workload", "small"))
        await harness.start()
        await harness.wait_for(has_conditions(Finished="True"), "Workload", "small")
        assert reserved_cpus(await harness.workloads(), "q") == 4


def _slice(name: str, cpu: str, replaces: str = "") -> Object:
    found = make_workload(name, "lq", cpu)
    annotations = {"kueue.x-k8s.io/elastic-job": "true"}
    if replaces:
        annotations["kueue.x-k8s.io/workload-slice-replacement-for"] = replaces
    found["metadata"] |= {"annotations": annotations, "ownerReferences": [job_of("job")]}
    return found


async def test_a_workload_gets_a_variant_for_each_flavor_and_runs_by_what_one_of_them_got() -> None:
    settings = ManagerSettings(gates=with_gates(Gate.ConcurrentAdmission))
    async with running_scheduling_harness(settings) as harness:
        await harness.start(settings)
        policy = {"concurrentAdmissionPolicy": {"migration": {"mode": "TryPreferredFlavors"}}}
        await harness.create_active(
            make_resource_flavor("fast"), make_resource_flavor("slow"), make_local_queue("lq", "q")
        )
        await harness.create_active(make_cluster_queue("q", "4", "fast slow", **policy))
        await harness.create(make_workload("job", "lq"))
        found = await harness.wait_for(has_conditions(Admitted="True"), "Workload", "job")
        assert found["metadata"]["labels"] == {"kueue.x-k8s.io/concurrent-admission-parent": "true"}
        variants = [each for each in await harness.workloads() if each.metadata.owner_references]
        assert sorted(flavor_of(each) for each in variants) == ["fast", "slow"]
        assert reserved_cpus(variants, "q") == 1
        (runs,) = [each for each in variants if each.status.admission]
        assert found["status"]["admission"]["podSetAssignments"][0]["flavors"] == {"cpu": flavor_of(runs)}
        await harness.advance(1)
        assert len(await harness.events("CreatedVariant")) == 2
        await harness.finish("job")
        for each in variants:
            await harness.wait_for(has_conditions(Finished="True"), "Workload", each.metadata.name)


async def test_variants_follow_the_flavors_of_their_queue() -> None:
    settings = ManagerSettings(gates=with_gates(Gate.ConcurrentAdmission))
    async with running_scheduling_harness(settings) as harness:
        await harness.start(settings)
        policy = {"concurrentAdmissionPolicy": {"migration": {"mode": "TryPreferredFlavors"}}}
        await harness.create_active(
            make_resource_flavor("old"), make_resource_flavor("new"), make_local_queue("lq", "q")
        )
        await harness.create_active(make_cluster_queue("q", "1", "old", **policy))
        await harness.create(make_workload("job", "lq", "2"))
        await harness.advance(5)
        changed = make_cluster_queue("q", "1", "new", **policy)["spec"]["resourceGroups"]
        await harness.merge("ClusterQueue", "q", {"spec": {"resourceGroups": changed}})
        await harness.advance(5)
        assert [flavor_of(each) for each in await harness.workloads() if each.metadata.owner_references] == ["new"]
        assert len(await harness.events("DeletedVariant")) == 1
