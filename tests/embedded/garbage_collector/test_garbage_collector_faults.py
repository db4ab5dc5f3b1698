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


async def test_a_child_that_no_cache_shows_yet_is_orphaned_all_the_same(world: GarbageCollectorHarness) -> None:
    owner = await world.create(deployment("owner"))
    await world.settle()
    world.interceptor.hold_watches("configmaps")
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.delete(owner, "Orphan")
    await world.settle()
    world.interceptor.release_watches("configmaps")
    await world.settle()
    assert await world.survivors(owner, child) == {"child"}
    assert await world.owners(child) == []


async def test_an_owner_waits_for_a_child_that_no_cache_shows_yet(world: GarbageCollectorHarness) -> None:
    owner = await world.create(deployment("owner"))
    await world.settle()
    world.interceptor.hold_watches("configmaps")
    child = await world.create(with_owners(make_config_map("child"), owner, block=True))
    await world.delete(owner, "Foreground")
    await world.settle()
    assert await world.survivors(owner, child) == {"owner", "child"}
    world.interceptor.release_watches("configmaps")
    await world.settle()
    assert await world.survivors(owner, child) == set()


async def test_a_cache_that_missed_the_end_of_an_owner_does_not_keep_its_child(world: GarbageCollectorHarness) -> None:
    world.interceptor.hold_watches("deployments")
    owner = await world.create(deployment("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.settle()
    assert await world.survivors(child) == {"child"}
    await world.delete(owner)
    await world.settle()
    assert await world.survivors(child) == set()


async def test_a_cache_that_still_shows_a_gone_owner_costs_nothing(world: GarbageCollectorHarness) -> None:
    owner = await world.create(deployment("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.settle()
    world.interceptor.hold_watches("deployments")
    await world.delete(owner)
    await world.settle()
    assert await world.survivors(child) == {"child"}
    world.interceptor.release_watches("deployments")
    await world.settle()
    assert await world.survivors(child) == set()


async def test_a_child_that_gets_a_new_owner_in_the_last_moment_stays(world: GarbageCollectorHarness) -> None:
    old, new = await world.create(make_config_map("old")), await world.create(make_config_map("new"))
    child = await world.create(with_owners(make_config_map("child"), old))
    await world.settle()

    async def adopt() -> None:
        both = [owner_reference(old), owner_reference(new)]
        await world.cluster.merge(world.path(child), {"metadata": {"ownerReferences": both}})

    world.interceptor.before("DELETE", "/child", adopt)
    await world.delete(old)
    await world.settle()
    assert await world.owners(child) == ["new"]


async def test_another_object_that_takes_the_name_in_the_last_moment_stays(world: GarbageCollectorHarness) -> None:
    owner = await world.create(make_config_map("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.settle()

    async def replace() -> None:
        await world.delete(child)
        await world.create(make_config_map("child"))

    world.interceptor.before("DELETE", "/child", replace)
    await world.delete(owner)
    await world.settle()
    assert (await world.cluster.request("GET", world.path(child))).status == 200


async def test_an_orphan_that_is_adopted_in_the_last_moment_keeps_its_new_owner(world: GarbageCollectorHarness) -> None:
    old, new = await world.create(make_config_map("old")), await world.create(make_config_map("new"))
    child = await world.create(with_owners(make_config_map("child"), old))

    async def adopt() -> None:
        both = [owner_reference(old), owner_reference(new)]
        await world.cluster.merge(world.path(child), {"metadata": {"ownerReferences": both}})

    world.interceptor.before("PATCH", "/child", adopt)
    await world.delete(old, "Orphan")
    await world.settle()
    assert await world.survivors(old) == set()
    assert await world.owners(child) == ["new"]


@pytest.mark.parametrize("code", [404, 409, 429, 500, 503])
async def test_refusals_are_not_the_end(world: GarbageCollectorHarness, code: int) -> None:
    owner = await world.create(make_config_map("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    for method in ("GET", "DELETE"):
        world.interceptor.reject(method, "/child", code, code)
    await world.delete(owner)
    await world.settle()
    assert await world.survivors(child) == set()


async def test_a_server_that_does_not_serve_a_kind_for_a_moment_proves_no_owner_gone(
    world: GarbageCollectorHarness,
) -> None:
    world.interceptor.hold_watches("deployments")
    owner = await world.create(deployment("owner"))
    world.interceptor.reject("GET", "/owner", 404, 404, 404)
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.settle()
    assert await world.survivors(owner, child) == {"owner", "child"}


async def test_each_child_is_deleted_once(world: GarbageCollectorHarness) -> None:
    owner = await world.create(make_config_map("owner"))
    children = [await world.create(with_owners(make_config_map(f"child-{number}"), owner)) for number in range(30)]
    await world.delete(owner)
    await world.settle()
    assert await world.survivors(*children) == set()
    assert world.interceptor.count("DELETE") == 30
    assert world.interceptor.count("GET", "/owner") < 30


async def test_a_delete_whose_response_was_lost_does_not_affect_a_new_object(world: GarbageCollectorHarness) -> None:
    owner = await world.create(make_config_map("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.settle()

    async def lose() -> None:
        world.network.fail_next(RequestFault.LOST_RESPONSE)

    world.interceptor.before("DELETE", "/child", lose)
    await world.delete(owner)
    await world.settle()
    assert await world.survivors(child) == set()


async def test_broken_watches_lose_nothing(world: GarbageCollectorHarness) -> None:
    owner = await world.create(make_config_map("owner"))
    children = [
        await world.create(with_owners(make_config_map(f"child-{number}"), owner, block=True)) for number in range(5)
    ]
    world.reset_watches()
    await world.delete(owner, "Foreground")
    world.reset_watches()
    await world.settle()
    assert await world.survivors(owner, *children) == set()


async def test_a_server_that_was_away_is_tidied_up_when_it_is_back(world: GarbageCollectorHarness) -> None:
    owner = await world.create(make_config_map("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.settle()
    world.network.disconnect()
    await world.delete(owner)
    await world.cluster.clock.advance(20)
    assert await world.survivors(child) == {"child"}
    world.network.reconnect()
    await world.cluster.clock.advance(60)
    assert await world.survivors(child) == set()


async def test_discovery_that_fails_takes_no_kind_out_of_sight(world: GarbageCollectorHarness) -> None:
    await world.create(widget_definition())
    owner = await world.create(widget("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.settle()
    world.interceptor.reject("GET", "/apis", *(500 for _ in range(50)))
    await world.cluster.clock.advance(40)
    await world.delete(owner)
    await world.settle()
    assert await world.survivors(child) == set()


async def test_kinds_that_are_temporarily_not_served_are_dropped_and_their_dependents_stay(
    world: GarbageCollectorHarness,
) -> None:
    owner = await world.create(deployment("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.settle()
    for _ in range(4):
        world.interceptor.respond("GET", "/apis", b'{"items":[]}')
    await world.cluster.clock.advance(6)
    assert world.collector.garbage.graph.node(owner["metadata"]["uid"]) is None
    await world.cluster.clock.advance(100)
    assert await world.survivors(owner, child) == {"owner", "child"}
    await world.delete(owner)
    await world.settle()
    assert await world.survivors(owner, child) == set()


async def test_a_stopped_collector_does_nothing_and_leaves_nothing_running() -> None:
    before = asyncio.all_tasks()
    async with running_garbage_collector() as world:
        owner = await world.create(make_config_map("owner"))
        child = await world.create(with_owners(make_config_map("child"), owner))
        await world.settle()
        await world.collector.stop()
        await world.delete(owner)
        await world.settle()
        assert await world.survivors(child) == {"child"}
    left = [task for task in asyncio.all_tasks() - before if not task.done()]
    assert left == []
