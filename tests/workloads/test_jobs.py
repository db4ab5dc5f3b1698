"""Jobs fare on the embedded control plane as they do on Kubernetes' own: conditions, counts, pods and events.

So they do when our controllers work on Kubernetes' API server, which checks what they write more strictly than ours.
"""

from pprint import pformat

import pytest

from workloads.cases import CASES, Case
from workloads.playing import Seen, Transcript


@pytest.mark.parametrize("plane", ["kohort", "both"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_control_planes_do_the_same(case: Case, plane: str, transcript: Transcript) -> None:
    real, ours = transcript["kubernetes"][case.name], transcript[plane][case.name]
    assert (real.failure, ours.failure) == ("", "")
    assert _lines(ours.states) == _lines(real.states)
    assert _lines(_told(ours, case)) == _lines(_told(real, case))


def _lines(facts: object) -> list[str]:
    """One fact a line, so that a failure shows the one that differs."""
    return pformat(facts, width=120).splitlines()


def _told(seen: Seen, case: Case) -> list[tuple[object, ...]]:
    """The events; without their number where that is left to chance."""
    return [event[:-1] if event[2] in case.loose else event for event in seen.events]
