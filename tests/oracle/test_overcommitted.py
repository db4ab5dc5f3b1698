"""A workload that the real Kueue parks for a cycle's sake is explained by that; nothing else is excused by it."""

import json
from pathlib import Path
from typing import Any

import pytest

from oracle.differences import differences
from oracle.overcommitted import is_overcommitted, is_parked
from oracle.topology_texts import excuse_of
from oracle.workload_states import our_answer

Json = Any

CASE = Path(__file__).parent / "cases" / "an-entry-that-lost-its-places-is-tried-again.json"


@pytest.fixture
def case() -> Json:
    return json.loads(CASE.read_text())


def test_an_entry_that_lost_its_places_is_tried_again(case: Json) -> None:
    """Q-18: w6 takes places that w19 found; Kueue evaluates w19 again only after an event."""
    assert differences(our_answer(case), case["other_answer"], excuse_of(case))
    assert is_parked(case, case["other_answer"])
    assert is_overcommitted(case, case["other_answer"])


def test_it_does_not_explain_a_victim(case: Json) -> None:
    case["other_answer"][-1]["team/w5"]["preempted"] = "InCohortReclamation"
    assert not is_parked(case, case["other_answer"])


def test_a_workload_admitted_in_the_cycle_is_no_target(case: Json) -> None:
    """SCH-301, TAS-81: w19 finds no other places before the cycle ends, and w6 keeps those that it got."""
    *before, _last = case["steps"]
    (*_, after) = our_answer({**case, "steps": [*before, {"cycle": 1}]})
    assert after is not None
    assert after["team/w6"]["state"] == "reserved"
    assert "preempted" not in after["team/w6"]


def test_a_group_that_lost_its_places_keeps_its_flavor() -> None:
    """TAS-81, SCH-331: the leader requests one resource of two; together they get another assignment in that flavor."""
    case = json.loads(CASE.with_name("a-group-that-lost-its-places-keeps-its-flavor.json").read_text())
    assert is_parked(case, case["other_answer"])
