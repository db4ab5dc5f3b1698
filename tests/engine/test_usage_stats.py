"""Status figures of queues and cohorts."""

from typing import Any

from engine.scenario_builders import CPU, FAIR_SHARING, ScenarioBuilder, configured, group, quota
from kohort.api.codec import to_json
from kohort.api.meta import ObjectKey
from kohort.engine.drs import INFINITE_SHARE

Json = Any


def test_a_queue_shows_every_flavor_and_resource_with_what_it_borrows() -> None:
    """API-108, SCH-1055, G03: `borrowed` is what exceeds the nominal quota."""
    builder = ScenarioBuilder()
    flavors = {"g": [quota(CPU, 2), quota("memory", 4)], "f": [quota(CPU, 0), quota("memory", 0)]}
    builder.queue("a", groups=[group(flavors)])
    builder.queue("b", groups=[group({"g": [quota(CPU, 9), quota("memory", 9)]})])
    builder.submit("a1", {CPU: 3, "memory": 1}, "a")
    builder.submit("a2", {CPU: 100, "memory": 1}, "a")
    builder.turn()
    status: Json = to_json(builder.engine.read.cluster_queue_status("a"))
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
    builder = ScenarioBuilder()
    builder.queue("q", 2, cohort=None)
    builder.running("w", 5)
    (usage,) = builder.engine.read.cluster_queue_status("q").flavors_reservation
    assert usage.resources[0].borrowed == "0"


def test_a_local_queue_counts_its_own_workloads() -> None:
    """API-113."""
    builder = ScenarioBuilder()
    builder.queue("q", 4)
    builder.submit("one", 3)
    builder.submit("two", 3)
    builder.turn()
    status = builder.engine.read.local_queue_status(ObjectKey("ns", "q"))
    assert (status.pending_workloads, status.reserving_workloads, status.admitted_workloads) == (1, 1, 1)
    assert status.flavors_usage[0].resources[0].total == "3"


def test_weighted_shares_as_observed() -> None:
    """API-110, API-118, SCH-706: the figures of golden transcript G3."""
    builder = ScenarioBuilder(configured(FAIR_SHARING))
    builder.cohort("r")
    builder.cohort("c", parent="r")
    builder.queue("a", 2, cohort="c")
    builder.queue("b", 6, cohort="r")
    builder.queue("z", 0, cohort="c", weight=0)
    builder.submit("w", 4, "a")
    builder.turn()
    builder.submit("v", 1, "z")
    builder.turn()
    shares = {name: builder.engine.read.cohort_status(name).fair_sharing for name in ("r", "c")}
    assert {name: share and share.weighted_share for name, share in shares.items()} == {"r": 0, "c": 375}
    weighted = {name: builder.engine.read.cluster_queue_status(name).fair_sharing for name in "abz"}
    assert {name: share and share.weighted_share for name, share in weighted.items()} == {
        "a": 250,
        "b": 0,
        "z": INFINITE_SHARE,
    }
