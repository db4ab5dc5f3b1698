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
def play() -> ScenarioBuilder:
    play = ScenarioBuilder()
    play.queue("q", 4, cohort=None)
    return play


def test_what_is_claimed_adds_to_what_is_requested(play: ScenarioBuilder) -> None:
    play.submit("w", 2)
    play.engine.apply(claimed(3), play.now)
    assert play.turn().reserved == []
    play.engine.apply(claimed(2), play.now)
    assert play.turn().reserved == ["w"], "another count reactivates it"


def test_what_is_claimed_survives_another_state_of_the_workload(play: ScenarioBuilder) -> None:
    manifest = play.workload("w", 2, "q")
    play.put(manifest)
    play.engine.apply(claimed(3), play.now)
    manifest["metadata"]["labels"] = {"touched": "yes"}
    play.put(manifest)
    assert play.turn().reserved == []


def test_a_new_workload_of_the_same_name_claims_nothing(play: ScenarioBuilder) -> None:
    play.submit("w", 2)
    play.engine.apply(claimed(3), play.now)
    play.engine.apply(ObjectDeleted("Workload", W), play.now)
    play.submit("w", 2)
    assert play.turn().reserved == ["w"]


def test_claims_of_a_missing_workload_are_ignored(play: ScenarioBuilder) -> None:
    play.engine.apply(claimed(3), play.now)
    play.submit("w", 2)
    assert play.turn().reserved == ["w"]
