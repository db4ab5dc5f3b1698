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
async def world() -> AsyncIterator[ControllerHarness]:
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


async def test_a_pod_without_toleration_is_deleted_at_once_with_a_reason(world: ControllerHarness) -> None:
    host = await world.create(node("host"))
    expelled = await world.create(make_pod("expelled", nodeName="host"))
    await world.settle()
    await world.merge(host, {"spec": {"taints": [BROKEN]}})
    await world.settle()
    found = await world.get(expelled)
    assert found["metadata"]["deletionTimestamp"]
    (condition,) = [each for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget"]
    assert condition["reason"] == "DeletionByTaintManager"
    assert condition["message"] == "Taint manager: deleting due to NoExecute taint"
    assert ("TaintManagerEviction", "Marking for deletion Pod default/expelled") in await world.events()


async def test_a_pod_created_later_is_deleted_too(world: ControllerHarness) -> None:
    await world.create(node("host", BROKEN))
    await world.settle()
    expelled = await world.create(make_pod("expelled", nodeName="host"))
    await world.settle()
    assert (await world.get(expelled))["metadata"]["deletionTimestamp"]


async def test_a_pod_with_a_limited_toleration_is_deleted_after_its_time(world: ControllerHarness) -> None:
    await world.create(node("host", BROKEN))
    held = await world.create(patient("held", 60))
    await world.advance(55)
    assert "deletionTimestamp" not in (await world.get(held))["metadata"]
    await world.advance(10)
    assert (await world.get(held))["metadata"]["deletionTimestamp"]


async def test_a_pod_stays_when_the_taint_is_removed_in_time(world: ControllerHarness) -> None:
    host = await world.create(node("host", BROKEN))
    spared = await world.create(patient("spared", 60))
    await world.advance(30)
    await world.merge(host, {"spec": {"taints": None}})
    await world.advance(60)
    assert "deletionTimestamp" not in (await world.get(spared))["metadata"]
    assert ("TaintManagerEviction", "Cancelling deletion of Pod default/spared") in await world.events()
