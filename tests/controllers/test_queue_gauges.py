"""The Prometheus metrics of queues and cohorts (API-143, API-144)."""

from math import inf

import pytest

from kit.builders.kueue import make_cluster_queue, make_cohort, make_local_queue, make_resource_flavor, make_workload
from kit.manager import ManagerHarness, running_manager_harness, workload_counts
from kohort.api.codec import from_json
from kohort.api.config.v1beta2 import Configuration
from kohort.api.kueue.v1beta2 import ClusterQueue
from kohort.controllers.context import ManagerSettings
from kohort.controllers.queues.cluster_queues import ClusterQueueController
from kohort.controllers.startup import running_queue_gauges
from kohort.metrics.families import Gauge

EVERYTHING = ManagerSettings(
    from_json({"metrics": {"enableClusterQueueResources": True}, "fairSharing": {}}, Configuration)
)
Q = {"cluster_queue": "q"}
L = {"name": "l", "namespace": "default"}
F = {"flavor": "f", "resource": "cpu"}


async def busy(harness: ManagerHarness) -> None:
    """Two Workloads that run, one of which borrows, and one that waits."""
    await harness.create(
        make_resource_flavor(),
        make_cohort("c"),
        make_cluster_queue("q", cohortName="c"),
        make_cluster_queue("p", "1", cohortName="c"),
    )
    await harness.create(make_local_queue("l", "q"), *(make_workload(name, "l", "1500m") for name in "abc"))
    await harness.wait_for(lambda q: workload_counts(q) == (1, 2, 2), "ClusterQueue", "q")
    await harness.advance(3)


def gauge_values(gauge: Gauge, label: str, *values: str, **labels: str) -> list[float | None]:
    """The values of a gauge for several values of one label."""
    return [gauge.value(**{label: value}, **labels) for value in values]


async def test_workloads_are_counted_per_queue() -> None:
    async with running_manager_harness(EVERYTHING) as harness:
        await busy(harness)
        for series, labels in ((harness.context.metrics, Q), (harness.context.metrics.local_queue, L)):
            assert gauge_values(series.pending_workloads, "status", "active", "inadmissible", **labels) == [0, 1]
            assert series.reserving_active_workloads.value(**labels) == 2
            assert series.admitted_active_workloads.value(**labels) == 2
            assert series.finished_workloads.value(**labels) == 0
        await harness.finish("a")
        await harness.advance(20)
        for series, labels in ((harness.context.metrics, Q), (harness.context.metrics.local_queue, L)):
            assert series.finished_workloads.value(**labels) == 1
            assert gauge_values(series.pending_workloads, "status", "active", "inadmissible", **labels) == [0, 0]


async def test_pending_workloads_are_counted_by_state_and_by_requested_resource() -> None:
    async with running_manager_harness(EVERYTHING) as harness:
        await busy(harness)
        metrics = harness.context.metrics
        assert gauge_values(metrics.pending_scheduling_hashes, "status", "active", "inadmissible", **Q) == [0, 1]
        assert metrics.cluster_queue_resource_pending.value(resource="cpu", **Q) == 1.5
        reason = {"reason": "NoReservation", "underlying_cause": "WaitingForQuota"}
        assert metrics.unadmitted_workloads.value(**reason, **Q) == 1
        assert metrics.local_queue.unadmitted_workloads.value(**reason, **L, **Q) == 1
        await harness.create(make_workload("d", "l", "1"))
        await harness.advance(3)
        assert metrics.cluster_queue_resource_pending.value(resource="cpu", **Q) == 2.5
        for name in "ad":
            await harness.delete("Workload", name)
        await harness.advance(20)
        assert metrics.cluster_queue_resource_pending.value(resource="cpu", **Q) == 0
        assert metrics.unadmitted_workloads.value(**reason, **Q) is None


async def test_a_queue_has_one_status() -> None:
    async with running_manager_harness(EVERYTHING) as harness:
        await busy(harness)
        metrics = harness.context.metrics
        assert gauge_values(metrics.cluster_queue_status, "status", "pending", "active", "terminating", **Q) == [
            0,
            1,
            0,
        ]
        assert gauge_values(metrics.local_queue.status, "active", "True", "False", "Unknown", **L) == [1, 0, 0]
        await harness.merge("ClusterQueue", "q", {"spec": {"stopPolicy": "Hold"}})
        await harness.advance(3)
        assert gauge_values(metrics.cluster_queue_status, "status", "pending", "active", "terminating", **Q) == [
            1,
            0,
            0,
        ]
        assert gauge_values(metrics.local_queue.status, "active", "True", "False", "Unknown", **L) == [0, 1, 0]
        await harness.delete("ClusterQueue", "q")
        await harness.advance(3)
        assert gauge_values(metrics.cluster_queue_status, "status", "pending", "active", "terminating", **Q) == [
            0,
            0,
            1,
        ]


@pytest.mark.parametrize("stop", ["Hold", "HoldAndDrain"])
async def test_all_that_waits_in_an_inactive_queue_is_inadmissible(stop: str) -> None:
    """API-143"""
    async with running_manager_harness(EVERYTHING) as harness:
        await harness.create(
            make_resource_flavor(), make_cluster_queue("q", stopPolicy=stop), make_local_queue("l", "q")
        )
        await harness.create(*(make_workload(name, "l", "1") for name in "ab"))
        await harness.advance(20)
        for series, labels in ((harness.context.metrics, Q), (harness.context.metrics.local_queue, L)):
            assert gauge_values(series.pending_workloads, "status", "active", "inadmissible", **labels) == [0, 2]


async def test_all_that_waits_in_a_queue_that_is_being_deleted_is_inadmissible() -> None:
    """API-143"""
    async with running_manager_harness(EVERYTHING) as harness:
        await harness.create(
            make_resource_flavor(), make_cluster_queue("q"), make_local_queue("l", "q"), make_workload("a", "l", "2")
        )
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1), "ClusterQueue", "q")
        await harness.delete("ClusterQueue", "q")
        await harness.create(*(make_workload(name, "l", "1") for name in "bc"))
        await harness.advance(20)
        assert harness.context.metrics.cluster_queue_status.value(status="terminating", **Q) == 1
        for series, labels in ((harness.context.metrics, Q), (harness.context.metrics.local_queue, L)):
            assert gauge_values(series.pending_workloads, "status", "active", "inadmissible", **labels) == [0, 2]


async def test_all_that_waits_in_a_queue_without_its_flavor_is_inadmissible() -> None:
    """API-143"""
    async with running_manager_harness(EVERYTHING) as harness:
        await harness.create(make_cluster_queue("q"), make_local_queue("l", "q"), make_workload("a", "l", "1"))
        await harness.advance(20)
        for series, labels in ((harness.context.metrics, Q), (harness.context.metrics.local_queue, L)):
            assert gauge_values(series.pending_workloads, "status", "active", "inadmissible", **labels) == [0, 1]


async def test_shares_are_not_rounded() -> None:
    """SCH-706: 1 of 3 that can be lent; only the status has a whole number."""
    async with running_manager_harness(EVERYTHING) as harness:
        await harness.create(make_resource_flavor(), make_cohort("c"), make_cluster_queue("q", "0", cohortName="c"))
        await harness.create(
            make_cluster_queue("p", "3", cohortName="c"), make_local_queue("l", "q"), make_workload("a", "l", "1")
        )
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1), "ClusterQueue", "q")
        await harness.advance(3)
        share = harness.context.metrics.cluster_queue_weighted_share.value(cohort="c", **Q)
        assert share == pytest.approx(1000 / 3)


async def test_a_cohort_that_is_only_named_as_a_parent_has_gauges() -> None:
    """API-144"""
    async with running_manager_harness(EVERYTHING) as harness:
        await harness.create(make_cohort("c", parentName="above"))
        await harness.advance(20)
        labels = {"cohort": "above", "parent_cohort": "", "root_cohort": "above"}
        assert harness.context.metrics.cohort.info.value(**labels) == 1


async def test_quota_and_usage_are_in_whole_units() -> None:
    async with running_manager_harness(EVERYTHING) as harness:
        await busy(harness)
        metrics = harness.context.metrics
        place = {**Q, **F, "cohort": "c"}
        assert metrics.cluster_queue_resource_reservation.value(**place) == 3
        assert metrics.cluster_queue_resource_usage.value(**place) == 3
        assert metrics.cluster_queue_nominal_quota.value(**place) == 2
        assert metrics.cluster_queue_borrowing_limit.value(**place) == inf
        assert metrics.cluster_queue_lending_limit.value(**place) == inf
        assert metrics.local_queue.resource_usage.value(**L, **F) == 3
        assert metrics.cluster_queue_weighted_share.value(cohort="c", **Q) == pytest.approx(1000 / 3)


async def test_a_flavor_that_leaves_a_queue_takes_its_series_along() -> None:
    async with running_manager_harness(EVERYTHING) as harness:
        await harness.create(
            make_resource_flavor("f"),
            make_resource_flavor("g"),
            make_cluster_queue("q", flavors="f g"),
            make_local_queue("l", "q"),
        )
        await harness.advance(3)
        metrics = harness.context.metrics
        assert metrics.cluster_queue_nominal_quota.value(**Q, **F, cohort="") == 2
        groups = make_cluster_queue("q", flavors="g")["spec"]["resourceGroups"]
        await harness.merge("ClusterQueue", "q", {"spec": {"resourceGroups": groups}})
        await harness.advance(3)
        assert metrics.cluster_queue_nominal_quota.value(**Q, **F, cohort="") is None
        assert metrics.local_queue.resource_usage.value(**L, **F) is None


async def test_cohorts_sum_up_what_is_below_them() -> None:
    async with running_manager_harness(EVERYTHING) as harness:
        await busy(harness)
        metrics = harness.context.metrics
        assert metrics.cohort.subtree_quota.value(cohort="c", **F) == 3
        assert metrics.cohort.subtree_resource_reservations.value(cohort="c", **F) == 3
        assert metrics.cohort.subtree_admitted_active_workloads.value(cohort="c") == 2
        assert metrics.cohort.info.value(cohort="c", parent_cohort="", root_cohort="c") == 1
        assert metrics.cluster_queue_info.value(parent_cohort="c", root_cohort="c", **Q) == 1


async def test_an_implicit_cohort_has_its_sums_until_its_last_reference_is_gone() -> None:
    async with running_manager_harness(EVERYTHING) as harness:
        await harness.create(make_resource_flavor(), make_cluster_queue("q", cohortName="c"))
        await harness.advance(3)
        metrics = harness.context.metrics
        assert metrics.cohort.subtree_quota.value(cohort="c", **F) == 2
        await harness.delete("ClusterQueue", "q")
        await harness.advance(3)
        assert metrics.cohort.subtree_quota.value(cohort="c", **F) is None


async def test_the_series_of_a_cohort_end_with_it_though_queues_still_name_it() -> None:
    """API-144: they are there again when a queue below it changes, and what is counted begins at 0."""
    async with running_manager_harness(EVERYTHING) as harness:
        await busy(harness)
        metrics = harness.context.metrics.cohort
        assert metrics.subtree_quota.value(cohort="c", **F) == 3
        assert metrics.subtree_admitted_workloads_total.value(cohort="c", priority_class="") == 2
        await harness.delete("Cohort", "c")
        await harness.advance(20)
        assert metrics.subtree_quota.value(cohort="c", **F) is None
        assert metrics.subtree_resource_reservations.value(cohort="c", **F) is None
        assert not metrics.subtree_admitted_workloads_total.value(cohort="c", priority_class="")
        quotas = make_cluster_queue("p", "2")["spec"]["resourceGroups"]
        await harness.merge("ClusterQueue", "p", {"spec": {"resourceGroups": quotas}})
        await harness.advance(20)
        assert metrics.subtree_quota.value(cohort="c", **F) == 4


async def test_deleted_objects_have_no_series() -> None:
    async with running_manager_harness(EVERYTHING) as harness:
        await harness.create(
            make_resource_flavor(),
            make_cohort("c"),
            make_cluster_queue("q", cohortName="c"),
            make_local_queue("l", "q"),
        )
        await harness.advance(3)
        metrics = harness.context.metrics
        for kind, name in (("LocalQueue", "l"), ("ClusterQueue", "q"), ("Cohort", "c")):
            await harness.delete(kind, name)
        await harness.advance(3)
        assert metrics.local_queue.status.value(active="True", **L) is None
        assert metrics.cluster_queue_status.value(status="active", **Q) is None
        assert metrics.cohort.info.value(cohort="c", parent_cohort="", root_cohort="c") is None


async def test_a_replica_that_follows_sets_gauges_too_but_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    judge = ClusterQueueController.desired

    def looking(self: ClusterQueueController, found: ClusterQueue) -> ClusterQueue:
        looks.append(found.metadata.name)
        return judge(self, found)

    monkeypatch.setattr(ClusterQueueController, "desired", looking)
    async with running_manager_harness(EVERYTHING, leads=lambda: False, controllers=running_queue_gauges) as harness:
        await harness.create(make_resource_flavor(), make_cluster_queue("q"), make_local_queue("l", "q"))
        for number in range(40):
            await harness.create(make_workload(f"w{number}", "l"))
            await harness.advance(1)
        assert harness.context.metrics.cluster_queue_status.value(status="active", **Q) == 1
        assert 20 < (harness.context.metrics.pending_workloads.value(status="active", **Q) or 0) <= 40
        assert len(looks) < 12, "40 seconds, a look every 15"
