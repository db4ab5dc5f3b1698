import pytest

from engine.lifecycle.sample_workloads import (
    LEGACY,
    admitted,
    at,
    condition_text,
    facts,
    has,
    judged,
    reserved,
    workload,
)
from kohort.engine.lifecycle.deactivation import target_deactivation
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.engine.lifecycle.finishing import finish
from kohort.engine.lifecycle.reconcile_context import ClusterQueueContext, LocalQueueContext, ReconcileContext
from kohort.engine.lifecycle.stopping import apply_stop_policies

NOW = at(100)
HELD = reserved(workload(), checks=("c",))
"""A Workload with quota that waits for a check."""

LOCAL_HOLD = facts(local=LocalQueueContext("q", stop_policy="Hold"))
LOCAL_DRAIN = facts(local=LocalQueueContext("q", stop_policy="HoldAndDrain"))
LOCAL_GONE = facts(local=None)
LOCAL_TERMINATING = facts(local=LocalQueueContext("q", is_terminating=True))
CLUSTER_HOLD = facts(queue=ClusterQueueContext(stop_policy="Hold"))
CLUSTER_DRAIN = facts(queue=ClusterQueueContext(stop_policy="HoldAndDrain"))
CLUSTER_GONE = facts(queue=None)
CLUSTER_TERMINATING = facts(queue=ClusterQueueContext(is_terminating=True))
BOTH_DRAIN = facts(
    local=LocalQueueContext("q", stop_policy="HoldAndDrain"), queue=ClusterQueueContext(stop_policy="HoldAndDrain")
)


@pytest.mark.parametrize(
    ("around", "reason", "message"),
    [
        (LOCAL_DRAIN, "LocalQueueStopped", "The LocalQueue is stopped"),
        (CLUSTER_DRAIN, "ClusterQueueStopped", "The ClusterQueue is stopped"),
        (BOTH_DRAIN, "LocalQueueStopped", "The LocalQueue is stopped"),
    ],
)
def test_draining_evicts_what_runs(around: ReconcileContext, reason: str, message: str) -> None:
    """SCH-1050"""
    change = apply_stop_policies(admitted(), around, NOW)
    assert condition_text(change.workload, "Evicted") == ("True", reason, message)
    assert [event.reason for event in change.events] == [f"EvictedDueTo{reason}"]


@pytest.mark.parametrize(
    "around", [LOCAL_HOLD, CLUSTER_HOLD, LOCAL_GONE, CLUSTER_GONE, LOCAL_TERMINATING, CLUSTER_TERMINATING, facts()]
)
def test_nothing_else_stops_what_runs(around: ReconcileContext) -> None:
    """SCH-1050"""
    running = admitted()
    assert apply_stop_policies(running, around, NOW).workload is running


@pytest.mark.parametrize(
    ("around", "reason", "message"),
    [
        (LOCAL_HOLD, "Suspended", "LocalQueue lq is stopped"),
        (LOCAL_DRAIN, "Suspended", "LocalQueue lq is stopped"),
        (LOCAL_GONE, "Misconfigured", "LocalQueue lq is terminating or missing"),
        (LOCAL_TERMINATING, "Misconfigured", "LocalQueue lq is terminating or missing"),
        (CLUSTER_HOLD, "Suspended", "ClusterQueue q is stopped"),
        (CLUSTER_DRAIN, "Suspended", "ClusterQueue q is stopped"),
        (CLUSTER_GONE, "Misconfigured", "ClusterQueue q is terminating or missing"),
        (CLUSTER_TERMINATING, "Misconfigured", "ClusterQueue q is terminating or missing"),
        (BOTH_DRAIN, "Suspended", "LocalQueue lq is stopped"),
    ],
)
def test_what_does_not_run_yet_loses_its_reservation(around: ReconcileContext, reason: str, message: str) -> None:
    """SCH-1050, API-131"""
    change = apply_stop_policies(HELD, around, NOW)
    assert condition_text(change.workload, "QuotaReserved") == ("False", reason, message)
    assert change.workload.status.admission is None
    assert not has(change.workload, "Evicted")
    assert change.events == ()


def test_old_reason() -> None:
    """API-83"""
    for queue in (ClusterQueueContext(stop_policy="Hold"), None):
        after = apply_stop_policies(HELD, facts(queue=queue, gates=LEGACY), NOW).workload
        assert judged(after, "QuotaReserved") == ("False", "Inadmissible")


def test_an_ongoing_eviction_is_left_alone() -> None:
    """SCH-1050"""
    for leaving in (
        evict(HELD, EvictionCause("AdmissionCheck", ""), NOW).workload,
        evict(admitted(), EvictionCause("Preempted", ""), NOW).workload,
        target_deactivation(HELD, "AdmissionCheck", "", NOW),
        finish(admitted(), "Succeeded", "", NOW),
    ):
        assert apply_stop_policies(leaving, BOTH_DRAIN, NOW).workload is leaving


def test_what_holds_no_quota_is_left_alone() -> None:
    waiting = workload()
    assert apply_stop_policies(waiting, BOTH_DRAIN, NOW).workload is waiting
