"""If Kueue chooses between equal cohorts, some choice leads our engine to its result; nothing else is excused."""

import json
from pathlib import Path
from typing import Any

import pytest

from oracle.differences import differences
from oracle.ties import is_tied
from oracle.workload_states import our_answer

Json = Any

CASE = Path(__file__).parent / "cases" / "the-first-of-two-equal-cohorts-gives.json"


@pytest.fixture
def case() -> Json:
    return json.loads(CASE.read_text())


def test_other_choices_in_each_of_three_cycles_explain_the_decisions(case: Json) -> None:
    """SCH-722: Kueue preempted in c2, again in c2, and then in c1."""
    assert differences(our_answer(case), case["other_answer"])
    assert is_tied(case, case["other_answer"])


def test_no_choice_explains_a_victim_outside_those_cohorts(case: Json) -> None:
    case["other_answer"][-1]["team/w26"]["preempted"] = "InClusterQueue"
    assert not is_tied(case, case["other_answer"])


def test_no_choice_is_tried_where_shares_differ(case: Json) -> None:
    (cohort,) = (each for each in case["objects"] if each["metadata"]["name"] == "c2")
    cohort["spec"]["fairSharing"] = {"weight": "2"}
    assert not is_tied(case, case["other_answer"])
