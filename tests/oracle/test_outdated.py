"""Victims as they were before the cycle explain Kueue's answer; nothing else is excused by it."""

import json
from pathlib import Path
from typing import Any

import pytest

from oracle.differences import differences
from oracle.outdated import is_outdated
from oracle.reactivation import is_reactivated
from oracle.topology_texts import excuse_of
from oracle.workload_states import our_answer

Json = Any
CASES = Path(__file__).parent / "cases"


@pytest.fixture
def case() -> Json:
    """w3 gets a place for pods whose node failed, and is preempted in the same cycle (Q-17)."""
    return json.loads((CASES / "a-victim-releases-the-places-of-its-second-pass.json").read_text())


def test_kueue_undoes_the_second_pass_of_a_victim(case: Json) -> None:
    assert differences(our_answer(case), case["other_answer"], excuse_of(case))
    assert is_outdated(case, case["other_answer"])


def test_that_does_not_explain_a_workload_that_stays(case: Json) -> None:
    del case["other_answer"][-1]["team/w3"]["preempted"]
    assert not is_outdated(case, case["other_answer"])


def test_places_that_it_left_do_not_come_free() -> None:
    """w6 waits for a place where the pods of w3 remain."""
    case = json.loads((CASES / "an-undone-second-pass-frees-no-places.json").read_text())
    assert is_outdated(case, case["other_answer"])
    case["other_answer"][-1]["team/w6"]["place"] = "active"
    assert not is_outdated(case, case["other_answer"])


def test_queues_may_be_reactivated_too() -> None:
    """TAS-24: w9 lacks quota, which no pod that leaves gives it."""
    case = json.loads((CASES / "a-victim-of-its-second-pass-reactivates-queues.json").read_text())
    assert not is_outdated(case, case["other_answer"])
    assert is_reactivated(case, case["other_answer"])
    del case["other_answer"][-1]["team/w1"]["preempted"]
    assert not is_reactivated(case, case["other_answer"])
