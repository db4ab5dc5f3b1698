"""Pods that no other controller would remove are removed."""

from collections.abc import AsyncIterator

import pytest

from embedded.controllers.harness import ControllerHarness, node, running_controller_harness
from kit.builders.core import make_pod
from kohort.embedded.controllers.pod_cleanup import PodCleanup


@pytest.fixture
async def world() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(
        lambda client, informers: PodCleanup(client, informers, max_finished=2)
    ) as running:
        yield running


async def test_pods_of_a_node_that_is_gone_fail_and_go(world: ControllerHarness) -> None:
    host = await world.create(node("host"))
    lost = await world.create({**make_pod("lost", nodeName="host")})
    held = await world.create(
        {**make_pod("held", nodeName="host"), "metadata": {"name": "held", "finalizers": ["a.b/c"]}}
    )
    await world.settle()
    await world.delete(host)
    await world.advance(30)
    assert await world.exists(lost)
    await world.advance(15)
    assert not await world.exists(lost)
    status = (await world.get(held))["status"]
    assert status["phase"] == "Failed"
    (condition,) = [each for each in status["conditions"] if each["type"] == "DisruptionTarget"]
    assert (condition["status"], condition["reason"]) == ("True", "DeletionByPodGC")
    assert condition["message"] == "PodGC: node no longer exists"


async def test_pods_of_a_node_that_comes_back_stay(world: ControllerHarness) -> None:
    host = await world.create(node("host"))
    kept = await world.create(make_pod("kept", nodeName="host"))
    await world.delete(host)
    await world.advance(30)
    await world.create(node("host"))
    await world.advance(30)
    assert await world.exists(kept)


async def test_a_pod_bound_to_a_missing_node_is_deleted(world: ControllerHarness) -> None:
    lost = await world.create(make_pod("lost", nodeName="nowhere"))
    await world.advance(45)
    assert not await world.exists(lost)


async def test_a_leaving_pod_without_a_node_is_failed_once_and_left_to_its_finalizers(world: ControllerHarness) -> None:
    held = await world.create({**make_pod("held"), "metadata": {"name": "held", "finalizers": ["a.b/c"]}})
    await world.delete(held)
    await world.settle()
    assert (await world.get(held))["status"]["phase"] == "Failed"
    before = len(world.interceptor.sent)
    await world.advance(120)
    assert len(world.interceptor.sent) == before


async def test_leaving_pods_of_a_node_out_of_service_go(world: ControllerHarness) -> None:
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    await world.create(node("off", taint, ready="Unknown"))
    terminating = await world.create(make_pod("leaving", nodeName="off"))
    staying = await world.create(make_pod("staying", nodeName="off"))
    await world.delete(terminating)
    await world.settle()
    assert not await world.exists(terminating)
    assert await world.exists(staying)


async def test_too_many_ended_pods_go_oldest_first_but_evicted_ones_before(world: ControllerHarness) -> None:
    await world.create(node("host"))
    for name, reason in (("a", ""), ("b", "Evicted"), ("c", ""), ("d", "")):
        made = await world.create(make_pod(name, nodeName="host"))
        await world.set_status(made, phase="Failed", reason=reason)
        await world.advance(2)
    assert await world.names() == ["a", "b", "c", "d"]
    await world.advance(25)
    assert await world.names() == ["c", "d"]
