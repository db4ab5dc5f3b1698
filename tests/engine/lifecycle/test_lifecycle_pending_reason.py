from typing import Any

import pytest

from engine.lifecycle.sample_workloads import (
    EXPLICIT,
    LEGACY,
    admitted,
    annotated,
    at,
    condition_text,
    facts,
    has,
    judged,
    without,
    workload,
)
from kohort.api.gates import DEFAULT_GATES, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle.admission import drop_reservation
from kohort.engine.lifecycle.events import WorkloadEvent
from kohort.engine.lifecycle.pending_reason import pending_cause, update_pending_reason
from kohort.engine.lifecycle.reconcile_context import ClusterQueueContext, LocalQueueContext, ReconcileContext

NOW = at(100)
PENDING = ("PendingEvaluation", "Workload is pending evaluation in the scheduling queue")
DEACTIVATED = ("Deactivated", "The workload is deactivated")
NO_LOCAL = ("Misconfigured", "LocalQueue lq doesn't exist")
LOCAL_STOPPED = ("Suspended", "LocalQueue lq is inactive")
NO_CLUSTER = ("Misconfigured", "ClusterQueue q doesn't exist")
CLUSTER_INACTIVE = ("Suspended", "ClusterQueue q is inactive")
BYPASSED = "Bypassed scheduling evaluation because an equivalent workload recently failed"
GATED = ("AdmissionGated", "Admission is gated by: example.com/a,example.com/b")

STOPPED_LOCAL = LocalQueueContext("q", stop_policy="Hold")
STOPPED_CLUSTER = ClusterQueueContext(stop_policy="Hold")
IDLE_CLUSTER = ClusterQueueContext(is_active=False)


def waiting(reason: str | None = None, message: str = "old", **spec: Any) -> Workload:
    """A Workload without quota and with that condition."""
    fresh = workload(**spec)
    return fresh if reason is None else drop_reservation(fresh, reason, message, DEFAULT_GATES, at(0))


def gated(wl: Workload, value: str = "example.com/a,example.com/b") -> Workload:
    return annotated(wl, annotations={"kueue.x-k8s.io/admission-gated-by": value})


CAUSES = [
    pytest.param(waiting("Suspended", active=False), facts(local=None), DEACTIVATED, id="inactive"),
    pytest.param(waiting("OnHold"), facts(local=None), None, id="on hold"),
    pytest.param(waiting(), facts(local=None, queue=None), NO_LOCAL, id="no LocalQueue"),
    pytest.param(waiting(), facts(local=LocalQueueContext("q", is_terminating=True)), NO_LOCAL, id="LocalQueue going"),
    pytest.param(waiting(), facts(local=STOPPED_LOCAL, queue=None), LOCAL_STOPPED, id="LocalQueue stopped"),
    pytest.param(waiting(), facts(queue=None, namespace_problem="no"), NO_CLUSTER, id="no ClusterQueue"),
    pytest.param(waiting(), facts(queue=STOPPED_CLUSTER, namespace_problem="no"), CLUSTER_INACTIVE, id="stopped"),
    pytest.param(waiting(), facts(queue=IDLE_CLUSTER), CLUSTER_INACTIVE, id="inactive ClusterQueue"),
    pytest.param(waiting(), facts(queue=ClusterQueueContext(is_terminating=True)), CLUSTER_INACTIVE, id="terminating"),
    pytest.param(gated(waiting()), facts(namespace_problem="no"), ("Misconfigured", "no"), id="namespace or limits"),
    pytest.param(waiting(), facts(claims_problem="no"), ("Misconfigured", "no"), id="resource claims"),
    pytest.param(gated(waiting("Suspended")), facts(bypass_reason="WaitingForQuota"), GATED, id="admission gate"),
    pytest.param(
        waiting("Suspended"), facts(bypass_reason="NoMatchingFlavor"), ("NoMatchingFlavor", BYPASSED), id="bypass"
    ),
    pytest.param(waiting("WaitingForQuota"), facts(bypass_reason="NoMatchingFlavor"), None, id="from the scheduler"),
    pytest.param(waiting("Suspended"), facts(), PENDING, id="nothing left"),
    pytest.param(waiting(), facts(), None, id="fresh"),
    pytest.param(waiting(), facts(gates=EXPLICIT), PENDING, id="fresh, explicit"),
]


@pytest.mark.parametrize(("wl", "around", "expected"), CAUSES)
def test_the_first_cause_that_applies_is_written(
    wl: Workload, around: ReconcileContext, expected: tuple[str, str] | None
) -> None:
    """SCH-363, API-130"""
    assert pending_cause(wl, around) == expected


@pytest.mark.parametrize(
    "reason",
    [
        "WaitingForQuota",
        "NoMatchingFlavor",
        "ExceedsMaxQuota",
        "TopologyPlacementFailed",
        "WaitingForPreemptedWorkloads",
        "WaitingForPodsReady",
        "PendingEvaluation",
    ],
)
def test_the_message_of_the_scheduler_is_kept_verbatim(reason: str) -> None:
    """SCH-363"""
    wl = waiting(reason, "unchanged")
    assert update_pending_reason(wl, facts(), NOW).workload is wl


@pytest.mark.parametrize(
    "reason", ["Misconfigured", "Suspended", "Deactivated", "AdmissionGated", "Pending", "Inadmissible"]
)
def test_anything_else_becomes_pending_evaluation(reason: str) -> None:
    """SCH-363"""
    after = update_pending_reason(waiting(reason), facts(), NOW).workload
    assert condition_text(after, "QuotaReserved") == ("False", *PENDING)


class TestBypassing:
    AROUND = facts(bypass_reason="ExceedsMaxQuota")

    @pytest.mark.parametrize("reason", ["PendingEvaluation", "Suspended", "Deactivated", "Pending"])
    def test_a_reason_without_details_is_replaced(self, reason: str) -> None:
        """SCH-253"""
        assert pending_cause(waiting(reason), self.AROUND) == ("ExceedsMaxQuota", BYPASSED)

    @pytest.mark.parametrize("reason", ["WaitingForQuota", "TopologyPlacementFailed"])
    def test_leaves_an_evaluation_of_its_own(self, reason: str) -> None:
        """SCH-253"""
        assert pending_cause(waiting(reason), self.AROUND) is None

    def test_a_fresh_workload_gets_a_reason_only_with_explicit_status(self) -> None:
        """SCH-253"""
        assert pending_cause(waiting(), self.AROUND) is None
        explicit = facts(bypass_reason="ExceedsMaxQuota", gates=EXPLICIT)
        assert pending_cause(waiting(), explicit) == ("ExceedsMaxQuota", BYPASSED)

    def test_is_off_with_its_gate(self) -> None:
        """API-130"""
        off = facts(bypass_reason="ExceedsMaxQuota", gates=without(Gate.SchedulingEquivalenceHashing))
        assert pending_cause(waiting("Suspended"), off) == PENDING


class TestAdmissionGates:
    def test_events_are_recorded_once(self) -> None:
        """API-128"""
        change = update_pending_reason(gated(waiting()), facts(), NOW)
        assert condition_text(change.workload, "QuotaReserved") == ("False", *GATED)
        assert judged(change.workload, "Admitted") == ("False", "NoReservation")
        assert change.events == (WorkloadEvent("Normal", *GATED),)
        again = update_pending_reason(change.workload, facts(), at(200))
        assert again.workload is change.workload
        assert again.events == ()

    def test_fewer_gates_change_the_message_without_an_event(self) -> None:
        """API-128"""
        before = update_pending_reason(gated(waiting()), facts(), NOW).workload
        change = update_pending_reason(gated(before, "example.com/b"), facts(), at(200))
        assert condition_text(change.workload, "QuotaReserved")[2] == "Admission is gated by: example.com/b"
        assert change.events == ()

    @pytest.mark.parametrize(("gates", "reason"), [(DEFAULT_GATES, "PendingEvaluation"), (LEGACY, "Pending")])
    def test_an_event_is_recorded_when_they_are_gone(self, gates: Any, reason: str) -> None:
        """API-128, API-83"""
        before = update_pending_reason(gated(waiting()), facts(gates=gates), NOW).workload
        change = update_pending_reason(annotated(before, annotations={}), facts(gates=gates), at(200))
        assert judged(change.workload, "QuotaReserved") == ("False", reason)
        assert change.events == (WorkloadEvent("Normal", "AdmissionGateCleared", "Admission is no longer gated"),)

    def test_are_not_mixed_up_with_preemption_gates(self) -> None:
        """SCH-335"""
        blocked = waiting("AdmissionGated", "Workload requires preemption, but it's gated")
        assert update_pending_reason(blocked, facts(), NOW).events == ()

    def test_do_nothing_with_the_feature_off(self) -> None:
        """SCH-201"""
        off = facts(gates=without(Gate.AdmissionGatedBy))
        assert pending_cause(gated(waiting("Suspended")), off) == PENDING


class TestOldReasons:
    @pytest.mark.parametrize(
        ("wl", "around", "expected"),
        [
            (waiting(), facts(local=None, gates=LEGACY), ("Inadmissible", NO_LOCAL[1])),
            (waiting(), facts(local=STOPPED_LOCAL, gates=LEGACY), ("Inadmissible", LOCAL_STOPPED[1])),
            (waiting(), facts(queue=None, gates=LEGACY), ("Inadmissible", NO_CLUSTER[1])),
            (waiting(), facts(queue=IDLE_CLUSTER, gates=LEGACY), ("Inadmissible", CLUSTER_INACTIVE[1])),
            (waiting(), facts(claims_problem="no", gates=LEGACY), ("Inadmissible", "no")),
            (gated(waiting()), facts(gates=LEGACY), GATED),
            (waiting(active=False), facts(local=None, gates=LEGACY), None),
            (waiting("Pending"), facts(namespace_problem="no", gates=LEGACY), None),
            (waiting("Pending"), facts(bypass_reason="NoMatchingFlavor", gates=LEGACY), None),
            (waiting("Inadmissible"), facts(gates=LEGACY), None),
        ],
    )
    def test_only_queues_and_gates_are_reported(
        self, wl: Workload, around: ReconcileContext, expected: tuple[str, str] | None
    ) -> None:
        """API-130, API-83, API-124"""
        assert pending_cause(wl, around) == expected


def test_what_holds_quota_is_not_explained() -> None:
    """API-130"""
    running = admitted()
    assert update_pending_reason(running, facts(local=None), NOW).workload is running


def test_an_unnamed_queue_is_missing() -> None:
    """API-130"""
    nameless = update_pending_reason(workload(queue_name=None), facts(local=None), NOW).workload
    assert judged(nameless, "QuotaReserved") == ("False", "Misconfigured")
    assert not has(nameless, "Evicted")
