"""Mistakes in objects: reported on the object, without errors in the log, and without effect on others."""

import pytest

from kit.builders.kueue import (
    make_cluster_queue,
    make_local_queue,
    make_resource_flavor,
    make_resource_group,
    make_workload,
)
from kit.manager import ManagerHarness, is_active, running_manager_harness, workload_counts

ABSURD = ("9223372036854775807", "1E", "100P", "9999999999999999999")
"""More than anybody has; the last is beyond 64 bits."""


async def beside_another(harness: ManagerHarness) -> None:
    """A queue in which all is well."""
    await harness.create(
        make_resource_flavor(), make_cluster_queue("good"), make_local_queue("l", "good"), make_workload("v", "l")
    )


async def all_is_well(harness: ManagerHarness) -> None:
    await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1), "ClusterQueue", "good")


def reason(found: dict[str, dict[str, list[dict[str, str]]]]) -> str:
    """Why a Workload has no quota."""
    conditions = found.get("status", {}).get("conditions", ())
    return next((each["reason"] for each in conditions if each["type"] == "QuotaReserved"), "")


async def test_a_queue_with_a_missing_flavor_admits_nothing_and_others_go_on() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_cluster_queue("bad", flavors="nowhere"), make_local_queue("lost", "bad"), make_workload("w", "lost")
        )
        await beside_another(harness)
        await harness.wait_for(is_active("False", "FlavorNotFound"), "ClusterQueue", "bad")
        await harness.wait_for(lambda found: reason(found) == "Suspended", "Workload", "w")
        await harness.wait_for(lambda q: workload_counts(q) == (1, 0, 0), "ClusterQueue", "bad")
        await all_is_well(harness)


@pytest.mark.parametrize("cpu", ABSURD)
async def test_a_workload_with_excessive_requests_is_reported_and_others_are_admitted(cpu: str) -> None:
    async with running_manager_harness() as harness:
        await beside_another(harness)
        await harness.create(make_workload("w", "l", cpu))
        await harness.wait_for(lambda found: reason(found) == "ExceedsMaxQuota", "Workload", "w")
        await harness.wait_for(lambda q: workload_counts(q) == (1, 1, 1), "ClusterQueue", "good")


async def test_a_quota_beyond_all_bounds_causes_no_errors() -> None:
    async with running_manager_harness() as harness:
        await beside_another(harness)
        await harness.create(
            make_cluster_queue("vast", "9999999999999999999"), make_local_queue("v", "vast"), make_workload("w", "v")
        )
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1), "ClusterQueue", "vast")
        await all_is_well(harness)


async def test_a_status_with_too_many_flavors_lists_the_first_of_them() -> None:
    async with running_manager_harness() as harness:
        names = [f"f{number}" for number in range(70)]
        await harness.create(*map(make_resource_flavor, names))
        groups = [make_resource_group({"cpu": "1"}, *names[:64]), make_resource_group({"memory": "1"}, *names[64:])]
        await harness.create(make_cluster_queue("q", resourceGroups=groups), make_local_queue("l", "q"))
        for kind, name in (("ClusterQueue", "q"), ("LocalQueue", "l")):
            found = await harness.wait_for(is_active("True", "Ready"), kind, name)
            assert len(found["status"]["flavorsUsage"]) == 64


async def test_mistakes_cost_no_writes_once_they_are_reported() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_cluster_queue("bad", flavors="nowhere"), make_local_queue("lost", "bad"), make_workload("w", "lost")
        )
        await beside_another(harness)
        await harness.create(
            make_local_queue("nowhere", "nothing"), make_workload("x", "nowhere"), make_workload("y", "l", "1E")
        )
        await harness.advance(30)
        before, asked = harness.revision, len(harness.interceptor.sent)
        await harness.advance(60)
        assert harness.revision == before
        assert len(harness.interceptor.sent) - asked < 20
