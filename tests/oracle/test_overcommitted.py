"""Domains that the real Kueue overcommits explain its result; nothing else is excused by it."""

import json
from pathlib import Path
from typing import Any

import pytest

from oracle.differences import differences
from oracle.overcommitted import is_overcommitted
from oracle.topology_texts import excuse_of
from oracle.workload_states import our_answer

Json = Any
CASE = Path(__file__).parent / "cases" / "pods-of-one-node-are-counted-before-an-admission.json"


@pytest.fixture
def case() -> Json:
    return json.loads(CASE.read_text())


def test_pods_beyond_the_limit_of_a_node_explain_an_admission(case: Json) -> None:
    """Q-3: w7 was placed on nodes whose last pods another entry took."""
    assert differences(our_answer(case), case["other_answer"], excuse_of(case))
    assert is_overcommitted(case, case["other_answer"])


def test_that_does_not_explain_other_nodes(case: Json) -> None:
    (assignment,) = case["other_answer"][-1]["team/w7"]["assignments"]
    assignment["domains"] = assignment["domains"][:-1]
    assert not is_overcommitted(case, case["other_answer"])
