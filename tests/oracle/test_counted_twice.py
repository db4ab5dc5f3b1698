"""What the real Kueue counts twice explains its answer; nothing else is excused by it."""

import json
from pathlib import Path
from typing import Any

import pytest

from oracle.counted_twice import is_counted_twice
from oracle.differences import differences
from oracle.topology_texts import excuse_of
from oracle.workload_states import our_answer

Json = Any
CASES = Path(__file__).parent / "cases"


def read(name: str) -> Json:
    return json.loads((CASES / f"{name}.json").read_text())


@pytest.mark.parametrize(
    "name",
    [
        "a-slice-is-counted-once",
        "a-slice-that-shrinks-fits-without-the-one-it-replaces",
        "a-second-pass-requests-no-quota-again",
    ],
)
def test_kueue_counts_twice(name: str) -> None:
    """What is counted twice, by rule.

    Q-12: the pods that w23 adds to those of w18 fit; w14 may add one beside those of w5, of which two stay in a rack
    that is too small for all of them by now. Q-21: w7 preempts w3, which has no places, for its quota.
    """
    case = read(name)
    assert differences(our_answer(case), case["other_answer"], excuse_of(case))
    assert is_counted_twice(case, case["other_answer"])


def test_that_does_not_explain_an_admission() -> None:
    case = read("a-slice-is-counted-once")
    case["other_answer"][-1]["team/w23"] = {"state": "reserved"}
    assert not is_counted_twice(case, case["other_answer"])


def test_that_does_not_explain_other_victims() -> None:
    case = read("a-second-pass-requests-no-quota-again")
    case["other_answer"][-1]["team/w7"]["preempted"] = "InClusterQueue"
    assert not is_counted_twice(case, case["other_answer"])
