"""The report of a Workload: why it is pending, what it waits for, its possible preemptors, its history."""

from datetime import timedelta

from insight.cluster_access import client_of, grant_read, unprivileged_user, wait_for_admission
from kit.builders.kueue import (
    admission_checks,
    make_admission_check,
    make_cluster_queue,
    make_cohort,
    make_local_queue,
    make_resource_flavor,
    make_workload,
)
from kit.manager import ACTIVE_CONDITION, ManagerHarness, running_manager_harness
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import RequeueState, WorkloadStatus
from kohort.api.meta import ObjectKey
from kohort.engine.explain import WorkloadPhase
from kohort.insight.snapshot import Snapshot, take_snapshot
from kohort.insight.workload_report.builder import build_report
from kohort.insight.workload_report.data import report_data
from kohort.insight.workload_report.history import history_of
from kohort.insight.workload_report.model import WorkloadReport
from kohort.insight.workload_report.text import render_report
from web.engine_fixture import NOON

RECLAIMING = {"reclaimWithinCohort": "Any"}


async def look(harness: ManagerHarness) -> Snapshot:
    await harness.advance(3)
    return await take_snapshot(client_of(harness.server), home="default")


def report(snapshot: Snapshot, name: str) -> WorkloadReport:
    return build_report(snapshot, snapshot.of(Workload)[ObjectKey("default", name)], f"workload/{name}")


def text(found: WorkloadReport, snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    return {section.heading: section.lines for section in render_report(found, snapshot.taken)}


async def test_a_pending_workload_is_reported_with_the_shortage_and_the_workloads_that_hold_it() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_resource_flavor(), make_cluster_queue("cq", "8"), make_local_queue("lq", "cq"))
        await harness.create(make_workload("small", "lq", "1"), make_workload("large", "lq", "6"))
        await wait_for_admission(harness, "small", "large")
        await harness.create(make_workload("late", "lq", "4", priority=-1))
        snapshot = await look(harness)
    found = report(snapshot, "late")
    assert [(each.workload.name, each.amount) for each in found.holders[0].holders] == [
        ("large", 6000),
        ("small", 1000),
    ]
    sections = text(found, snapshot)
    assert sections[""][0] == "It waits for 3 more cpu in flavor f: queue cq has 8, 7 in use."
    assert "Preemption can't help: the policies of queue cq forbid it." in sections[""]
    assert sections["What would admit it"] == (
        "in flavor f: 3 cpu released in ClusterQueue cq, or nominalQuota increased by 3",
    )
    assert [line.split("  ")[-1].split(",")[0] for line in sections["Usage of cpu in flavor f at queue cq"]] == [
        "large of default in queue cq",
        "small of default in queue cq",
    ]


async def test_many_holders_are_counted() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_resource_flavor(), make_cluster_queue("cq", "8"), make_local_queue("lq", "cq"))
        names = [f"w{number}" for number in range(8)]
        await harness.create(*(make_workload(name, "lq", "1") for name in names))
        await wait_for_admission(harness, *names)
        await harness.create(make_workload("late", "lq", "4"))
        snapshot = await look(harness)
    (holding,) = report(snapshot, "late").holders
    assert (len(holding.holders), holding.others, holding.amount_of_others) == (5, 3, 3000)


async def test_a_workload_on_borrowed_quota_is_reported_with_its_possible_preemptors() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_resource_flavor(), make_cohort("all"))
        await harness.create(make_cluster_queue("mine", "2", cohortName="all"), make_local_queue("mine", "mine"))
        await harness.create(make_cluster_queue("theirs", "2", cohortName="all", preemption=RECLAIMING))
        await harness.create(make_workload("greedy", "mine", "3"))
        await wait_for_admission(harness, "greedy")
        snapshot = await look(harness)
    (threat,) = report(snapshot, "greedy").preemptors
    assert threat.why == "queue theirs can reclaim what queue mine borrows: cpu of f"
    assert threat.waiting is None


async def test_what_a_queue_borrows_in_addition_may_cost_its_placement_too() -> None:
    """SCH-602, SCH-611: reclaiming memory and cpu together may hit a holder of cpu that is not borrowed."""
    both = [
        {
            "coveredResources": ["cpu", "memory"],
            "flavors": [
                {"name": "f", "resources": [{"name": each, "nominalQuota": "2"} for each in ("cpu", "memory")]},
            ],
        }
    ]
    async with running_manager_harness() as harness:
        await harness.create(make_resource_flavor(), make_cohort("all"))
        for name in ("mine", "theirs"):
            policies = RECLAIMING if name == "theirs" else {}
            await harness.create(make_cluster_queue(name, resourceGroups=both, cohortName="all", preemption=policies))
        greedy = make_workload("greedy", "mine", "0")
        greedy["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"memory": "3"}
        await harness.create(make_local_queue("mine", "mine"), greedy, make_workload("modest", "mine", "1"))
        await wait_for_admission(harness, "greedy", "modest")
        snapshot = await look(harness)
    (threat,) = report(snapshot, "modest").preemptors
    assert threat.why == "queue theirs can reclaim what queue mine borrows: memory of f"


async def test_admission_checks_are_reported_before_and_after_quota() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_resource_flavor(), make_admission_check("budget"))
        await harness.merge("AdmissionCheck", "budget", {"status": {"conditions": [ACTIVE_CONDITION]}}, "status")
        await harness.create(make_cluster_queue("cq", "4", **admission_checks("budget")), make_local_queue("lq", "cq"))
        await harness.create(make_workload("first", "lq", "4"))
        snapshot = await look(harness)
        await harness.merge("ClusterQueue", "cq", {"spec": {"stopPolicy": "Hold"}})
        await harness.create(make_workload("second", "lq", "0"))
        await harness.advance(3)
        # Read in the moment in which the queue is resumed: nothing has been decided yet.
        await harness.merge("ClusterQueue", "cq", {"spec": {"stopPolicy": "None"}})
        moment = await take_snapshot(client_of(harness.server))
    assert report(snapshot, "first").notes == ("Admission checks that are not ready: budget (Pending)",)
    assert report(moment, "second").notes == ("After quota reservation it will wait for admission checks: budget",)


async def test_a_workload_about_to_be_preempted_is_reported_with_the_preemptor() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor(),
            make_cluster_queue("cq", "2"),
            make_local_queue("lq", "cq"),
            make_workload("low", "lq", "2"),
        )
        await wait_for_admission(harness, "low")
        snapshot = await look(harness)
        assert text(report(snapshot, "low"), snapshot)["Workloads that could preempt it"] == (
            "none under current policies and usage",
        )
        client = client_of(harness.server)
        await harness.merge("ClusterQueue", "cq", {"spec": {"stopPolicy": "Hold"}})
        await harness.merge("ClusterQueue", "cq", {"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}})
        await harness.create(make_workload("high", "lq", "2", priority=9))
        await harness.advance(3)
        # Read in the moment in which the queue is resumed: nothing has been decided yet.
        await harness.merge("ClusterQueue", "cq", {"spec": {"stopPolicy": "None"}})
        snapshot = await take_snapshot(client)
    first, second = report(snapshot, "low").preemptors
    assert first.waiting == ("default", "high")
    assert first.why == "default/high is pending and would preempt it (InClusterQueue)"
    assert "workloads in its own queue with priority above 0 can preempt it" in second.why


async def test_the_result_and_its_history_are_reported() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor(), make_cluster_queue("cq"), make_local_queue("lq", "cq"), make_workload("done", "lq")
        )
        await wait_for_admission(harness, "done")
        await harness.advance(60)
        await harness.finish("done")
        snapshot = await look(harness)
    found = report(snapshot, "done")
    assert found.explanation.state is WorkloadPhase.FINISHED
    sections = text(found, snapshot)
    assert sections[""][0] == "It has finished."
    assert any("finished" in line for line in sections["History"])
    assert "Workloads that could preempt it" not in sections


async def test_a_workload_that_is_never_evaluated_is_reported_with_the_remedy() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_resource_flavor(), make_cluster_queue("cq"), make_local_queue("lq", "cq"))
        await harness.create(make_local_queue("stopped", "cq", stopPolicy="Hold"), make_local_queue("lost", "missing"))
        await harness.create(make_workload("held", "lq", active=False), make_workload("stuck", "stopped"))
        await harness.create(make_workload("astray", "lp"), make_workload("far", "lost"))
        snapshot = await look(harness)
    hints = {name: report(snapshot, name).hints for name in ("held", "stuck", "astray", "far")}
    assert hints["held"] == ("resume it: kohort resume workload/held -n default",)
    assert hints["stuck"] == ("resume its queue: kohort resume queue/stopped -n default",)
    assert hints["astray"][0].startswith("create LocalQueue lp in namespace default")
    assert hints["far"] == ("create ClusterQueue missing: available: cq",)


async def test_an_inactive_queue_is_reported_with_the_cause() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_cluster_queue("cq", flavors="missing"), make_local_queue("lq", "cq"), make_workload("mine", "lq")
        )
        snapshot = await look(harness)
    (note,) = report(snapshot, "mine").notes
    assert note.startswith("ClusterQueue cq: Can't admit new workloads: references missing ResourceFlavor")


async def test_without_permissions_the_condition_is_shown() -> None:
    ann = unprivileged_user()
    async with running_manager_harness() as harness:
        await grant_read(harness.server, ann, "workloads", "localqueues", namespace="default")
        await harness.create(
            make_resource_flavor(),
            make_cluster_queue("cq", "1"),
            make_local_queue("lq", "cq"),
            make_workload("big", "lq", "4"),
        )
        await harness.advance(3)
        snapshot = await take_snapshot(client_of(harness.server, ann), home="default")
    found = report(snapshot, "big")
    assert found.explanation.cluster_queue == "cq"
    assert "maximum capacity (1)" in text(found, snapshot)[""][0]
    note = "From its conditions only: a full explanation requires permission to list all Workload objects"
    assert found.notes == (note,)


async def test_data_has_quantities_and_camel_case_keys() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor(),
            make_cluster_queue("cq", "1500m"),
            make_local_queue("lq", "cq"),
            make_workload("a", "lq", "1"),
        )
        await wait_for_admission(harness, "a")
        await harness.create(make_workload("b", "lq", "700m"))
        snapshot = await look(harness)
    data = report_data(report(snapshot, "b"))
    (shortage,) = data["evaluation"]["podSets"][0]["tried"][0]["shortages"]
    assert (shortage["missing"], shortage["inUse"], shortage["limit"]) == ("200m", "1", "Nominal")
    assert data["holders"][0]["workloads"][0]["amount"] == "1"
    assert data["remedies"][0]["kind"] == "MoreQuota"
    assert (data["clusterQueue"], data["state"]) == ("cq", "Queued")


def test_the_next_steps_are_reported_too() -> None:
    later = NOON + timedelta(minutes=5)
    status = WorkloadStatus(requeue_state=RequeueState(count=2, requeue_at=later))
    (happening,) = history_of(Workload(status=status), NOON)
    assert (happening.time, happening.text) == (later, "will be requeued (attempt 3)")
