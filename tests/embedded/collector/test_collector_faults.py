"""The collector on a bad day: caches that lag, writes that collide, answers that get lost, watches that break."""

import asyncio

import pytest

from embedded.collector.worlds import World, owned, reference, running_world
from embedded.server.objects import config_map, deployment, widget, widget_definition
from kit.faults import RequestFault


async def test_a_child_that_no_cache_shows_yet_is_orphaned_all_the_same(world: World) -> None:
    owner = await world.create(deployment("owner"))
    await world.calm()
    world.meddler.hold_watches("configmaps")
    child = await world.create(owned(config_map("child"), owner))
    await world.delete(owner, "Orphan")
    await world.calm()
    world.meddler.release_watches("configmaps")
    await world.calm()
    assert await world.survivors(owner, child) == {"child"}
    assert await world.owners(child) == []


async def test_an_owner_waits_for_a_child_that_no_cache_shows_yet(world: World) -> None:
    owner = await world.create(deployment("owner"))
    await world.calm()
    world.meddler.hold_watches("configmaps")
    child = await world.create(owned(config_map("child"), owner, block=True))
    await world.delete(owner, "Foreground")
    await world.calm()
    assert await world.survivors(owner, child) == {"owner", "child"}
    world.meddler.release_watches("configmaps")
    await world.calm()
    assert await world.survivors(owner, child) == set()


async def test_a_cache_that_missed_the_end_of_an_owner_does_not_keep_its_child(world: World) -> None:
    world.meddler.hold_watches("deployments")
    owner = await world.create(deployment("owner"))
    child = await world.create(owned(config_map("child"), owner))
    await world.calm()
    assert await world.survivors(child) == {"child"}
    await world.delete(owner)
    await world.calm()
    assert await world.survivors(child) == set()


async def test_a_cache_that_still_shows_a_gone_owner_costs_nothing(world: World) -> None:
    owner = await world.create(deployment("owner"))
    child = await world.create(owned(config_map("child"), owner))
    await world.calm()
    world.meddler.hold_watches("deployments")
    await world.delete(owner)
    await world.calm()
    assert await world.survivors(child) == {"child"}
    world.meddler.release_watches("deployments")
    await world.calm()
    assert await world.survivors(child) == set()


async def test_a_child_that_gets_a_new_owner_in_the_last_moment_stays(world: World) -> None:
    old, new = await world.create(config_map("old")), await world.create(config_map("new"))
    child = await world.create(owned(config_map("child"), old))
    await world.calm()

    async def adopt() -> None:
        both = [reference(old), reference(new)]
        await world.cluster.merge(world.path(child), {"metadata": {"ownerReferences": both}})

    world.meddler.before("DELETE", "/child", adopt)
    await world.delete(old)
    await world.calm()
    assert await world.owners(child) == ["new"]


async def test_another_object_that_takes_the_name_in_the_last_moment_stays(world: World) -> None:
    owner = await world.create(config_map("owner"))
    child = await world.create(owned(config_map("child"), owner))
    await world.calm()

    async def replace() -> None:
        await world.delete(child)
        await world.create(config_map("child"))

    world.meddler.before("DELETE", "/child", replace)
    await world.delete(owner)
    await world.calm()
    assert (await world.cluster.request("GET", world.path(child))).status == 200


async def test_an_orphan_that_is_adopted_in_the_last_moment_keeps_its_new_owner(world: World) -> None:
    old, new = await world.create(config_map("old")), await world.create(config_map("new"))
    child = await world.create(owned(config_map("child"), old))

    async def adopt() -> None:
        both = [reference(old), reference(new)]
        await world.cluster.merge(world.path(child), {"metadata": {"ownerReferences": both}})

    world.meddler.before("PATCH", "/child", adopt)
    await world.delete(old, "Orphan")
    await world.calm()
    assert await world.survivors(old) == set()
    assert await world.owners(child) == ["new"]


@pytest.mark.parametrize("code", [404, 409, 429, 500, 503])
async def test_refusals_are_not_the_end(world: World, code: int) -> None:
    owner = await world.create(config_map("owner"))
    child = await world.create(owned(config_map("child"), owner))
    for method in ("GET", "DELETE"):
        world.meddler.reject(method, "/child", code, code)
    await world.delete(owner)
    await world.calm()
    assert await world.survivors(child) == set()


async def test_a_server_that_does_not_serve_a_kind_for_a_moment_proves_no_owner_gone(world: World) -> None:
    world.meddler.hold_watches("deployments")
    owner = await world.create(deployment("owner"))
    world.meddler.reject("GET", "/owner", 404, 404, 404)
    child = await world.create(owned(config_map("child"), owner))
    await world.calm()
    assert await world.survivors(owner, child) == {"owner", "child"}


async def test_each_child_is_deleted_once(world: World) -> None:
    owner = await world.create(config_map("owner"))
    children = [await world.create(owned(config_map(f"child-{number}"), owner)) for number in range(30)]
    await world.delete(owner)
    await world.calm()
    assert await world.survivors(*children) == set()
    assert world.meddler.count("DELETE") == 30
    assert world.meddler.count("GET", "/owner") < 30


async def test_a_delete_whose_answer_got_lost_is_not_done_to_somebody_else(world: World) -> None:
    owner = await world.create(config_map("owner"))
    child = await world.create(owned(config_map("child"), owner))
    await world.calm()

    async def lose() -> None:
        world.network.fail_next(RequestFault.LOST_RESPONSE)

    world.meddler.before("DELETE", "/child", lose)
    await world.delete(owner)
    await world.calm()
    assert await world.survivors(child) == set()


async def test_broken_watches_lose_nothing(world: World) -> None:
    owner = await world.create(config_map("owner"))
    children = [await world.create(owned(config_map(f"child-{number}"), owner, block=True)) for number in range(5)]
    world.cut()
    await world.delete(owner, "Foreground")
    world.cut()
    await world.calm()
    assert await world.survivors(owner, *children) == set()


async def test_a_server_that_was_away_is_tidied_up_when_it_is_back(world: World) -> None:
    owner = await world.create(config_map("owner"))
    child = await world.create(owned(config_map("child"), owner))
    await world.calm()
    world.network.disconnect()
    await world.delete(owner)
    await world.cluster.clock.advance(20)
    assert await world.survivors(child) == {"child"}
    world.network.reconnect()
    await world.cluster.clock.advance(60)
    assert await world.survivors(child) == set()


async def test_discovery_that_fails_takes_no_kind_out_of_sight(world: World) -> None:
    await world.create(widget_definition())
    owner = await world.create(widget("owner"))
    child = await world.create(owned(config_map("child"), owner))
    await world.calm()
    world.meddler.reject("GET", "/apis", *(500 for _ in range(50)))
    await world.cluster.clock.advance(40)
    await world.delete(owner)
    await world.calm()
    assert await world.survivors(child) == set()


async def test_kinds_that_are_not_served_for_a_while_are_forgotten_and_their_children_stay(world: World) -> None:
    owner = await world.create(deployment("owner"))
    child = await world.create(owned(config_map("child"), owner))
    await world.calm()
    for _ in range(4):
        world.meddler.respond("GET", "/apis", b'{"items":[]}')
    await world.cluster.clock.advance(6)
    assert world.collector.garbage.graph.node(owner["metadata"]["uid"]) is None
    await world.cluster.clock.advance(100)
    assert await world.survivors(owner, child) == {"owner", "child"}
    await world.delete(owner)
    await world.calm()
    assert await world.survivors(owner, child) == set()


async def test_a_stopped_collector_does_nothing_and_leaves_nothing_running() -> None:
    before = asyncio.all_tasks()
    async with running_world() as world:
        owner = await world.create(config_map("owner"))
        child = await world.create(owned(config_map("child"), owner))
        await world.calm()
        await world.collector.stop()
        await world.delete(owner)
        await world.calm()
        assert await world.survivors(child) == {"child"}
    left = [task for task in asyncio.all_tasks() - before if not task.done()]
    assert left == []
