"""Disruption budgets state how many of their pods may be evicted, and evictions respect that."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.controllers.harness import ControllerHarness, running_controller_harness, with_controller, with_labels
from embedded.server.objects import deployment
from kit.apiserver import Object
from kit.builders.core import make_pod
from kit.virtual_time import START
from kohort.api.errors import ApiError
from kohort.embedded.controllers.disruption.controller import DisruptionController
from kohort.embedded.controllers.disruption.plan import HealthyPodDemand, demand, plan
from kohort.embedded.controllers.disruption.views import DisruptionBudget, DisruptionBudgetSpec
from kohort.embedded.controllers.shares import rounded_down, rounded_up
from kohort.embedded.controllers.views import ControllerPod


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(DisruptionController) as running:
        yield running


def budget(**spec: Any) -> Object:
    selector = {"matchLabels": {"app": "web"}}
    head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}}
    return {**head, "spec": {"selector": selector, **spec}}


def replica_set(name: str, replicas: int) -> Object:
    return {**deployment(name, replicas), "kind": "ReplicaSet"}


async def figures(harness: ControllerHarness, found: Object) -> tuple[int, ...]:
    status = (await harness.get(found))["status"]
    names = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    return tuple(status.get(name, 0) for name in names)


async def ready_pods(harness: ControllerHarness, count: int, owner: Object | None = None) -> list[Object]:
    made = []
    for index in range(count):
        one = with_labels(make_pod(f"web-{index}"), app="web")
        made.append(await harness.create(with_controller(one, owner) if owner else one))
    await harness.mark_running(*made)
    return made


async def evict(harness: ControllerHarness, one: Object) -> int:
    name = one["metadata"]["name"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return (await harness.cluster.request("POST", f"{harness.path(one)}/eviction", body)).status


async def test_a_minimum_counts_the_pods_that_are_there(harness: ControllerHarness) -> None:
    found = await harness.create(budget(minAvailable=2))
    pods = await ready_pods(harness, 3)
    await harness.settle()
    assert await figures(harness, found) == (3, 2, 3, 1)
    (condition,) = (await harness.get(found))["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("True", "SufficientPods")
    await harness.set_status(pods[0], conditions=[harness.condition("Ready", "False")])
    await harness.settle()
    assert await figures(harness, found) == (3, 2, 2, 0)
    (condition,) = (await harness.get(found))["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "InsufficientPods")


async def test_a_percentage_refers_to_the_replicas_of_the_owners(harness: ControllerHarness) -> None:
    owner = await harness.create(replica_set("web", 10))
    found = await harness.create(budget(maxUnavailable="25%"))
    await ready_pods(harness, 9, owner)
    await harness.settle()
    assert await figures(harness, found) == (10, 7, 9, 2)


async def test_nothing_may_go_where_an_owner_has_no_scale(harness: ControllerHarness) -> None:
    template = {"spec": {"restartPolicy": "Never", **make_pod("x")["spec"]}}
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}}
    owner = await harness.create({**head, "spec": {"template": template}})
    found = await harness.create(budget(maxUnavailable=1))
    await ready_pods(harness, 2, owner)
    await harness.settle()
    status = (await harness.get(found))["status"]
    assert status["disruptionsAllowed"] == 0
    (condition,) = status["conditions"]
    assert condition["reason"] == "SyncFailed"
    assert condition["message"] == "jobs.batch does not implement the scale subresource"


async def test_evictions_are_granted_up_to_the_budget(harness: ControllerHarness) -> None:
    found = await harness.create(budget(minAvailable=2))
    pods = await ready_pods(harness, 3)
    await harness.settle()
    assert [await evict(harness, one) for one in pods[:2]] == [201, 429]
    await harness.settle()
    assert await figures(harness, found) == (3, 2, 2, 0)
    await harness.delete(pods[0], gracePeriodSeconds=0)
    await harness.settle()
    assert await figures(harness, found) == (2, 2, 2, 0)
    assert not (await harness.get(found))["status"].get("disruptedPods")


async def test_an_eviction_without_a_deletion_expires_after_two_minutes(harness: ControllerHarness) -> None:
    found = await harness.create(budget(minAvailable=2))
    await ready_pods(harness, 3)
    await harness.settle()
    moment = harness.condition("x", "y")["lastTransitionTime"]
    await harness.set_status(found, disruptedPods={"web-0": moment})
    await harness.settle()
    assert await figures(harness, found) == (3, 2, 2, 0)
    await harness.advance(130)
    assert await figures(harness, found) == (3, 2, 3, 1)
    assert "NotDeleted" in {reason for reason, _ in await harness.events()}


async def test_another_selector_means_other_pods(harness: ControllerHarness) -> None:
    found = await harness.create(budget(minAvailable=1))
    await ready_pods(harness, 2)
    await harness.settle()
    await harness.merge(found, {"spec": {"selector": {"matchLabels": {"app": "else"}}}})
    await harness.settle()
    assert await figures(harness, found) == (0, 1, 0, 0)


async def test_a_budget_without_pods_allows_nothing(harness: ControllerHarness) -> None:
    found = await harness.create(budget(minAvailable=0))
    await harness.settle()
    assert await figures(harness, found) == (0, 0, 0, 0)
    assert ("NoPods", "No matching pods found") in await harness.events()


@given(st.integers(0, 100), st.integers(0, 1000))
def test_shares_lie_between_their_roundings(percent: int, whole: int) -> None:
    low, high = rounded_down(f"{percent}%", whole), rounded_up(f"{percent}%", whole)
    assert low <= percent * whole / 100 <= high <= low + 1


@pytest.mark.parametrize("text", ["", "3", "%", "-3%", "x%", "٣%"])
def test_a_text_that_is_no_share_is_reported(text: str) -> None:
    with pytest.raises(ApiError, match="neither a count nor a percentage"):
        rounded_up(text, 10)


@given(st.integers(0, 20), st.integers(0, 20), st.sampled_from([0, 3, "0%", "50%", "100%"]))
def test_never_more_may_go_than_is_healthy_beyond_the_demand(pods: int, expected: int, most: int | str) -> None:
    found = DisruptionBudget(spec=DisruptionBudgetSpec(max_unavailable=most))
    wanted = demand(found, expected)
    status = plan(found, [ControllerPod()] * pods, wanted, START).status
    assert 0 <= wanted.healthy <= expected
    assert status.disruptions_allowed == 0 or status.current_healthy - status.disruptions_allowed >= wanted.healthy
    assert plan(found, [], HealthyPodDemand(0, 0), START).status.disruptions_allowed == 0
