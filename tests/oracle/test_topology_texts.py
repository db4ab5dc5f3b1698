"""Which messages of topology scenarios may differ from Kueue's, and which may not."""

from typing import Any

import pytest

from oracle.topology_texts import excuse_of

Json = Any
SMALL = 'topology "t" allows to fit only 1 out of 3 pod(s). Total nodes: 2; excluded: resource "cpu": 1'
NONE = 'topology "t" doesn\'t allow to fit; 0/2 slice(s) fit on level block; 1/4 slice(s) fit on level x.io/host'
FAILED = "TopologyPlacementFailed"


def placed(message: str, reason: str = FAILED, **more: Json) -> Json:
    return {"state": "pending", "place": "pool", "message": message, **({"reason": reason} if reason else {}), **more}


def failing(pod_set: str, why: str) -> str:
    return f"couldn't assign flavors to pod set {pod_set}: {why}"


def is_excused(ours: Json, theirs: Json) -> bool:
    excuse = excuse_of({"theme": "SingleQueue", "objects": []})
    assert excuse is not None
    return excuse(ours, theirs)


def test_scenarios_without_topology_excuse_nothing() -> None:
    assert excuse_of({"objects": []}) is None


@pytest.mark.parametrize("theirs", [failing("main", NONE), failing("main", "insufficient quota")])
def test_another_cause_is_not_excused(theirs: str) -> None:
    assert not is_excused(placed(failing("main", SMALL)), placed(theirs))


def test_either_pod_set_of_a_group_may_be_named() -> None:
    """Q-8, Q-4."""
    theirs = placed(failing("workers", SMALL.replace("only 1", "only 3")))
    assert is_excused(placed(failing("leader", SMALL)), theirs)
    assert not is_excused(placed(failing("first", SMALL)), placed(failing("second", SMALL)))


def test_ours_may_add_what_fits_no_empty_cluster() -> None:
    """Q-15: in another pod set, where Kueue has no reason either, or after the quota of the same one."""
    first, second = failing("first", SMALL), failing("second", NONE)
    assert is_excused(placed(f"{first}; {second}"), placed(first, reason=""))
    assert is_excused(placed(failing("main", f"short of quota, {SMALL}")), placed(failing("main", "short of quota")))
    assert not is_excused(placed(first), placed(f"{first}; {second}"))


def test_ours_has_a_reason_where_kueue_has_none() -> None:
    """Q-15, Q-23."""
    problem = failing("main", "required topology is not supported with ElasticJobsViaWorkloadSlices")
    assert is_excused(placed(problem, "NoMatchingFlavor"), placed(problem, reason=""))
    assert not is_excused(placed(problem, "NoMatchingFlavor"), placed(problem, "WaitingForQuota"))
    assert not is_excused(placed(problem, reason=""), placed(problem, "NoMatchingFlavor"))


def test_texts_of_blocked_workloads_are_compared() -> None:
    """TAS-81: `is_recomputed` accounts for each of them."""
    ours, theirs = placed(failing("main", SMALL), "WaitingForQuota"), placed(failing("main", NONE), "WaitingForQuota")
    assert not is_excused(ours, theirs)


def test_ours_may_name_the_levels() -> None:
    """TAS-36, TAS-43."""
    for theirs, levels in (
        ('Flavor "tas" does not contain the requested level', "(requested: zone; levels of Topology t: block, rack)"),
        ("podset slice topology b is above the podset topology r", "(flavor tas; levels of Topology t: b, r)"),
    ):
        assert is_excused(placed(failing("main", f"{theirs} {levels}")), placed(failing("main", theirs)))
        assert not is_excused(placed(failing("main", f"{theirs} (unknown)")), placed(failing("main", theirs)))


def test_another_state_is_never_excused() -> None:
    assert not is_excused(placed(SMALL), placed(SMALL, place="active"))
