"""Pods leave tainted nodes when their tolerations run out."""

from collections.abc import AsyncIterator

import pytest

from embedded.controllers.harness import ControllerHarness, node, running_controller_harness
from kit.apiserver import Object
from kit.builders.core import make_pod
from kohort.api.meta import Taint, Toleration
from kohort.embedded.controllers.taint_eviction import FOREVER, TaintEviction, tolerated_seconds

BROKEN = {"key": "broken", "effect": "NoExecute"}
A, B = Taint(key="a", effect="NoExecute"), Taint(key="b", effect="NoExecute")


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(TaintEviction) as running:
        yield running


def patient(name: str, seconds: int) -> Object:
    toleration = {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
    return make_pod(name, nodeName="host", tolerations=[toleration])


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0.0),
        ([Toleration(key="a", operator="Exists")], 0.0),
        ([Toleration(operator="Exists")], FOREVER),
        ([Toleration(operator="Exists", toleration_seconds=9)], 9.0),
        ([Toleration(operator="Exists", toleration_seconds=-9)], 0.0),
        (
            [
                Toleration(key="a", operator="Exists", toleration_seconds=9),
                Toleration(key="b", operator="Exists", toleration_seconds=7),
            ],
            7.0,
        ),
        ([Toleration(key="a", operator="Exists", toleration_seconds=9), Toleration(key="b", operator="Exists")], 9.0),
    ],
)
def test_the_shortest_toleration_counts(tolerations: list[Toleration], seconds: float) -> None:
    assert tolerated_seconds((A, B), tolerations) == seconds


async def test_a_pod_without_toleration_is_deleted_at_once_with_a_reason(harness: ControllerHarness) -> None:
    host = await harness.create(node("host"))
    expelled = await harness.create(make_pod("expelled", nodeName="host"))
    await harness.settle()
    await harness.merge(host, {"spec": {"taints": [BROKEN]}})
    await harness.settle()
    found = await harness.get(expelled)
    assert found["metadata"]["deletionTimestamp"]
    (condition,) = [each for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget"]
    assert condition["reason"] == "DeletionByTaintManager"
    assert condition["message"] == "Taint manager: deleting due to NoExecute taint"
    assert ("TaintManagerEviction", "Marking for deletion Pod default/expelled") in await harness.events()


async def test_a_pod_created_later_is_deleted_too(harness: ControllerHarness) -> None:
    await harness.create(node("host", BROKEN))
    await harness.settle()
    expelled = await harness.create(make_pod("expelled", nodeName="host"))
    await harness.settle()
    assert (await harness.get(expelled))["metadata"]["deletionTimestamp"]


async def test_a_pod_with_a_limited_toleration_is_deleted_after_its_time(harness: ControllerHarness) -> None:
    await harness.create(node("host", BROKEN))
    held = await harness.create(patient("held", 60))
    await harness.advance(55)
    assert "deletionTimestamp" not in (await harness.get(held))["metadata"]
    await harness.advance(10)
    assert (await harness.get(held))["metadata"]["deletionTimestamp"]


async def test_a_pod_stays_when_the_taint_is_removed_in_time(harness: ControllerHarness) -> None:
    host = await harness.create(node("host", BROKEN))
    spared = await harness.create(patient("spared", 60))
    await harness.advance(30)
    await harness.merge(host, {"spec": {"taints": None}})
    await harness.advance(60)
    assert "deletionTimestamp" not in (await harness.get(spared))["metadata"]
    assert ("TaintManagerEviction", "Cancelling deletion of Pod default/spared") in await harness.events()
