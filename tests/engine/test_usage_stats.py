"""Status figures of queues and cohorts."""

from typing import Any

from engine.scenario_builders import CPU, FAIR_SHARING, ScenarioBuilder, configured, group, quota
from kohort.api.codec import to_json
from kohort.api.meta import ObjectKey
from kohort.engine.drs import INFINITE_SHARE

Json = Any


def test_a_queue_shows_every_flavor_and_resource_with_what_it_borrows() -> None:
    """API-108, SCH-1055, G03: `borrowed` is what exceeds the nominal quota."""
    play = ScenarioBuilder()
    flavors = {"g": [quota(CPU, 2), quota("memory", 4)], "f": [quota(CPU, 0), quota("memory", 0)]}
    play.queue("a", groups=[group(flavors)])
    play.queue("b", groups=[group({"g": [quota(CPU, 9), quota("memory", 9)]})])
    play.submit("a1", {CPU: 3, "memory": 1}, "a")
    play.submit("a2", {CPU: 100, "memory": 1}, "a")
    play.turn()
    status: Json = to_json(play.engine.read.cluster_queue_status("a"))
    assert (status["pendingWorkloads"], status["reservingWorkloads"], status["admittedWorkloads"]) == (1, 1, 1)
    assert status["flavorsReservation"] == status["flavorsUsage"]
    assert status["flavorsReservation"] == [
        {
            "name": "g",
            "resources": [
                {"name": CPU, "total": "3", "borrowed": "1"},
                {"name": "memory", "total": "1", "borrowed": "0"},
            ],
        },
        {
            "name": "f",
            "resources": [
                {"name": CPU, "total": "0", "borrowed": "0"},
                {"name": "memory", "total": "0", "borrowed": "0"},
            ],
        },
    ]
    assert "fairSharing" not in status


def test_without_a_cohort_nothing_is_borrowed() -> None:
    """SCH-433."""
    play = ScenarioBuilder()
    play.queue("q", 2, cohort=None)
    play.running("w", 5)
    (usage,) = play.engine.read.cluster_queue_status("q").flavors_reservation
    assert usage.resources[0].borrowed == "0"


def test_a_local_queue_counts_its_own_workloads() -> None:
    """API-113."""
    play = ScenarioBuilder()
    play.queue("q", 4)
    play.submit("one", 3)
    play.submit("two", 3)
    play.turn()
    status = play.engine.read.local_queue_status(ObjectKey("ns", "q"))
    assert (status.pending_workloads, status.reserving_workloads, status.admitted_workloads) == (1, 1, 1)
    assert status.flavors_usage[0].resources[0].total == "3"


def test_weighted_shares_as_observed() -> None:
    """API-110, API-118, SCH-706: the figures of golden transcript G3."""
    play = ScenarioBuilder(configured(FAIR_SHARING))
    play.cohort("r")
    play.cohort("c", parent="r")
    play.queue("a", 2, cohort="c")
    play.queue("b", 6, cohort="r")
    play.queue("z", 0, cohort="c", weight=0)
    play.submit("w", 4, "a")
    play.turn()
    play.submit("v", 1, "z")
    play.turn()
    shares = {name: play.engine.read.cohort_status(name).fair_sharing for name in ("r", "c")}
    assert {name: share and share.weighted_share for name, share in shares.items()} == {"r": 0, "c": 375}
    weighted = {name: play.engine.read.cluster_queue_status(name).fair_sharing for name in "abz"}
    assert {name: share and share.weighted_share for name, share in weighted.items()} == {
        "a": 250,
        "b": 0,
        "z": INFINITE_SHARE,
    }
