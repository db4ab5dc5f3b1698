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
    harness: GarbageCollectorHarness,
) -> None:
    owner = await harness.create(make_config_map("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    grandchild = await harness.create(with_owners(make_pod("grandchild"), child))
    other = await harness.create(make_config_map("other"))
    await harness.delete(owner)
    await harness.settle()
    assert await harness.survivors(owner, child, grandchild, other) == {"other"}


async def test_an_owner_that_is_held_keeps_its_children_in_the_background(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(with_finalizers(make_config_map("owner"), HOLD))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.delete(owner)
    await harness.settle()
    assert await harness.survivors(owner, child) == {"owner", "child"}
    await harness.remove_finalizers(owner)
    await harness.settle()
    assert await harness.survivors(owner, child) == set()


async def test_a_dependent_created_after_the_deletion_of_its_owner_is_deleted_too(
    harness: GarbageCollectorHarness,
) -> None:
    owner = await harness.create(make_config_map("owner"))
    await harness.delete(owner)
    await harness.settle()
    child = await harness.create(with_owners(make_config_map("late"), owner))
    await harness.settle()
    assert await harness.survivors(child) == set()


async def test_an_object_of_the_same_name_is_not_the_owner(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(make_config_map("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.delete(owner)
    impostor = await harness.create(make_config_map("owner"))
    await harness.settle()
    assert await harness.survivors(child, impostor) == {"owner"}


async def test_what_was_garbage_before_the_collector_came_is_found(harness: GarbageCollectorHarness) -> None:
    await harness.collector.stop()
    owner = await harness.create(make_config_map("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.delete(owner)
    async with running_cleanup(Client(harness.network, harness.cluster.clock)):
        await harness.settle()
    assert await harness.survivors(child) == set()


# Several owners


async def test_a_dependent_with_another_owner_stays_and_loses_the_reference_to_the_deleted_one(
    harness: GarbageCollectorHarness,
) -> None:
    one, two = await harness.create(make_config_map("one")), await harness.create(make_config_map("two"))
    child = await harness.create(with_owners(make_config_map("child"), one, two))
    await harness.delete(one)
    await harness.settle()
    assert await harness.owners(child) == ["two"]
    await harness.delete(two)
    await harness.settle()
    assert await harness.survivors(child) == set()


async def test_references_that_stay_are_left_word_for_word(harness: GarbageCollectorHarness) -> None:
    one, two = await harness.create(make_config_map("one")), await harness.create(make_config_map("two"))
    child = with_owners(make_config_map("child"), one)
    kept = {**owner_reference(two), "controller": True, "blockOwnerDeletion": False}
    child["metadata"]["ownerReferences"].append(kept)
    child = await harness.create(child)
    await harness.delete(one)
    await harness.settle()
    present = await harness.get(child)
    assert present is not None
    assert present["metadata"]["ownerReferences"] == [kept]


async def test_a_child_of_an_owner_that_waits_stays_for_its_other_owner(harness: GarbageCollectorHarness) -> None:
    one, two = await harness.create(make_config_map("one")), await harness.create(make_config_map("two"))
    child = await harness.create(with_owners(make_config_map("child"), one, two, block=True))
    await harness.delete(one, "Foreground")
    await harness.settle()
    assert await harness.survivors(one, two) == {"two"}
    assert await harness.owners(child) == ["two"]


# Foreground


async def test_in_the_foreground_an_owner_waits_for_a_child_that_blocks(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(deployment("owner"))
    child = await harness.create(with_owners(with_finalizers(make_config_map("child"), HOLD), owner, block=True))
    await harness.delete(owner, "Foreground")
    await harness.settle()
    waiting = await harness.get(owner)
    assert waiting is not None
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    terminating = await harness.get(child)
    assert terminating is not None
    assert terminating["metadata"]["deletionTimestamp"]
    await harness.remove_finalizers(child)
    await harness.settle()
    assert await harness.survivors(owner, child) == set()


async def test_in_the_foreground_an_owner_does_not_wait_for_a_child_that_does_not_block(
    harness: GarbageCollectorHarness,
) -> None:
    owner = await harness.create(make_config_map("owner"))
    child = await harness.create(with_owners(with_finalizers(make_config_map("child"), HOLD), owner))
    await harness.delete(owner, "Foreground")
    await harness.settle()
    assert await harness.survivors(owner, child) == {"child"}
    await harness.remove_finalizers(child)
    await harness.settle()
    assert await harness.survivors(child) == set()


async def test_in_the_foreground_the_innermost_is_deleted_first(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(make_config_map("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner, block=True))
    grandchild = await harness.create(
        with_owners(with_finalizers(make_config_map("grandchild"), HOLD), child, block=True)
    )
    await harness.delete(owner, "Foreground")
    await harness.settle()
    assert await harness.survivors(owner, child, grandchild) == {"owner", "child", "grandchild"}
    await harness.remove_finalizers(grandchild)
    await harness.settle()
    assert await harness.survivors(owner, child, grandchild) == set()


async def test_a_child_that_stops_blocking_frees_its_owner(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(make_config_map("owner"))
    child = await harness.create(with_owners(with_finalizers(make_config_map("child"), HOLD), owner, block=True))
    await harness.delete(owner, "Foreground")
    await harness.settle()
    await harness.cluster.merge(harness.path(child), {"metadata": {"ownerReferences": None}})
    await harness.settle()
    assert await harness.survivors(owner) == set()


async def test_an_owner_that_holds_other_finalizers_keeps_them(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(with_finalizers(make_config_map("owner"), HOLD))
    await harness.delete(owner, "Foreground")
    await harness.settle()
    present = await harness.get(owner)
    assert present is not None
    assert present["metadata"]["finalizers"] == [HOLD]


# Orphan


async def test_orphans_lose_their_owner_reference_and_stay(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(deployment("owner"))
    child = await harness.create(with_owners(make_pod("child"), owner, block=True))
    grandchild = await harness.create(with_owners(make_config_map("grandchild"), child))
    await harness.delete(owner, "Orphan")
    await harness.settle()
    assert await harness.survivors(owner, child, grandchild) == {"child", "grandchild"}
    assert await harness.owners(child) == []
    assert await harness.owners(grandchild) == ["child"]


async def test_orphans_keep_their_other_owner(harness: GarbageCollectorHarness) -> None:
    one, two = await harness.create(make_config_map("one")), await harness.create(make_config_map("two"))
    child = await harness.create(with_owners(make_config_map("child"), one, two))
    await harness.delete(one, "Orphan")
    await harness.settle()
    assert await harness.owners(child) == ["two"]


async def test_a_child_with_the_orphan_finalizer_leaves_its_own_children_behind(
    harness: GarbageCollectorHarness,
) -> None:
    owner = await harness.create(make_config_map("owner"))
    child = await harness.create(with_owners(with_finalizers(make_config_map("child"), "orphan"), owner))
    grandchild = await harness.create(with_owners(make_config_map("grandchild"), child))
    await harness.delete(owner)
    await harness.settle()
    assert await harness.survivors(owner, child, grandchild) == {"grandchild"}
    assert await harness.owners(grandchild) == []


# Circles


async def test_a_cycle_is_deleted_as_a_whole_by_any_propagation_policy(harness: GarbageCollectorHarness) -> None:
    for policy in ("Background", "Foreground"):
        one = await harness.create(make_config_map("one"))
        two = await harness.create(with_owners(make_config_map("two"), one, block=True))
        three = await harness.create(with_owners(make_config_map("three"), two, block=True))
        await harness.cluster.merge(
            harness.path(one), {"metadata": {"ownerReferences": [owner_reference(three, block=True)]}}
        )
        await harness.settle()
        assert await harness.survivors(one, two, three) == {"one", "two", "three"}
        await harness.delete(one, policy)
        await harness.settle()
        assert await harness.survivors(one, two, three) == set()


async def test_two_that_own_each_other_and_both_wait_are_deleted(
    harness: GarbageCollectorHarness,
) -> None:
    one = await harness.create(make_config_map("one"))
    two = await harness.create(with_owners(make_config_map("two"), one, block=True))
    await harness.cluster.merge(
        harness.path(one), {"metadata": {"ownerReferences": [owner_reference(two, block=True)]}}
    )
    await harness.delete(one, "Foreground")
    await harness.delete(two, "Foreground")
    await harness.settle()
    assert await harness.survivors(one, two) == set()


async def test_an_object_that_owns_itself_does_not_wait_for_itself(harness: GarbageCollectorHarness) -> None:
    one = await harness.create(make_config_map("one"))
    await harness.cluster.merge(
        harness.path(one), {"metadata": {"ownerReferences": [owner_reference(one, block=True)]}}
    )
    await harness.delete(one, "Foreground")
    await harness.settle()
    assert await harness.survivors(one) == set()


async def test_a_circle_that_one_side_does_not_block_is_no_excuse_not_to_wait(harness: GarbageCollectorHarness) -> None:
    one = await harness.create(make_config_map("one"))
    two = await harness.create(with_owners(with_finalizers(make_config_map("two"), HOLD), one, block=True))
    await harness.cluster.merge(harness.path(one), {"metadata": {"ownerReferences": [owner_reference(two)]}})
    await harness.delete(one, "Foreground")
    await harness.settle()
    assert await harness.survivors(one, two) == {"one", "two"}
    await harness.remove_finalizers(two)
    await harness.settle()
    assert await harness.survivors(one, two) == set()


# Scopes and kinds


async def test_a_cluster_scoped_owner_takes_along_what_it_owns_in_namespaces(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    )
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.delete(owner)
    await harness.settle()
    assert await harness.survivors(child) == set()


async def test_an_owner_in_another_namespace_does_not_count(harness: GarbageCollectorHarness) -> None:
    await harness.create(make_namespace("far"))
    owner = await harness.create(make_config_map("owner", "far"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.settle()
    assert await harness.survivors(owner, child) == {"owner"}
    (event,) = await ownership_events(harness)
    uid = owner["metadata"]["uid"]
    ref = f"[v1/ConfigMap, namespace: default, name: owner, uid: {uid}]"
    assert event["message"] == f'ownerRef {ref} does not exist in namespace "default"'
    assert event["involvedObject"]["name"] == "child"


async def test_a_cluster_scoped_child_of_a_namespaced_owner_stays(harness: GarbageCollectorHarness) -> None:
    owner = await harness.create(make_config_map("owner"))
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "child"}}
    await harness.delete(owner)
    await harness.settle()
    child = await harness.create(with_owners({**role, "rules": []}, owner))
    await harness.settle()
    assert await harness.survivors(owner, child) == {"child"}
    assert [event["involvedObject"]["name"] for event in await ownership_events(harness)] == ["child"]


async def test_a_child_stays_while_the_kind_is_not_served_of_its_owner(harness: GarbageCollectorHarness) -> None:
    gone = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "owner", "uid": "1-2-3"}}
    child = await harness.create(with_owners(make_config_map("child"), gone))
    await harness.settle()
    assert await harness.survivors(child) == {"child"}
    await harness.create(widget_definition())
    await harness.cluster.clock.advance(60)
    assert await harness.survivors(child) == set()


async def test_custom_kinds_own_and_are_owned_as_soon_as_they_are_defined(harness: GarbageCollectorHarness) -> None:
    await harness.create(widget_definition())
    owner = await harness.create(widget("owner"))
    child = await harness.create(with_owners(widget("child"), owner, block=True))
    leaf = await harness.create(with_owners(make_pod("leaf"), child, block=True))
    await harness.settle()
    await harness.delete(owner, "Foreground")
    await harness.settle()
    assert await harness.survivors(owner, child, leaf) == set()


async def test_what_a_definition_took_along_leaves_no_children(harness: GarbageCollectorHarness) -> None:
    definition = await harness.create(widget_definition())
    owner = await harness.create(widget("owner"))
    child = await harness.create(with_owners(make_config_map("child"), owner))
    await harness.settle()
    await harness.delete(definition)
    await harness.settle()
    assert await harness.survivors(child) == set()


async def ownership_events(harness: GarbageCollectorHarness) -> list[Object]:
    found = (await harness.cluster.get(EVENTS))["items"]
    return [event for event in found if event["reason"] == "OwnerRefInvalidNamespace"]
