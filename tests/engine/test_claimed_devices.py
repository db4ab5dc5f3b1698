"""Devices that a workload claims count like what it requests (SCH-132)."""

import pytest

from engine.scenario_builders import ScenarioBuilder
from kohort.api.meta import ObjectKey
from kohort.engine.events import DeviceClaimsCounted, ObjectDeleted

W = ObjectKey("ns", "w")


def claimed(cpus: int) -> DeviceClaimsCounted:
    """Claims that count as a resource the queue has: what matters is that they add up."""
    return DeviceClaimsCounted(W, (("main", (("cpu", cpus * 1000),)),))


@pytest.fixture
def builder() -> ScenarioBuilder:
    builder = ScenarioBuilder()
    builder.queue("q", 4, cohort=None)
    return builder


def test_what_is_claimed_adds_to_what_is_requested(builder: ScenarioBuilder) -> None:
    builder.submit("w", 2)
    builder.engine.apply(claimed(3), builder.now)
    assert builder.turn().reserved == []
    builder.engine.apply(claimed(2), builder.now)
    assert builder.turn().reserved == ["w"], "another count reactivates it"


def test_what_is_claimed_survives_another_state_of_the_workload(builder: ScenarioBuilder) -> None:
    manifest = builder.workload("w", 2, "q")
    builder.put(manifest)
    builder.engine.apply(claimed(3), builder.now)
    manifest["metadata"]["labels"] = {"touched": "yes"}
    builder.put(manifest)
    assert builder.turn().reserved == []


def test_a_new_workload_of_the_same_name_claims_nothing(builder: ScenarioBuilder) -> None:
    builder.submit("w", 2)
    builder.engine.apply(claimed(3), builder.now)
    builder.engine.apply(ObjectDeleted("Workload", W), builder.now)
    builder.submit("w", 2)
    assert builder.turn().reserved == ["w"]


def test_claims_of_a_missing_workload_are_ignored(builder: ScenarioBuilder) -> None:
    builder.engine.apply(claimed(3), builder.now)
    builder.submit("w", 2)
    assert builder.turn().reserved == ["w"]
