"""States that a real control plane came to rest in: reconciling must leave them as they are."""

from collections.abc import Iterator

import pytest

from engine.lifecycle.sample_workloads import START, facts
from kit.golden.recordings import api_recording_with_times
from kohort.api.codec import from_json
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle.reconciliation import reconcile


def observed() -> Iterator[Workload]:
    for case in api_recording_with_times("lifecycle-gated"):
        for step in case["steps"]:
            if step["op"] == "observe" and step["kind"] == "Workload":
                yield from_json(step["object"], Workload)


def conditions_of(wl: Workload) -> set[tuple[str, str, str, int | None]]:
    return {(each.type, each.status, each.reason, each.observed_generation) for each in wl.status.conditions}


WORKLOADS = list(observed())


def test_there_are_recordings() -> None:
    assert len(WORKLOADS) >= 9


@pytest.mark.parametrize("wl", WORKLOADS, ids=lambda wl: wl.metadata.name)
def test_what_a_real_control_plane_settled_on_is_left_alone(wl: Workload) -> None:
    """API-125, API-126, API-130, API-132"""
    after = reconcile(wl, facts(), START).workload
    assert conditions_of(after) == conditions_of(wl)
    assert after.spec == wl.spec
    assert after.status.admission == wl.status.admission
    assert after.status.requeue_state == wl.status.requeue_state
    assert after.status.scheduling_stats == wl.status.scheduling_stats
    assert after.status.accumulated_past_execution_time_seconds == wl.status.accumulated_past_execution_time_seconds
