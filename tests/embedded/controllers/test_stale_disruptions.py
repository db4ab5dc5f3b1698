"""The disruption condition of a pod is reset where the pod was not deleted."""

from collections.abc import AsyncIterator

import pytest

from embedded.controllers.harness import ControllerHarness, running_controller_harness
from kit.apiserver import Object
from kit.builders.core import make_pod
from kohort.embedded.controllers.stale_disruptions import StaleDisruptions


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(StaleDisruptions) as running:
        yield running


async def reported(harness: ControllerHarness, found: Object) -> tuple[str, str]:
    conditions = (await harness.get(found))["status"]["conditions"]
    (one,) = [each for each in conditions if each["type"] == "DisruptionTarget"]
    return one["status"], one.get("reason", "")


async def doomed(harness: ControllerHarness, name: str, reason: str) -> Object:
    made = await harness.create(make_pod(name, nodeName="node"))
    condition = harness.condition("DisruptionTarget", "True", reason=reason, message="soon")
    await harness.set_status(made, phase="Running", conditions=[condition])
    return made


async def test_it_is_taken_back_after_two_minutes(harness: ControllerHarness) -> None:
    found = await doomed(harness, "spared", "EvictionByEvictionAPI")
    await harness.advance(110)
    assert await reported(harness, found) == ("True", "EvictionByEvictionAPI")
    await harness.advance(15)
    assert await reported(harness, found) == ("False", "")


async def test_a_disruption_reported_by_the_kubelet_is_kept(harness: ControllerHarness) -> None:
    found = await doomed(harness, "ending", "TerminationByKubelet")
    await harness.advance(300)
    assert await reported(harness, found) == ("True", "TerminationByKubelet")


async def test_a_terminating_pod_is_left_alone(harness: ControllerHarness) -> None:
    found = await doomed(harness, "going", "PreemptionByScheduler")
    await harness.delete(found)
    await harness.advance(300)
    assert await reported(harness, found) == ("True", "PreemptionByScheduler")
