"""The order by waiting time (SCH-211)."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from engine.lifecycle.sample_workloads import admitted, at, with_status
from engine.scenario_builders import ScenarioBuilder, configured
from kohort.api.kueue.v1beta2.workload import AdmissionCheckState
from kohort.api.meta import Condition, ObjectKey
from kohort.engine.lifecycle.checks import act_on_checks
from kohort.engine.lifecycle.eviction import release
from kohort.engine.record_builders import conditions_of, queue_timestamp
from kohort.engine.settings import EngineSettings

Json = Any
BY_CREATION = configured({"waitForPodsReady": {"requeuingStrategy": {"timestamp": "Creation"}}})
UNSORTED = configured(PrioritySortingWithinCohort=False)
WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


@pytest.mark.parametrize(
    ("condition", "reason", "settings", "expected"),
    [
        ("Evicted", "PodsReadyTimeout", EngineSettings(), at(50)),
        ("Evicted", "PodsReadyTimeout", BY_CREATION, at(0)),
        ("Evicted", "AdmissionCheck", BY_CREATION, at(50)),
        ("Evicted", "Preempted", EngineSettings(), at(0)),
        ("Preempted", WHILE_BORROWING, EngineSettings(), at(0)),
        ("Preempted", WHILE_BORROWING, UNSORTED, at(50) + timedelta(milliseconds=1)),
        ("Preempted", "InClusterQueue", UNSORTED, at(0)),
    ],
)
def test_an_eviction_for_its_own_fault_puts_a_workload_back(
    condition: str, reason: str, settings: EngineSettings, expected: datetime
) -> None:
    """SCH-211: all others wait since they were created."""
    evicted = Condition(type=condition, status="True", reason=reason, message="", last_transition_time=at(50))
    workload = with_status(admitted(), conditions=(evicted,))
    assert queue_timestamp(workload, conditions_of(workload), settings) == expected


def test_g33_workloads_created_before_a_requeue_precede_it() -> None:
    """SCH-211, SCH-910: the workload queues by the time of its eviction."""
    builder = ScenarioBuilder()
    builder.queue("q", 4)
    builder.running("retried", 4, at=1)
    builder.wait(100)
    answer = AdmissionCheckState(name="C", state="Retry", last_transition_time=builder.now, message="")
    held = with_status(builder.workloads[ObjectKey("ns", "retried")], admission_checks=(answer,))
    evicted = act_on_checks(held, builder.now).workload
    released = release(evicted, builder.settings.gates, builder.now)
    conditions = tuple(each for each in released.status.conditions if each.type != "Requeued")
    builder.submit("between", 4, at=50)
    builder.show(with_status(released, conditions=conditions))
    assert builder.turn().reserved == ["between"]
