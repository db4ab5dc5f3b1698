"""Every step of the scripts has the same result on kube-apiserver and on the embedded server."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from conformance.differences import Difference
from conformance.script import Script
from conformance.script_runner import Transcript
from conformance.scripts import SCRIPTS
from conformance.step_results import difference_of

TABLE = Path(__file__).parents[2] / "docs" / "embedded-differences.md"
STEPS = [
    pytest.param(script, number, id=f"{script.name}-{number:02}-{step.title[:60]}")
    for script in SCRIPTS
    for number, step in enumerate(script.steps)
]


def masked(text: str, differences: Iterable[Difference]) -> str:
    for difference in differences:
        text = difference.masked(text)
    return text


@pytest.mark.parametrize(("script", "number"), STEPS)
def test_both_servers_respond_alike(transcript: Transcript, script: Script, number: int) -> None:
    step = script.steps[number]
    real, ours = map(str, transcript(script)[number])
    found = difference_of(masked(real, step.differs), masked(ours, step.differs))
    assert not found, f"{step.title}\n{found}"
    for known in step.differs:
        others = [each for each in step.differs if each is not known]
        assert masked(real, others) != masked(ours, others), f"{step.title}: no longer differs in {known.row}"


def test_the_table_of_differences_lists_those_that_steps_show_and_no_other() -> None:
    shown = {difference.row for script in SCRIPTS for step in script.steps for difference in step.differs}
    listed = re.findall(r"^\| `([a-z0-9 -]+)` \|", TABLE.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(shown)


def test_the_scripts_have_at_least_150_steps() -> None:
    assert len(STEPS) >= 150
