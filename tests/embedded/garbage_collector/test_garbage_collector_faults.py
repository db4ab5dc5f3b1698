"""The collector with failures: stale caches, conflicting writes, lost responses, broken watches."""

import asyncio

import pytest

from embedded.garbage_collector.harness import (
    GarbageCollectorHarness,
    owner_reference,
    running_garbage_collector,
    with_owners,
)
from embedded.server.objects import deployment, widget, widget_definition
from kit.builders.core import make_config_map
from kit.faults import RequestFault


async def test_a_child_that_no_cache_shows_yet_is_orphaned_all_the_same(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(deployment("owner"))
    await harness.settle()
    harness.interceptor.hold_watches("configmaps")
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.delete(owner, "Orphan")
    await harness.settle()
    harness.interceptor.release_watches("configmaps")
    await harness.settle()
    assert await harness.survivors(owner, child) == {"child"}
    assert await harness.owners(child) == []


async def test_an_owner_waits_for_a_child_that_no_cache_shows_yet(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(deployment("owner"))
    await harness.settle()
    harness.interceptor.hold_watches("configmaps")
    child = await harness.create(with_owners(make_config_map("child"), owner, block=True))
    await harness.delete(owner, "Foreground")
    await harness.settle()
    assert await harness.survivors(owner, child) == {"owner", "child"}
    harness.interceptor.release_watches("configmaps")
    await harness.settle()
    assert await harness.survivors(owner, child) == set()


async def test_a_cache_that_missed_the_end_of_an_owner_does_not_keep_its_child(
    harness: GarbageCollectorHarness,
) -> None:
    harness.interceptor.hold_watches("deployments")
    owner = await harness.create(deployment("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.settle()
    assert await harness.survivors(child) == {"child"}
    await harness.delete(owner)
    await harness.settle()
    assert await harness.survivors(child) == set()


async def test_a_cache_that_still_shows_a_gone_owner_costs_nothing(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(deployment("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.settle()
    harness.interceptor.hold_watches("deployments")
    await harness.delete(owner)
    await harness.settle()
    assert await harness.survivors(child) == {"child"}
    harness.interceptor.release_watches("deployments")
    await harness.settle()
    assert await harness.survivors(child) == set()


async def test_a_child_that_gets_a_new_owner_in_the_last_moment_stays(harness: GarbageCollectorHarness) -> None:
    old, new = await harness.create(make_config_map("old")), await harness.create(make_config_map("new"))
    child = await harness.create(with_owners(make_config_map("child"), old))
    await harness.settle()

    async def adopt() -> None:
        both = [owner_reference(old), owner_reference(new)]
        await harness.cluster.merge(harness.path(child), {"metadata": {"ownerReferences": both}})

    harness.interceptor.before("DELETE", "/child", adopt)
    await harness.delete(old)
    await harness.settle()
    assert await harness.owners(child) == ["new"]


async def test_another_object_that_takes_the_name_in_the_last_moment_stays(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(make_config_map("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.settle()

    async def replace() -> None:
        await harness.delete(child)
        await harness.create(make_config_map("child"))

    harness.interceptor.before("DELETE", "/child", replace)
    await harness.delete(owner)
    await harness.settle()
    assert (await harness.cluster.request("GET", harness.path(child))).status == 200


async def test_an_orphan_that_is_adopted_in_the_last_moment_keeps_its_new_owner(
    harness: GarbageCollectorHarness,
) -> None:
    old, new = await harness.create(make_config_map("old")), await harness.create(make_config_map("new"))
    child = await harness.create(with_owners(make_config_map("child"), old))

    async def adopt() -> None:
        both = [owner_reference(old), owner_reference(new)]
        await harness.cluster.merge(harness.path(child), {"metadata": {"ownerReferences": both}})

    harness.interceptor.before("PATCH", "/child", adopt)
    await harness.delete(old, "Orphan")
    await harness.settle()
    assert await harness.survivors(old) == set()
    assert await harness.owners(child) == ["new"]


@pytest.mark.parametrize("code", [404, 409, 429, 500, 503])
async def test_refusals_are_not_the_end(harness: GarbageCollectorHarness, code: int) -> None:
    owner = await harness.create(make_config_map("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    for method in ("GET", "DELETE"):
        harness.interceptor.reject(method, "/child", code, code)
    await harness.delete(owner)
    await harness.settle()
    assert await harness.survivors(child) == set()


async def test_a_server_that_does_not_serve_a_kind_for_a_moment_proves_no_owner_gone(
    harness: GarbageCollectorHarness,
) -> None:
    harness.interceptor.hold_watches("deployments")
    owner = await harness.create(deployment("owner"))
    harness.interceptor.reject("GET", "/owner", 404, 404, 404)
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.settle()
    assert await harness.survivors(owner, child) == {"owner", "child"}


async def test_each_child_is_deleted_once(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(make_config_map("owner"))
    children = [await harness.create(with_owners(make_config_map(f"child-{number}"), owner)) for number in range(30)]
    await harness.delete(owner)
    await harness.settle()
    assert await harness.survivors(*children) == set()
    assert harness.interceptor.count("DELETE") == 30
    assert harness.interceptor.count("GET", "/owner") < 30


async def test_a_delete_whose_response_was_lost_does_not_affect_a_new_object(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(make_config_map("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.settle()

    async def lose() -> None:
        harness.network.fail_next(RequestFault.LOST_RESPONSE)

    harness.interceptor.before("DELETE", "/child", lose)
    await harness.delete(owner)
    await harness.settle()
    assert await harness.survivors(child) == set()


async def test_broken_watches_lose_nothing(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(make_config_map("owner"))
    children = [
        await harness.create(with_owners(make_config_map(f"child-{number}"), owner, block=True)) for number in range(5)
    ]
    harness.reset_watches()
    await harness.delete(owner, "Foreground")
    harness.reset_watches()
    await harness.settle()
    assert await harness.survivors(owner, *children) == set()


async def test_a_server_that_was_away_is_tidied_up_when_it_is_back(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(make_config_map("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.settle()
    harness.network.disconnect()
    await harness.delete(owner)
    await harness.cluster.clock.advance(20)
    assert await harness.survivors(child) == {"child"}
    harness.network.reconnect()
    await harness.cluster.clock.advance(60)
    assert await harness.survivors(child) == set()


async def test_discovery_that_fails_takes_no_kind_out_of_sight(harness: GarbageCollectorHarness) -> None:
    await harness.create(widget_definition())
    owner = await harness.create(widget("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.settle()
    harness.interceptor.reject("GET", "/apis", *(500 for _ in range(50)))
    await harness.cluster.clock.advance(40)
    await harness.delete(owner)
    await harness.settle()
    assert await harness.survivors(child) == set()


async def test_kinds_that_are_temporarily_not_served_are_dropped_and_their_dependents_stay(
    harness: GarbageCollectorHarness,
) -> None:
    owner = await harness.create(deployment("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.settle()
    for _ in range(4):
        harness.interceptor.respond("GET", "/apis", b'{"items":[]}')
    await harness.cluster.clock.advance(6)
    assert harness.collector.garbage.graph.node(owner["metadata"]["uid"]) is None
    await harness.cluster.clock.advance(100)
    assert await harness.survivors(owner, child) == {"owner", "child"}
    await harness.delete(owner)
    await harness.settle()
    assert await harness.survivors(owner, child) == set()


async def test_a_stopped_collector_does_nothing_and_leaves_nothing_running() -> None:
    before = asyncio.all_tasks()
    async with running_garbage_collector() as harness:
        owner = await harness.create(make_config_map("owner"))
        child = await harness.create(with_owners(make_config_map("child"), owner))
        await harness.settle()
        await harness.collector.stop()
        await harness.delete(owner)
        await harness.settle()
        assert await harness.survivors(child) == {"child"}
    left = [task for task in asyncio.all_tasks() - before if not task.done()]
    assert left == []
