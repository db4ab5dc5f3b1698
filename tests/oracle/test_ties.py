"""Where the real Kueue draws lots, ours must have its answer among those it could give; nothing else is excused."""

import json
from pathlib import Path
from typing import Any

import pytest

from oracle.differences import differences
from oracle.standings import our_answer
from oracle.ties import is_tied

Json = Any

CASE = Path(__file__).parent / "cases" / "the-first-of-two-equal-cohorts-gives.json"


@pytest.fixture
def case() -> Json:
    return json.loads(CASE.read_text())


def test_another_draw_in_each_of_three_cycles_explains_the_answer(case: Json) -> None:
    """SCH-722: it took from c2, again from c2, and then from c1 as well."""
    assert differences(our_answer(case), case["other_answer"])
    assert is_tied(case, case["other_answer"])


def test_no_draw_explains_a_victim_outside_those_cohorts(case: Json) -> None:
    case["other_answer"][-1]["team/w26"]["preempted"] = "InClusterQueue"
    assert not is_tied(case, case["other_answer"])


def test_where_shares_differ_nothing_is_drawn(case: Json) -> None:
    (cohort,) = (each for each in case["objects"] if each["metadata"]["name"] == "c2")
    cohort["spec"]["fairSharing"] = {"weight": "2"}
    assert not is_tied(case, case["other_answer"])
