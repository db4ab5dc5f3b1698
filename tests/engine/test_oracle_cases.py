"""Scenarios in which our engine once differed from the real Kueue, with its decisions: ours must be equal (§13, §14).

They come from `make test-oracle`; this test needs no Go.
"""

import json
from pathlib import Path

import pytest

from oracle.differences import differences
from oracle.topology_texts import excuse_of
from oracle.workload_states import our_answer

CASES = sorted((Path(__file__).parents[1] / "oracle" / "cases").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_our_decisions_are_the_recorded_ones_of_the_real_kueue(path: Path) -> None:
    case = json.loads(path.read_text())
    found = differences(our_answer(case), case["answer"], excuse_of(case))
    assert not found, "\n".join(map(str, found))
