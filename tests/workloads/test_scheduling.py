"""Our scheduler places pods as kube-scheduler does, with the same messages for unschedulable pods."""

import asyncio

import pytest

from workloads.scheduling_cases import CASES, Case
from workloads.scheduling_harness import SchedulerState, run_cases_on_both

Both = tuple[dict[str, SchedulerState], dict[str, SchedulerState]]


@pytest.fixture(scope="module")
def both(request: pytest.FixtureRequest) -> Both:
    """The states of the selected cases on both schedulers."""
    calls = (getattr(item, "callspec", None) for item in request.session.items)
    chosen = [call.params.get("case") for call in calls if call is not None]
    return asyncio.run(run_cases_on_both([case for case in CASES if case in chosen]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_schedulers_do_the_same(case: Case, both: Both) -> None:
    theirs, ours = (side[case.name] for side in both)
    assert (theirs.failure, ours.failure) == ("", "")
    if case.differs:
        assert ours.pods != theirs.pods, f"no longer: {case.differs}"
        assert [each["node"] for each in ours.pods.values()] == [each["node"] for each in theirs.pods.values()]
        return
    assert ours.pods == theirs.pods
    assert ours.events == theirs.events
