"""Every command of the script gets the same answer from kube-apiserver and from the embedded server."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from wire.answers import unlike
from wire.chapters import CHAPTERS
from wire.differences import Difference
from wire.playing import Transcript
from wire.steps import Chapter

TABLE = Path(__file__).parents[2] / "docs" / "embedded-differences.md"
STEPS = [
    pytest.param(chapter, number, id=f"{chapter.name}-{number:02}-{step.title[:60]}")
    for chapter in CHAPTERS
    for number, step in enumerate(chapter.steps)
]


def evened(text: str, differences: Iterable[Difference]) -> str:
    for difference in differences:
        text = difference.evened(text)
    return text


@pytest.mark.parametrize(("chapter", "number"), STEPS)
def test_both_servers_answer_alike(transcript: Transcript, chapter: Chapter, number: int) -> None:
    step = chapter.steps[number]
    real, ours = map(str, transcript(chapter)[number])
    found = unlike(evened(real, step.differs), evened(ours, step.differs))
    assert not found, f"{step.title}\n{found}"
    for known in step.differs:
        others = [each for each in step.differs if each is not known]
        assert evened(real, others) != evened(ours, others), f"{step.title}: no longer differs in {known.row}"


def test_the_table_of_differences_lists_those_that_steps_show_and_no_other() -> None:
    shown = {difference.row for chapter in CHAPTERS for step in chapter.steps for difference in step.differs}
    listed = re.findall(r"^\| `([a-z0-9 -]+)` \|", TABLE.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(shown)


def test_the_script_is_as_long_as_promised() -> None:
    assert len(STEPS) >= 150
