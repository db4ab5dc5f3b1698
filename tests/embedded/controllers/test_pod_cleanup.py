"""Pods that no other controller would remove are removed."""

from collections.abc import AsyncIterator

import pytest

from embedded.controllers.harness import ControllerHarness, node, running_controller_harness
from kit.builders.core import make_pod
from kohort.embedded.controllers.pod_cleanup import PodCleanup


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(
        lambda client, informers: PodCleanup(client, informers, max_finished=2)
    ) as running:
        yield running


async def test_pods_of_a_node_that_is_gone_fail_and_go(harness: ControllerHarness) -> None:
    host = await harness.create(node("host"))
    lost = await harness.create({**make_pod("lost", nodeName="host")})
    held = await harness.create(
        {**make_pod("held", nodeName="host"), "metadata": {"name": "held", "finalizers": ["a.b/c"]}}
    )
    await harness.settle()
    await harness.delete(host)
    await harness.advance(30)
    assert await harness.exists(lost)
    await harness.advance(15)
    assert not await harness.exists(lost)
    status = (await harness.get(held))["status"]
    assert status["phase"] == "Failed"
    (condition,) = [each for each in status["conditions"] if each["type"] == "DisruptionTarget"]
    assert (condition["status"], condition["reason"]) == ("True", "DeletionByPodGC")
    assert condition["message"] == "PodGC: node no longer exists"


async def test_pods_of_a_node_that_comes_back_stay(harness: ControllerHarness) -> None:
    host = await harness.create(node("host"))
    kept = await harness.create(make_pod("kept", nodeName="host"))
    await harness.delete(host)
    await harness.advance(30)
    await harness.create(node("host"))
    await harness.advance(30)
    assert await harness.exists(kept)


async def test_a_pod_bound_to_a_missing_node_is_deleted(harness: ControllerHarness) -> None:
    lost = await harness.create(make_pod("lost", nodeName="nowhere"))
    await harness.advance(45)
    assert not await harness.exists(lost)


async def test_a_leaving_pod_without_a_node_is_failed_once_and_left_to_its_finalizers(
    harness: ControllerHarness,
) -> None:
    held = await harness.create({**make_pod("held"), "metadata": {"name": "held", "finalizers": ["a.b/c"]}})
    await harness.delete(held)
    await harness.settle()
    assert (await harness.get(held))["status"]["phase"] == "Failed"
    before = len(harness.interceptor.sent)
    await harness.advance(120)
    assert len(harness.interceptor.sent) == before


async def test_leaving_pods_of_a_node_out_of_service_go(harness: ControllerHarness) -> None:
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    await harness.create(node("off", taint, ready="Unknown"))
    terminating = await harness.create(make_pod("leaving", nodeName="off"))
    staying = await harness.create(make_pod("staying", nodeName="off"))
    await harness.delete(terminating)
    await harness.settle()
    assert not await harness.exists(terminating)
    assert await harness.exists(staying)


async def test_too_many_ended_pods_go_oldest_first_but_evicted_ones_before(harness: ControllerHarness) -> None:
    await harness.create(node("host"))
    for name, reason in (("a", ""), ("b", "Evicted"), ("c", ""), ("d", "")):
        made = await harness.create(make_pod(name, nodeName="host"))
        await harness.set_status(made, phase="Failed", reason=reason)
        await harness.advance(2)
    assert await harness.names() == ["a", "b", "c", "d"]
    await harness.advance(25)
    assert await harness.names() == ["c", "d"]
