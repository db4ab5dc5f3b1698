"""Which dependents are deleted with their owner: for each propagation policy, with several owners, in cycles."""

from embedded.garbage_collector.harness import (
    GarbageCollectorHarness,
    Object,
    owner_reference,
    with_finalizers,
    with_owners,
)
from embedded.server.objects import deployment, widget, widget_definition
from kit.builders.core import make_config_map, make_namespace, make_pod
from kohort.embedded.garbage_collector.startup import running_cleanup
from kohort.kube.client import Client

HOLD = "example.com/hold"
EVENTS = "/api/v1/events"


async def test_a_dependent_is_deleted_after_its_owner_and_its_dependents_after_it(
    world: GarbageCollectorHarness,
) -> None:
    owner = await world.create(make_config_map("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    grandchild = await world.create(with_owners(make_pod("grandchild"), child))
    other = await world.create(make_config_map("other"))
    await world.delete(owner)
    await world.settle()
    assert await world.survivors(owner, child, grandchild, other) == {"other"}


async def test_an_owner_that_is_held_keeps_its_children_in_the_background(world: GarbageCollectorHarness) -> None:
    owner = await world.create(with_finalizers(make_config_map("owner"), HOLD))
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.delete(owner)
    await world.settle()
    assert await world.survivors(owner, child) == {"owner", "child"}
    await world.remove_finalizers(owner)
    await world.settle()
    assert await world.survivors(owner, child) == set()


async def test_a_dependent_created_after_the_deletion_of_its_owner_is_deleted_too(
    world: GarbageCollectorHarness,
) -> None:
    owner = await world.create(make_config_map("owner"))
    await world.delete(owner)
    await world.settle()
    child = await world.create(with_owners(make_config_map("late"), owner))
    await world.settle()
    assert await world.survivors(child) == set()


async def test_an_object_of_the_same_name_is_not_the_owner(world: GarbageCollectorHarness) -> None:
    owner = await world.create(make_config_map("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.delete(owner)
    impostor = await world.create(make_config_map("owner"))
    await world.settle()
    assert await world.survivors(child, impostor) == {"owner"}


async def test_what_was_garbage_before_the_collector_came_is_found(world: GarbageCollectorHarness) -> None:
    await world.collector.stop()
    owner = await world.create(make_config_map("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.delete(owner)
    async with running_cleanup(Client(world.network, world.cluster.clock)):
        await world.settle()
    assert await world.survivors(child) == set()


# Several owners


async def test_a_dependent_with_another_owner_stays_and_loses_the_reference_to_the_deleted_one(
    world: GarbageCollectorHarness,
) -> None:
    one, two = await world.create(make_config_map("one")), await world.create(make_config_map("two"))
    child = await world.create(with_owners(make_config_map("child"), one, two))
    await world.delete(one)
    await world.settle()
    assert await world.owners(child) == ["two"]
    await world.delete(two)
    await world.settle()
    assert await world.survivors(child) == set()


async def test_references_that_stay_are_left_word_for_word(world: GarbageCollectorHarness) -> None:
    one, two = await world.create(make_config_map("one")), await world.create(make_config_map("two"))
    child = with_owners(make_config_map("child"), one)
    kept = {**owner_reference(two), "controller": True, "blockOwnerDeletion": False}
    child["metadata"]["ownerReferences"].append(kept)
    child = await world.create(child)
    await world.delete(one)
    await world.settle()
    present = await world.get(child)
    assert present is not None
    assert present["metadata"]["ownerReferences"] == [kept]


async def test_a_child_of_an_owner_that_waits_stays_for_its_other_owner(world: GarbageCollectorHarness) -> None:
    one, two = await world.create(make_config_map("one")), await world.create(make_config_map("two"))
    child = await world.create(with_owners(make_config_map("child"), one, two, block=True))
    await world.delete(one, "Foreground")
    await world.settle()
    assert await world.survivors(one, two) == {"two"}
    assert await world.owners(child) == ["two"]


# Foreground


async def test_in_the_foreground_an_owner_waits_for_a_child_that_blocks(world: GarbageCollectorHarness) -> None:
    owner = await world.create(deployment("owner"))
    child = await world.create(with_owners(with_finalizers(make_config_map("child"), HOLD), owner, block=True))
    await world.delete(owner, "Foreground")
    await world.settle()
    waiting = await world.get(owner)
    assert waiting is not None
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    terminating = await world.get(child)
    assert terminating is not None
    assert terminating["metadata"]["deletionTimestamp"]
    await world.remove_finalizers(child)
    await world.settle()
    assert await world.survivors(owner, child) == set()


async def test_in_the_foreground_an_owner_does_not_wait_for_a_child_that_does_not_block(
    world: GarbageCollectorHarness,
) -> None:
    owner = await world.create(make_config_map("owner"))
    child = await world.create(with_owners(with_finalizers(make_config_map("child"), HOLD), owner))
    await world.delete(owner, "Foreground")
    await world.settle()
    assert await world.survivors(owner, child) == {"child"}
    await world.remove_finalizers(child)
    await world.settle()
    assert await world.survivors(child) == set()


async def test_in_the_foreground_the_innermost_is_deleted_first(world: GarbageCollectorHarness) -> None:
    owner = await world.create(make_config_map("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner, block=True))
    grandchild = await world.create(
        with_owners(with_finalizers(make_config_map("grandchild"), HOLD), child, block=True)
    )
    await world.delete(owner, "Foreground")
    await world.settle()
    assert await world.survivors(owner, child, grandchild) == {"owner", "child", "grandchild"}
    await world.remove_finalizers(grandchild)
    await world.settle()
    assert await world.survivors(owner, child, grandchild) == set()


async def test_a_child_that_stops_blocking_frees_its_owner(world: GarbageCollectorHarness) -> None:
    owner = await world.create(make_config_map("owner"))
    child = await world.create(with_owners(with_finalizers(make_config_map("child"), HOLD), owner, block=True))
    await world.delete(owner, "Foreground")
    await world.settle()
    await world.cluster.merge(world.path(child), {"metadata": {"ownerReferences": None}})
    await world.settle()
    assert await world.survivors(owner) == set()


async def test_an_owner_that_holds_other_finalizers_keeps_them(world: GarbageCollectorHarness) -> None:
    owner = await world.create(with_finalizers(make_config_map("owner"), HOLD))
    await world.delete(owner, "Foreground")
    await world.settle()
    present = await world.get(owner)
    assert present is not None
    assert present["metadata"]["finalizers"] == [HOLD]


# Orphan


async def test_orphans_lose_their_owner_reference_and_stay(world: GarbageCollectorHarness) -> None:
    owner = await world.create(deployment("owner"))
    child = await world.create(with_owners(make_pod("child"), owner, block=True))
    grandchild = await world.create(with_owners(make_config_map("grandchild"), child))
    await world.delete(owner, "Orphan")
    await world.settle()
    assert await world.survivors(owner, child, grandchild) == {"child", "grandchild"}
    assert await world.owners(child) == []
    assert await world.owners(grandchild) == ["child"]


async def test_orphans_keep_their_other_owner(world: GarbageCollectorHarness) -> None:
    one, two = await world.create(make_config_map("one")), await world.create(make_config_map("two"))
    child = await world.create(with_owners(make_config_map("child"), one, two))
    await world.delete(one, "Orphan")
    await world.settle()
    assert await world.owners(child) == ["two"]


async def test_a_child_with_the_orphan_finalizer_leaves_its_own_children_behind(world: GarbageCollectorHarness) -> None:
    owner = await world.create(make_config_map("owner"))
    child = await world.create(with_owners(with_finalizers(make_config_map("child"), "orphan"), owner))
    grandchild = await world.create(with_owners(make_config_map("grandchild"), child))
    await world.delete(owner)
    await world.settle()
    assert await world.survivors(owner, child, grandchild) == {"grandchild"}
    assert await world.owners(grandchild) == []


# Circles


async def test_a_cycle_is_deleted_as_a_whole_by_any_propagation_policy(world: GarbageCollectorHarness) -> None:
    for policy in ("Background", "Foreground"):
        one = await world.create(make_config_map("one"))
        two = await world.create(with_owners(make_config_map("two"), one, block=True))
        three = await world.create(with_owners(make_config_map("three"), two, block=True))
        await world.cluster.merge(
            world.path(one), {"metadata": {"ownerReferences": [owner_reference(three, block=True)]}}
        )
        await world.settle()
        assert await world.survivors(one, two, three) == {"one", "two", "three"}
        await world.delete(one, policy)
        await world.settle()
        assert await world.survivors(one, two, three) == set()


async def test_two_that_own_each_other_and_both_wait_are_deleted(
    world: GarbageCollectorHarness,
) -> None:
    one = await world.create(make_config_map("one"))
    two = await world.create(with_owners(make_config_map("two"), one, block=True))
    await world.cluster.merge(world.path(one), {"metadata": {"ownerReferences": [owner_reference(two, block=True)]}})
    await world.delete(one, "Foreground")
    await world.delete(two, "Foreground")
    await world.settle()
    assert await world.survivors(one, two) == set()


async def test_an_object_that_owns_itself_does_not_wait_for_itself(world: GarbageCollectorHarness) -> None:
    one = await world.create(make_config_map("one"))
    await world.cluster.merge(world.path(one), {"metadata": {"ownerReferences": [owner_reference(one, block=True)]}})
    await world.delete(one, "Foreground")
    await world.settle()
    assert await world.survivors(one) == set()


async def test_a_circle_that_one_side_does_not_block_is_no_excuse_not_to_wait(world: GarbageCollectorHarness) -> None:
    one = await world.create(make_config_map("one"))
    two = await world.create(with_owners(with_finalizers(make_config_map("two"), HOLD), one, block=True))
    await world.cluster.merge(world.path(one), {"metadata": {"ownerReferences": [owner_reference(two)]}})
    await world.delete(one, "Foreground")
    await world.settle()
    assert await world.survivors(one, two) == {"one", "two"}
    await world.remove_finalizers(two)
    await world.settle()
    assert await world.survivors(one, two) == set()


# Scopes and kinds


async def test_a_cluster_scoped_owner_takes_along_what_it_owns_in_namespaces(world: GarbageCollectorHarness) -> None:
    owner = await world.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    )
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.delete(owner)
    await world.settle()
    assert await world.survivors(child) == set()


async def test_an_owner_in_another_namespace_does_not_count(world: GarbageCollectorHarness) -> None:
    await world.create(make_namespace("far"))
    owner = await world.create(make_config_map("owner", "far"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.settle()
    assert await world.survivors(owner, child) == {"owner"}
    (event,) = await ownership_events(world)
    uid = owner["metadata"]["uid"]
    ref = f"[v1/ConfigMap, namespace: default, name: owner, uid: {uid}]"
    assert event["message"] == f'ownerRef {ref} does not exist in namespace "default"'
    assert event["involvedObject"]["name"] == "child"


async def test_a_cluster_scoped_child_of_a_namespaced_owner_stays(world: GarbageCollectorHarness) -> None:
    owner = await world.create(make_config_map("owner"))
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "child"}}
    await world.delete(owner)
    await world.settle()
    child = await world.create(with_owners({**role, "rules": []}, owner))
    await world.settle()
    assert await world.survivors(owner, child) == {"child"}
    assert [event["involvedObject"]["name"] for event in await ownership_events(world)] == ["child"]


async def test_a_child_stays_while_the_kind_is_not_served_of_its_owner(world: GarbageCollectorHarness) -> None:
    gone = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "owner", "uid": "1-2-3"}}
    child = await world.create(with_owners(make_config_map("child"), gone))
    await world.settle()
    assert await world.survivors(child) == {"child"}
    await world.create(widget_definition())
    await world.cluster.clock.advance(60)
    assert await world.survivors(child) == set()


async def test_custom_kinds_own_and_are_owned_as_soon_as_they_are_defined(world: GarbageCollectorHarness) -> None:
    await world.create(widget_definition())
    owner = await world.create(widget("owner"))
    child = await world.create(with_owners(widget("child"), owner, block=True))
    leaf = await world.create(with_owners(make_pod("leaf"), child, block=True))
    await world.settle()
    await world.delete(owner, "Foreground")
    await world.settle()
    assert await world.survivors(owner, child, leaf) == set()


async def test_what_a_definition_took_along_leaves_no_children(world: GarbageCollectorHarness) -> None:
    definition = await world.create(widget_definition())
    owner = await world.create(widget("owner"))
    child = await world.create(with_owners(make_config_map("child"), owner))
    await world.settle()
    await world.delete(definition)
    await world.settle()
    assert await world.survivors(child) == set()


async def ownership_events(world: GarbageCollectorHarness) -> list[Object]:
    found = (await world.cluster.get(EVENTS))["items"]
    return [event for event in found if event["reason"] == "OwnerRefInvalidNamespace"]
