"""Negative reservations of the real Kueue explain its result; nothing else is excused by them."""

import json
from pathlib import Path
from typing import Any

import pytest

from oracle.differences import differences
from oracle.overdrawn import is_overdrawn
from oracle.workload_states import our_answer

Json = Any

CASE = Path(__file__).parent / "cases" / "an-overused-queue-reserves-nothing.json"


@pytest.fixture
def case() -> Json:
    return json.loads(CASE.read_text())


def test_a_negative_reservation_explains_the_skipped_preemptor(case: Json) -> None:
    """SCH-340: q2 uses 25 CPUs with a nominal quota of 6 and a borrowing limit of 1."""
    assert differences(our_answer(case), case["other_answer"])
    assert is_overdrawn(case, case["other_answer"])


def test_it_does_not_explain_another_victim(case: Json) -> None:
    case["other_answer"][-1]["team/w9"]["preempted"] = "InClusterQueue"
    assert not is_overdrawn(case, case["other_answer"])


def test_a_queue_within_its_limit_reserves_nothing_negative(case: Json) -> None:
    for manifest in (step["put"] for step in case["steps"] if "put" in step):
        if manifest["kind"] == "ClusterQueue" and manifest["metadata"]["name"] == "q2":
            manifest["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0].pop("borrowingLimit")
    assert not is_overdrawn(case, case["other_answer"])
