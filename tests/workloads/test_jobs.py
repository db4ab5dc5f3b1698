"""Jobs have the same conditions, counts, pods and events on the embedded control plane as on Kubernetes.

So they have with our controllers on kube-apiserver, which validates their writes more strictly than the embedded one.
"""

from pprint import pformat

import pytest

from workloads.cases import CASES, Case
from workloads.run_cases import CaseResult, Transcript


@pytest.mark.parametrize("plane", ["kohort", "both"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_control_planes_do_the_same(case: Case, plane: str, transcript: Transcript) -> None:
    real, ours = transcript["kubernetes"][case.name], transcript[plane][case.name]
    assert (real.failure, ours.failure) == ("", "")
    assert _lines(ours.states) == _lines(real.states)
    assert _lines(_events(ours, case)) == _lines(_events(real, case))


def _lines(facts: object) -> list[str]:
    """One fact per line, so that a failure shows the one that differs."""
    return pformat(facts, width=120).splitlines()


def _events(seen: CaseResult, case: Case) -> list[tuple[object, ...]]:
    """The events; without their number where that varies."""
    return [event[:-1] if event[2] in case.loose else event for event in seen.events]
