import pytest

from engine.lifecycle.sample_workloads import (
    LEGACY,
    READINESS,
    admitted,
    annotated,
    at,
    check,
    checked,
    condition_text,
    events_of,
    facts,
    has,
    having,
    judged,
    reserved,
    rule,
    watched,
    with_spec,
    with_status,
    workload,
)
from kohort.api.gates import DEFAULT_GATES, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import PreemptionGate, ReclaimablePod, RequeueState
from kohort.engine.lifecycle.eviction import EvictionCause, evict, release
from kohort.engine.lifecycle.finishing import finish
from kohort.engine.lifecycle.reconcile_context import (
    ClusterQueueContext,
    LifecyclePolicies,
    LocalQueueContext,
    ReconcileContext,
)
from kohort.engine.lifecycle.reconciliation import reconcile
from kohort.engine.lifecycle.writes import WriteTarget

NOW = at(100)
STOPPED = ClusterQueueContext(stop_policy="Hold")


def parts(wl: Workload, around: ReconcileContext) -> list[WriteTarget]:
    return [write.part for write in reconcile(wl, around, NOW).writes]


class TestWrites:
    def test_there_are_none_where_nothing_is_to_be_done(self) -> None:
        for wl in (workload(), admitted()):
            outcome = reconcile(wl, facts(), NOW)
            assert outcome.workload is wl
            assert outcome.writes == ()

    def test_changes_of_the_status_go_together(self) -> None:
        wl = reserved(workload(), checks=("c",))
        assert parts(wl, checked(rule("c"))) == [WriteTarget.STATUS]

    def test_a_rejected_check_takes_intent_spec_and_eviction_in_this_order(self) -> None:
        """SCH-911, SCH-1040, docs/spec/scheduling.md G33"""
        wl = with_status(reserved(workload(), checks=("c",)), admission_checks=(check("c", "Rejected"),))
        intent, spec, eviction = reconcile(wl, checked(rule("c")), NOW).writes
        assert (intent.part, spec.part, eviction.part) == (WriteTarget.STATUS, WriteTarget.OBJECT, WriteTarget.STATUS)
        assert judged(intent.workload, "DeactivationTarget") == ("True", "AdmissionCheck")
        assert intent.workload.spec.active
        assert not spec.workload.spec.active
        assert not has(spec.workload, "Evicted")
        assert judged(eviction.workload, "Evicted") == ("True", "DeactivatedDueToAdmissionCheck")
        assert [event.reason for event in intent.events] == ["AdmissionCheckRejected"]
        assert [event.reason for event in eviction.events] == ["EvictedDueToDeactivatedDueToAdmissionCheck"]

    @pytest.mark.parametrize("crash_after", [0, 1])
    def test_after_a_crash_between_two_writes_the_rest_is_done(self, crash_after: int) -> None:
        """SCH-1040"""
        wl = with_status(reserved(workload(), checks=("c",)), admission_checks=(check("c", "Rejected"),))
        around = checked(rule("c"))
        outcome = reconcile(wl, around, NOW)
        assert reconcile(outcome.writes[crash_after].workload, around, NOW).workload == outcome.workload


class TestOrder:
    def test_a_rejected_check_of_a_stopped_queue_still_deactivates_what_holds_quota(self) -> None:
        """API-131"""
        wl = with_status(reserved(workload(), checks=("c",)), admission_checks=(check("c", "Rejected"),))
        around = facts(queue=ClusterQueueContext("Hold", flavors=("od",), checks=(rule("c"),)))
        outcome = reconcile(wl, around, NOW)
        assert judged(outcome.workload, "Evicted") == ("True", "DeactivatedDueToAdmissionCheck")
        assert outcome.workload.status.admission is not None

    def test_the_local_queue_is_evaluated_first(self) -> None:
        """SCH-1050"""
        around = facts(local=LocalQueueContext("q", "HoldAndDrain"), queue=ClusterQueueContext("HoldAndDrain"))
        assert judged(reconcile(admitted(), around, NOW).workload, "Evicted") == ("True", "LocalQueueStopped")

    def test_a_reservation_in_a_terminating_queue_ends_as_suspended(self) -> None:
        """SCH-1050, docs/spec/api.md section 4.7 row 14"""
        wl = reserved(workload(), checks=("c",))
        going = ClusterQueueContext(is_terminating=True, flavors=("od",), checks=(rule("c"),))
        outcome = reconcile(wl, facts(queue=going), NOW)
        assert condition_text(outcome.workload, "QuotaReserved") == ("False", "Suspended", "ClusterQueue q is inactive")

    def test_a_reservation_in_a_queue_that_is_gone_ends_as_misconfigured(self) -> None:
        """SCH-1050"""
        wl = reserved(workload(), checks=("c",))
        outcome = reconcile(wl, checked(rule("c"), local=None), NOW)
        assert condition_text(outcome.workload, "QuotaReserved") == (
            "False",
            "Misconfigured",
            "LocalQueue lq doesn't exist",
        )

    def test_checks_of_an_unknown_queue_stay_listed(self) -> None:
        """API-129"""
        wl = with_status(workload(), admission_checks=(check("c", "Ready"),))
        assert reconcile(wl, facts(queue=None), NOW).workload.status.admission_checks == (check("c", "Ready"),)

    def test_gates_are_mirrored_also_on_a_finished_workload(self) -> None:
        """API-121"""
        wl = finish(workload(preemption_gates=(PreemptionGate(name="g"),)), "Succeeded", "", NOW)
        around = facts(gates=having(Gate.MultiKueueOrchestratedPreemption))
        assert [state.name for state in reconcile(wl, around, NOW).workload.status.preemption_gates] == ["g"]

    def test_a_check_that_comes_later_is_listed_and_does_not_stop_what_runs(self) -> None:
        """MK-7, SCH-905"""
        after = reconcile(admitted(), checked(rule("late")), NOW).workload
        assert [state.name for state in after.status.admission_checks] == ["late"]
        assert judged(after, "Admitted") == ("True", "Admitted")

    def test_claims_that_can_not_be_counted_keep_a_workload_out(self) -> None:
        """API-124"""
        after = reconcile(workload(), facts(claims_problem="no such class"), NOW).workload
        assert judged(after, "QuotaReserved") == ("False", "Misconfigured")
        assert judged(after, "Requeued") == ("False", "Inadmissible")
        better = reconcile(after, facts(), at(200)).workload
        assert judged(better, "QuotaReserved") == ("False", "PendingEvaluation")
        assert judged(better, "Requeued") == ("True", "BackoffFinished")

    def test_a_future_return_does_not_put_off_a_deactivation(self) -> None:
        """docs/spec/scheduling.md section 14"""
        wl = with_status(
            reserved(workload(), checks=("c",)),
            admission_checks=(check("c", "Rejected"),),
            requeue_state=RequeueState(requeue_at=at(999)),
        )
        assert not reconcile(wl, checked(rule("c")), NOW).workload.spec.active

    def test_reclaimable_pods_and_the_assignment_are_not_reconciled_here(self) -> None:
        """docs/spec/scheduling.md G41"""
        wl = with_status(admitted(), reclaimable_pods=(ReclaimablePod(name="main", count=1),))
        assert reconcile(wl, watched(), NOW).workload is wl

    def test_old_reasons(self) -> None:
        """API-83"""
        after = reconcile(workload(), facts(queue=STOPPED, gates=LEGACY), NOW).workload
        assert condition_text(after, "QuotaReserved") == ("False", "Inadmissible", "ClusterQueue q is inactive")


class TestReactivation:
    def test_a_workload_deactivated_by_kohort_returns_when_it_is_activated(self) -> None:
        """docs/spec/api.md section 9.9, SCH-1005"""
        wl = with_status(reserved(workload(), checks=("c",)), admission_checks=(check("c", "Rejected"),))
        around = checked(rule("c"))
        off = reconcile(release(reconcile(wl, around, NOW).workload, DEFAULT_GATES, NOW), around, NOW).workload
        assert judged(off, "QuotaReserved") == ("False", "Deactivated")
        assert judged(off, "Requeued") == ("False", "DeactivatedDueToAdmissionCheck")
        on = reconcile(with_spec(off, active=True), around, at(200)).workload
        assert on.spec.active
        assert judged(on, "Requeued") == ("True", "Reactivated")
        assert judged(on, "QuotaReserved") == ("False", "PendingEvaluation")

    def test_the_execution_limit_is_charged_once(self) -> None:
        """docs/spec/api.md section 9.9"""
        wl = admitted(maximum_execution_time_seconds=50)
        off = reconcile(wl, facts(), NOW)
        assert [event.reason for event in events_of(off)].count("MaximumExecutionTimeExceeded") == 1
        assert not has(off.workload, "DeactivationTarget")
        assert reconcile(off.workload, facts(), at(200)).writes == ()
        assert reconcile(with_spec(off.workload, active=True), facts(), at(300)).workload.spec.active


class TestWakeUpTime:
    @pytest.mark.parametrize(
        ("wl", "around", "expected"),
        [
            (workload(), watched(), None),
            (admitted(), watched(), at(300)),
            (admitted(maximum_execution_time_seconds=500), watched(), at(300)),
            (admitted(maximum_execution_time_seconds=250), watched(), at(250)),
            (with_status(workload(), requeue_state=RequeueState(requeue_at=at(150))), facts(), at(150)),
            (evict(admitted(), EvictionCause("Preempted", ""), NOW).workload, watched(), None),
        ],
        ids=["waiting", "pods not ready", "pods first", "execution time first", "backoff", "leaving"],
    )
    def test_has_the_time_of_the_first_deadline(self, wl: Workload, around: ReconcileContext, expected: object) -> None:
        """API-131"""
        assert reconcile(wl, around, NOW).wake_at == expected

    def test_there_is_no_wake_up_before_the_job_has_stopped(self) -> None:
        """API-125"""
        late = evict(admitted(), EvictionCause("PodsReadyTimeout", ""), at(10)).workload
        for moment in (at(50), NOW):
            due = with_status(late, requeue_state=RequeueState(count=1, requeue_at=moment))
            assert reconcile(due, watched(), NOW).wake_at is None

    def test_follows_what_this_very_call_decided(self) -> None:
        """SCH-1033"""
        outcome = reconcile(admitted(), watched(), at(300))
        assert judged(outcome.workload, "Evicted") == ("True", "PodsReadyTimeout")
        assert outcome.wake_at == at(360)
        assert READINESS.backoff_base_seconds == 60


def test_policies_are_off_unless_given() -> None:
    assert ReconcileContext().policies == LifecyclePolicies(None, None)
    assert annotated(workload()) == workload()
