"""Jobs fare on the embedded control plane as they do on Kubernetes' own: conditions, counts, pods and events."""

import pytest

from workloads.cases import CASES, Case
from workloads.playing import Seen, Transcript


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_control_planes_do_the_same(case: Case, transcript: Transcript) -> None:
    real, ours = transcript["kubernetes"][case.name], transcript["kohort"][case.name]
    assert (real.failure, ours.failure) == ("", "")
    assert ours.states == real.states
    assert _told(ours, case) == _told(real, case)


def _told(seen: Seen, case: Case) -> list[tuple[object, ...]]:
    """The events; without their number where that is left to chance."""
    return [event[:-1] if event[2] in case.loose else event for event in seen.events]
