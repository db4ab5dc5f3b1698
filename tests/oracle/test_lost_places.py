"""What the real Kueue does with entries that lost their places explains its result and excuses nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from oracle.differences import differences
from oracle.lost_places import is_parked, is_recomputed
from oracle.overcommitted import is_overcommitted
from oracle.topology_texts import excuse_of
from oracle.workload_states import our_answer

Json = Any
CASES = Path(__file__).parent / "cases"


def read(name: str) -> Json:
    return json.loads((CASES / f"{name}.json").read_text())


@pytest.fixture
def held() -> Json:
    """w2 holds all nodes for a cycle, so that w5 finds no places although one node is free (Q-18)."""
    return read("an-entry-that-lost-held-places-is-tried-again")


@pytest.fixture
def blocked() -> Json:
    """w14 preempts for places that w12 would need; w12 has no targets (Q-19)."""
    return read("an-entry-without-targets-keeps-its-search")


def test_an_entry_that_lost_its_placement_is_tried_again(held: Json) -> None:
    """Kueue evaluates it again only after an event."""
    assert differences(our_answer(held), held["other_answer"], excuse_of(held))
    assert is_parked(held, held["other_answer"])
    assert is_overcommitted(held, held["other_answer"])


def test_that_does_not_explain_a_victim(held: Json) -> None:
    held["other_answer"][-1]["team/w3"]["preempted"] = "InClusterQueue"
    assert not is_parked(held, held["other_answer"])
    assert not is_recomputed(held, held["other_answer"])


def test_an_entry_without_targets_continues_its_search_for_flavors(blocked: Json) -> None:
    """Kueue computes its assignment again in the first flavor, and does not try the others."""
    assert differences(our_answer(blocked), blocked["other_answer"], excuse_of(blocked))
    assert is_recomputed(blocked, blocked["other_answer"])
    assert not is_parked(blocked, blocked["other_answer"])


def test_that_does_not_explain_an_admission(blocked: Json) -> None:
    blocked["other_answer"][-1]["team/w12"] = {"state": "reserved"}
    assert not is_recomputed(blocked, blocked["other_answer"])


def test_a_workload_admitted_in_the_cycle_is_no_target() -> None:
    """SCH-301, TAS-81: w19 finds no other places before the cycle ends, and w6 keeps those that it got."""
    case = read("an-entry-that-lost-its-places-waits-for-an-event")
    *before, _last = case["steps"]
    (*_, after) = our_answer({**case, "steps": [*before, {"cycle": 1}]})
    assert after is not None
    assert after["team/w6"]["state"] == "reserved"
    assert "preempted" not in after["team/w6"]


def test_a_group_that_lost_its_placement_keeps_its_flavor() -> None:
    """TAS-81, SCH-331: the leader requests one resource of two; together they get another assignment in that flavor."""
    case = read("a-group-that-lost-its-places-keeps-its-flavor")
    assert is_parked(case, case["other_answer"])
