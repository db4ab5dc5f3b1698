"""The end of a namespace: everything in it is deleted, remaining objects are reported, and then it is deleted."""

from typing import Any

from embedded.garbage_collector.harness import GarbageCollectorHarness, Object, with_finalizers
from embedded.server.objects import widget, widget_definition
from kit.builders.core import make_config_map, make_namespace, make_pod
from kohort.embedded.garbage_collector.conditions import RemainingContent, conditions

HOLD = "example.com/hold"


async def conditions_of(harness: GarbageCollectorHarness, name: str) -> dict[str, tuple[str, str, str]]:
    found = await harness.cluster.get(f"/api/v1/namespaces/{name}")
    return {
        each["type"].removeprefix("Namespace"): (each["status"], each["reason"], each["message"])
        for each in found["status"].get("conditions", ())
    }


def in_team(found: Object) -> Object:
    return {**found, "metadata": {**found["metadata"], "namespace": "team"}}


async def team(harness: GarbageCollectorHarness) -> Object:
    return await harness.create(make_namespace("team"))


async def test_a_namespace_is_deleted_with_all_that_is_in_it(harness: GarbageCollectorHarness) -> None:
    await harness.create(widget_definition())
    space = await team(harness)
    inside = [await harness.create(in_team(each)) for each in (make_config_map("a"), make_pod("b"), widget("c"))]
    outside = await harness.create(make_config_map("a"))
    await harness.delete(space)
    await harness.settle()
    assert await harness.survivors(space, *inside) == set()
    assert await harness.survivors(outside) == {"a"}


async def test_a_namespace_of_that_name_can_come_again_with_its_defaults(harness: GarbageCollectorHarness) -> None:
    space = await team(harness)
    await harness.delete(space)
    await harness.settle()
    await team(harness)
    await harness.settle()
    accounts = await harness.cluster.get("/api/v1/namespaces/team/serviceaccounts")
    assert [each["metadata"]["name"] for each in accounts["items"]] == ["default"]


async def test_what_a_finalizer_holds_holds_the_namespace_which_reports_it(harness: GarbageCollectorHarness) -> None:
    space = await team(harness)
    stuck = await harness.create(in_team(with_finalizers(make_config_map("stuck"), HOLD)))
    await harness.create(in_team(make_config_map("free")))
    await harness.delete(space)
    await harness.settle()
    assert await harness.survivors(space, stuck) == {"team", "stuck"}
    assert harness.interceptor.count("DELETE", "/team/configmaps") == 1
    found = await conditions_of(harness, "team")
    assert found["ContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 1 resource instances",
    )
    assert found["FinalizersRemaining"] == (
        "True",
        "SomeFinalizersRemain",
        f"Some content in the namespace has finalizers remaining: {HOLD} in 1 resource instances",
    )
    assert found["DeletionContentFailure"][0] == found["DeletionDiscoveryFailure"][0] == "False"
    await harness.remove_finalizers(stuck)
    await harness.settle()
    assert await harness.survivors(space, stuck) == set()


async def test_the_last_object_to_go_takes_the_namespace_along_at_once(harness: GarbageCollectorHarness) -> None:
    space = await team(harness)
    stuck = await harness.create(in_team(with_finalizers(make_config_map("stuck"), HOLD)))
    await harness.delete(space)
    await harness.settle()
    await harness.remove_finalizers(stuck)
    await harness.cluster.clock.advance(0.2)
    assert await harness.survivors(space) == set()


async def test_pods_go_before_everything_else(harness: GarbageCollectorHarness) -> None:
    space = await team(harness)
    first = await harness.create(in_team(with_finalizers(make_pod("first"), HOLD)))
    second = await harness.create(in_team(make_config_map("second")))
    await harness.delete(space)
    await harness.settle()
    waiting = await harness.get(second)
    assert waiting is not None
    assert "deletionTimestamp" not in waiting["metadata"]
    await harness.remove_finalizers(first)
    await harness.settle()
    assert await harness.survivors(space, first, second) == set()


async def test_a_pod_that_runs_has_its_time_to_end(harness: GarbageCollectorHarness) -> None:
    space = await team(harness)
    running = await harness.create(in_team(make_pod("running", nodeName="node", terminationGracePeriodSeconds=30)))
    await harness.delete(space)
    await harness.settle()
    assert await harness.survivors(space, running) == {"team", "running"}
    await harness.cluster.request("DELETE", harness.path(running), {"gracePeriodSeconds": 0})
    await harness.settle()
    assert await harness.survivors(space, running) == set()


async def test_a_finalizer_on_the_namespace_itself_holds_it_when_it_is_empty(harness: GarbageCollectorHarness) -> None:
    space = await harness.create(with_finalizers(make_namespace("team"), HOLD))
    inside = await harness.create(in_team(make_config_map("a")))
    await harness.delete(space)
    await harness.settle()
    assert await harness.survivors(space, inside) == {"team"}
    await harness.remove_finalizers(space)
    await harness.settle()
    assert await harness.survivors(space) == set()


async def test_what_can_not_be_deleted_is_reported_and_tried_again(harness: GarbageCollectorHarness) -> None:
    space = await team(harness)
    await harness.create(in_team(make_config_map("a")))
    harness.interceptor.reject("DELETE", "/configmaps", *(500 for _ in range(4)))
    await harness.delete(space)
    await harness.cluster.clock.advance(0.001)
    found = await conditions_of(harness, "team")
    status, reason, message = found["DeletionContentFailure"]
    assert (status, reason) == ("True", "ContentDeletionFailed")
    assert message == "Failed to delete all resource types, 1 remaining: configmaps.: refused with 500"
    await harness.settle()
    assert await harness.survivors(space) == set()


def test_a_namespace_waits_for_an_unavailable_api() -> None:
    output = by_type(conditions([], RemainingContent(undiscovered=("far.example.com/v1",)), "now"))
    assert output["NamespaceDeletionDiscoveryFailure"]["message"] == (
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
        "far.example.com/v1: stale GroupVersion discovery: far.example.com/v1"
    )
    assert not RemainingContent(undiscovered=("far.example.com/v1",)).is_empty


def test_a_condition_keeps_its_time_until_it_changes_and_other_conditions_stay() -> None:
    before = conditions([{"type": "Other", "status": "True"}], RemainingContent(), "then")
    after = by_type(conditions(before, RemainingContent(objects={"pods.": 2}), "now"))
    assert after["NamespaceContentRemaining"]["lastTransitionTime"] == "now"
    assert after["NamespaceFinalizersRemaining"]["lastTransitionTime"] == "then"
    assert after["Other"] == {"type": "Other", "status": "True"}


def by_type(found: list[Any]) -> dict[str, Any]:
    return {each["type"]: each for each in found}
