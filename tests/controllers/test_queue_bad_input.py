"""Mistakes in objects: told where they are, borne quietly, and nobody else's trouble."""

import pytest

from controllers.houses import House, figures, house, is_active
from kit.builders.kueue import (
    make_cluster_queue,
    make_local_queue,
    make_resource_flavor,
    make_resource_group,
    make_workload,
)

ABSURD = ("9223372036854775807", "1E", "100P", "9999999999999999999")
"""More than anybody has; the last is beyond 64 bits."""


async def beside_another(home: House) -> None:
    """A queue in which all is well."""
    await home.create(
        make_resource_flavor(), make_cluster_queue("good"), make_local_queue("l", "good"), make_workload("v", "l")
    )


async def all_is_well(home: House) -> None:
    await home.until(lambda q: figures(q) == (0, 1, 1), "ClusterQueue", "good")


def reason(found: dict[str, dict[str, list[dict[str, str]]]]) -> str:
    """Why a Workload has no quota."""
    conditions = found.get("status", {}).get("conditions", ())
    return next((each["reason"] for each in conditions if each["type"] == "QuotaReserved"), "")


async def test_a_queue_with_a_missing_flavor_admits_nothing_and_others_go_on() -> None:
    async with house() as home:
        await home.create(
            make_cluster_queue("bad", flavors="nowhere"), make_local_queue("lost", "bad"), make_workload("w", "lost")
        )
        await beside_another(home)
        await home.until(is_active("False", "FlavorNotFound"), "ClusterQueue", "bad")
        await home.until(lambda found: reason(found) == "Suspended", "Workload", "w")
        await home.until(lambda q: figures(q) == (1, 0, 0), "ClusterQueue", "bad")
        await all_is_well(home)


@pytest.mark.parametrize("cpu", ABSURD)
async def test_a_workload_that_asks_for_too_much_is_told_so_and_others_go_on(cpu: str) -> None:
    async with house() as home:
        await beside_another(home)
        await home.create(make_workload("w", "l", cpu))
        await home.until(lambda found: reason(found) == "ExceedsMaxQuota", "Workload", "w")
        await home.until(lambda q: figures(q) == (1, 1, 1), "ClusterQueue", "good")


async def test_a_quota_beyond_all_bounds_is_borne() -> None:
    async with house() as home:
        await beside_another(home)
        await home.create(
            make_cluster_queue("vast", "9999999999999999999"), make_local_queue("v", "vast"), make_workload("w", "v")
        )
        await home.until(lambda q: figures(q) == (0, 1, 1), "ClusterQueue", "vast")
        await all_is_well(home)


async def test_a_queue_with_more_flavors_than_a_status_may_list_tells_the_first_of_them() -> None:
    async with house() as home:
        names = [f"f{number}" for number in range(70)]
        await home.create(*map(make_resource_flavor, names))
        groups = [make_resource_group({"cpu": "1"}, *names[:64]), make_resource_group({"memory": "1"}, *names[64:])]
        await home.create(make_cluster_queue("q", resourceGroups=groups), make_local_queue("l", "q"))
        for kind, name in (("ClusterQueue", "q"), ("LocalQueue", "l")):
            found = await home.until(is_active("True", "Ready"), kind, name)
            assert len(found["status"]["flavorsUsage"]) == 64


async def test_mistakes_cost_no_writes_once_they_are_told() -> None:
    async with house() as home:
        await home.create(
            make_cluster_queue("bad", flavors="nowhere"), make_local_queue("lost", "bad"), make_workload("w", "lost")
        )
        await beside_another(home)
        await home.create(
            make_local_queue("nowhere", "nothing"), make_workload("x", "nowhere"), make_workload("y", "l", "1E")
        )
        await home.later(30)
        before, asked = home.revision, len(home.meddler.sent)
        await home.later(60)
        assert home.revision == before
        assert len(home.meddler.sent) - asked < 20
