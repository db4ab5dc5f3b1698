"""The status of a LocalQueue (API-112 to API-115)."""

from typing import Any

from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.manager import ManagerHarness, is_active, running_manager_harness, workload_counts
from kohort.api.codec import from_json
from kohort.api.config.v1beta2 import Configuration
from kohort.api.quantity import NANO, Quantity
from kohort.controllers.context import ManagerSettings

SHARING = {"usageHalfLifeTime": "60s", "usageSamplingInterval": "10s"}
SAMPLING = ManagerSettings(from_json({"admissionFairSharing": SHARING}, Configuration))


async def open_queue(harness: ManagerHarness, **spec: Any) -> None:
    await harness.create(make_resource_flavor(), make_cluster_queue("q", **spec), make_local_queue("l", "q"))
    await harness.wait_for(is_active("True", "Ready"), "LocalQueue", "l")


async def test_a_queue_without_a_cluster_queue_is_inactive_and_counts_its_workloads_as_pending() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_local_queue("l", "q"), make_workload("a", "l"))
        found = await harness.wait_for(lambda q: workload_counts(q) == (1, 0, 0), "LocalQueue", "l")
        assert is_active("False", "ClusterQueueDoesNotExist")(found)
        await harness.create(make_resource_flavor(), make_cluster_queue("q"))
        await harness.wait_for(is_active("True", "Ready"), "LocalQueue", "l")
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1), "LocalQueue", "l")


async def test_a_queue_follows_the_cluster_queue_behind_it() -> None:
    async with running_manager_harness() as harness:
        await open_queue(harness)
        await harness.merge("ClusterQueue", "q", {"spec": {"stopPolicy": "Hold"}})
        await harness.wait_for(is_active("False", "ClusterQueueIsInactive"), "LocalQueue", "l")
        await harness.delete("ClusterQueue", "q")
        found = await harness.wait_for(is_active("False", "ClusterQueueDoesNotExist"), "LocalQueue", "l")
        assert "flavorsUsage" not in found["status"]


async def test_a_stopped_queue_has_no_pending_workloads_and_counts_running_ones() -> None:
    async with running_manager_harness() as harness:
        await open_queue(harness)
        await harness.create(make_workload("a", "l", "2"), make_workload("b", "l", "2"))
        await harness.wait_for(lambda q: workload_counts(q) == (1, 1, 1), "LocalQueue", "l")
        await harness.merge("LocalQueue", "l", {"spec": {"stopPolicy": "Hold"}})
        found = await harness.wait_for(is_active("False", "Stopped"), "LocalQueue", "l")
        assert workload_counts(found) == (0, 1, 1)
        assert found["status"]["flavorsUsage"][0]["resources"] == [{"name": "cpu", "total": "2"}]


async def test_a_flavor_added_to_the_cluster_queue_is_listed() -> None:
    async with running_manager_harness() as harness:
        await open_queue(harness)
        await harness.create(make_resource_flavor("g"))
        groups = make_cluster_queue("q", flavors="f g")["spec"]["resourceGroups"]
        await harness.merge("ClusterQueue", "q", {"spec": {"resourceGroups": groups}})
        await harness.wait_for(lambda q: len(q["status"]["flavorsUsage"]) == 2, "LocalQueue", "l")


async def test_past_usage_is_written_at_each_sample_without_pending_workloads() -> None:
    async with running_manager_harness(SAMPLING) as harness:
        await open_queue(harness, admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"})
        await harness.create(make_workload("a", "l", "2"))
        await harness.wait_for(lambda q: consumed(q) > 0.3, "LocalQueue", "l", timeout=60)
        await harness.wait_for(lambda q: consumed(q) > 1.0, "LocalQueue", "l", timeout=90)


async def test_usage_is_sampled_though_the_cluster_queue_does_not_order_by_it() -> None:
    async with running_manager_harness(SAMPLING) as harness:
        await open_queue(harness)
        found = await harness.wait_for(lambda q: "fairSharing" in q["status"], "LocalQueue", "l", timeout=5)
        assert found["status"]["fairSharing"]["weightedShare"] == 0
        await harness.create(make_workload("a", "l", "2"))
        await harness.wait_for(lambda q: consumed(q) > 0.3, "LocalQueue", "l", timeout=60)


async def test_an_idle_queue_has_zero_usage_of_resources_used_by_others() -> None:
    async with running_manager_harness(SAMPLING) as harness:
        await open_queue(harness, admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"})
        await harness.create(make_local_queue("idle", "q"), make_workload("a", "l", "2"))
        await harness.wait_for(lambda q: consumed_resources(q) == {"cpu": "0"}, "LocalQueue", "idle", timeout=60)


def consumed_resources(queue: dict[str, Any]) -> dict[str, str] | None:
    """What the status shows of past usage; None where it shows none."""
    sharing = queue["status"].get("fairSharing", {}).get("admissionFairSharingStatus", {})
    resources: dict[str, str] | None = sharing.get("consumedResources")
    return resources


def consumed(queue: dict[str, Any]) -> float:
    """The cpu that a queue has used lately."""
    text = (consumed_resources(queue) or {}).get("cpu", "0")
    return float(Quantity.parse(text).nanos) / NANO
