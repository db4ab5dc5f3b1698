"""The disruption condition of a pod is reset where the pod was not deleted."""

from collections.abc import AsyncIterator

import pytest

from embedded.controllers.harness import ControllerHarness, running_controller_harness
from kit.apiserver import Object
from kit.builders.core import make_pod
from kohort.embedded.controllers.stale_disruptions import StaleDisruptions


@pytest.fixture
async def world() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(StaleDisruptions) as running:
        yield running


async def reported(world: ControllerHarness, found: Object) -> tuple[str, str]:
    conditions = (await world.get(found))["status"]["conditions"]
    (one,) = [each for each in conditions if each["type"] == "DisruptionTarget"]
    return one["status"], one.get("reason", "")


async def doomed(world: ControllerHarness, name: str, reason: str) -> Object:
    made = await world.create(make_pod(name, nodeName="node"))
    condition = world.condition("DisruptionTarget", "True", reason=reason, message="soon")
    await world.set_status(made, phase="Running", conditions=[condition])
    return made


async def test_it_is_taken_back_after_two_minutes(world: ControllerHarness) -> None:
    found = await doomed(world, "spared", "EvictionByEvictionAPI")
    await world.advance(110)
    assert await reported(world, found) == ("True", "EvictionByEvictionAPI")
    await world.advance(15)
    assert await reported(world, found) == ("False", "")


async def test_a_disruption_reported_by_the_kubelet_is_kept(world: ControllerHarness) -> None:
    found = await doomed(world, "ending", "TerminationByKubelet")
    await world.advance(300)
    assert await reported(world, found) == ("True", "TerminationByKubelet")


async def test_a_terminating_pod_is_left_alone(world: ControllerHarness) -> None:
    found = await doomed(world, "going", "PreemptionByScheduler")
    await world.delete(found)
    await world.advance(300)
    assert await reported(world, found) == ("True", "PreemptionByScheduler")
