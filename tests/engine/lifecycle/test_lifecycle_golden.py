"""Golden scenarios G32 to G36 of docs/spec/scheduling.md; the job's side is played by calling `release`."""

from datetime import timedelta

from engine.lifecycle.sample_workloads import (
    ADMITTING,
    admitted,
    at,
    check,
    checked,
    condition_text,
    events_of,
    facts,
    found,
    has,
    judged,
    reserved,
    rule,
    watched,
    with_spec,
    with_status,
    workload,
)
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import AdmissionCheckState, RequeueState
from kohort.engine.lifecycle.checks import required_checks
from kohort.engine.lifecycle.eviction import EvictionCause, evict, release
from kohort.engine.lifecycle.reconcile_context import ClusterQueueContext, ReadinessPolicy, ReconcileContext
from kohort.engine.lifecycle.reconciliation import reconcile
from kohort.engine.lifecycle.stopping import apply_stop_policies


def after(wl: Workload, around: ReconcileContext, second: float) -> Workload:
    return reconcile(wl, around, at(second)).workload


def stopped_job(wl: Workload, second: float) -> Workload:
    return release(wl, DEFAULT_GATES, at(second))


class TestG32PerFlavorChecks:
    """SCH-904, SCH-906"""

    RULE = rule("C", "spot")
    FLAVORS = ("spot", "od")
    AROUND = checked(RULE, flavors=FLAVORS)

    def reserve_in(self, flavor: str) -> Workload:
        needed = required_checks((self.RULE,), self.FLAVORS, reserved(workload(), flavor=flavor).status.admission)
        return reserved(workload(), 10, flavor=flavor, checks=tuple(needed))

    def test_before_the_reservation_no_check_is_listed(self) -> None:
        assert after(workload(), self.AROUND, 1).status.admission_checks == ()

    def test_on_od_the_reservation_admits(self) -> None:
        wl = self.reserve_in("od")
        assert judged(wl, "Admitted") == ("True", "Admitted")
        assert after(wl, self.AROUND, 11) is wl

    def test_on_spot_the_check_decides(self) -> None:
        wl = self.reserve_in("spot")
        assert judged(wl, "QuotaReserved") == ("True", "QuotaReserved")
        assert not has(wl, "Admitted")
        wl = after(wl, self.AROUND, 11)
        assert wl.status.admission_checks == (check("C", second=11),)
        assert judged(wl, "Admitted") == ("False", "UnsatisfiedAdmissionChecks")
        outcome = reconcile(with_status(wl, admission_checks=(check("C", "Ready", 30),)), self.AROUND, at(30))
        assert judged(outcome.workload, "Admitted") == ("True", "Admitted")
        assert [event.note for event in events_of(outcome)] == [
            "Admitted by ClusterQueue q, wait time since reservation was 20s"
        ]


class TestG33RetryOfACheck:
    """SCH-910, SCH-911, SCH-912"""

    AROUND = checked(rule("C"))

    def answered(self, answer: AdmissionCheckState) -> Workload:
        waiting = after(reserved(workload(), checks=("C",)), self.AROUND, 1)
        return with_status(waiting, admission_checks=(answer,))

    def test_without_a_delay_it_returns_at_once(self) -> None:
        wl = after(self.answered(check("C", "Retry", 100)), self.AROUND, 100)
        assert judged(wl, "Evicted") == ("True", "AdmissionCheck")
        assert judged(wl, "Admitted") == ("False", "UnsatisfiedAdmissionChecks")
        (state,) = wl.status.admission_checks
        assert (state.state, state.retry_count) == ("Pending", 1)
        wl = stopped_job(wl, 105)
        assert judged(wl, "Requeued") == ("False", "AdmissionCheck")
        assert judged(after(wl, self.AROUND, 105), "Requeued") == ("True", "BackoffFinished")

    def test_with_a_delay_the_quota_is_free_at_once_and_the_return_comes_later(self) -> None:
        retry = self.answered(check("C", "Retry", 100, requeue_after_seconds=120))
        outcome = reconcile(retry, self.AROUND, at(100))
        wl = outcome.workload
        assert judged(wl, "Evicted") == ("True", "AdmissionCheck")
        assert found(wl, "Evicted").last_transition_time == at(100)
        assert wl.status.requeue_state == RequeueState(requeue_at=at(220))
        assert len(outcome.writes) == 1
        wl = after(stopped_job(wl, 105), self.AROUND, 105)
        assert wl.status.admission is None
        assert judged(wl, "Requeued") == ("False", "AdmissionCheck")
        assert reconcile(wl, self.AROUND, at(219)).wake_at == at(220)
        wl = after(wl, self.AROUND, 220)
        assert wl.status.requeue_state is None
        assert judged(wl, "Requeued") == ("True", "BackoffFinished")

    def test_a_rejection_deactivates(self) -> None:
        wl = after(self.answered(check("C", "Rejected", 100, "no")), self.AROUND, 100)
        message = 'The workload is deactivated due to AdmissionCheck in Rejected state: "C" (no)'
        assert condition_text(wl, "Evicted") == ("True", "DeactivatedDueToAdmissionCheck", message)
        assert not wl.spec.active
        (state,) = wl.status.admission_checks
        assert (state.state, state.retry_count) == ("Pending", None)


class TestG34PodsReadyLimit:
    """SCH-1033, SCH-1034"""

    @staticmethod
    def policy(limit: int | None) -> ReadinessPolicy:
        return ReadinessPolicy(timedelta(seconds=300), timedelta(seconds=300), 60, 3600, limit)

    @staticmethod
    def time_out_once(wl: Workload, around: ReconcileContext, start: float) -> tuple[Workload, float]:
        """Admit the Workload with pods that are not ready; returns how long it then has to wait."""
        late = after(reserved(wl, start), around, start + 300)
        state = late.status.requeue_state
        if state is None or state.requeue_at is None:
            return late, 0
        wait = (state.requeue_at - at(start + 300)).total_seconds()
        waiting = after(stopped_job(late, start + 300), around, start + 300)
        assert judged(waiting, "Requeued") == ("False", "PodsReadyTimeout")
        back = after(waiting, around, start + 300 + wait)
        assert judged(back, "Requeued") == ("True", "BackoffFinished")
        return back, wait

    def test_two_returns_and_then_the_end(self) -> None:
        around = watched(self.policy(2))
        wl, first = self.time_out_once(workload(), around, 0)
        assert wl.status.requeue_state == RequeueState(count=1)
        wl, second = self.time_out_once(wl, around, 1000)
        assert (first, second) == (60, 120)
        wl, _ = self.time_out_once(wl, around, 2000)
        assert not wl.spec.active
        assert judged(wl, "Evicted") == ("True", "DeactivatedDueToRequeuingLimitExceeded")
        assert wl.status.requeue_state is None

    def test_without_a_limit_the_pauses_grow_to_the_maximum(self) -> None:
        around, wl, waits = watched(self.policy(None)), workload(), []
        for turn in range(8):
            wl, wait = self.time_out_once(wl, around, 10_000 * turn)
            waits.append(wait)
        assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]


def test_g35_execution_budget() -> None:
    """SCH-903, SCH-1041"""
    wl = admitted(0, maximum_execution_time_seconds=100)
    wl = stopped_job(evict(wl, EvictionCause("Preempted", ""), at(60)).workload, 60)
    assert wl.status.accumulated_past_execution_time_seconds == 60
    wl = reserved(wl, 200)
    outcome = reconcile(wl, facts(), at(239))
    assert outcome.workload.spec.active
    assert outcome.wake_at == at(240)
    wl = after(outcome.workload, facts(), 240)
    assert not wl.spec.active
    assert judged(wl, "Evicted") == ("True", "DeactivatedDueToMaximumExecutionTimeExceeded")
    assert wl.status.accumulated_past_execution_time_seconds is None


class TestG36StopPolicies:
    """SCH-1050, SCH-363, SCH-1005"""

    RUNNING = admitted()
    CHECKED = with_status(reserved(workload(), checks=("C",)), admission_checks=(check("C"),))
    WAITING = workload()
    HOLD = facts(queue=ClusterQueueContext("Hold", flavors=("od",), checks=(rule("C"),)))
    DRAIN = facts(queue=ClusterQueueContext("HoldAndDrain", flavors=("od",), checks=(rule("C"),)))
    INACTIVE = ("False", "Suspended", "ClusterQueue q is inactive")

    def test_hold_keeps_running_workloads(self) -> None:
        assert after(self.RUNNING, facts(queue=ClusterQueueContext("Hold")), 10) is self.RUNNING

    def test_hold_takes_back_what_only_holds_quota(self) -> None:
        first = apply_stop_policies(self.CHECKED, self.HOLD, at(10)).workload
        assert condition_text(first, "QuotaReserved") == ("False", "Suspended", "ClusterQueue q is stopped")
        settled = after(self.CHECKED, self.HOLD, 10)
        assert condition_text(settled, "QuotaReserved") == self.INACTIVE
        assert not has(settled, "Evicted")

    def test_hold_suspends_what_waits(self) -> None:
        assert condition_text(after(self.WAITING, self.HOLD, 10), "QuotaReserved") == self.INACTIVE

    def test_draining_evicts_what_runs_until_the_queue_is_started_again(self) -> None:
        wl = after(self.RUNNING, self.DRAIN, 10)
        assert condition_text(wl, "Evicted") == ("True", "ClusterQueueStopped", "The ClusterQueue is stopped")
        wl = stopped_job(wl, 20)
        assert judged(wl, "Requeued") == ("False", "ClusterQueueStopped")
        wl = after(wl, facts(queue=ADMITTING), 30)
        assert judged(wl, "Requeued") == ("True", "ClusterQueueRestarted")
        assert condition_text(wl, "QuotaReserved") == ("False", "PendingEvaluation", "The ClusterQueue is stopped")

    def test_draining_is_like_hold_for_the_others(self) -> None:
        assert condition_text(after(self.CHECKED, self.DRAIN, 10), "QuotaReserved") == self.INACTIVE
        assert condition_text(after(self.WAITING, self.DRAIN, 10), "QuotaReserved") == self.INACTIVE

    def test_the_others_are_queued_again_when_the_queue_is_started(self) -> None:
        for start in (self.CHECKED, self.WAITING):
            back = after(after(start, self.HOLD, 10), facts(), 30)
            assert judged(back, "QuotaReserved") == ("False", "PendingEvaluation")


def test_a_change_made_by_a_user_is_seen() -> None:
    """SCH-1040, SCH-1005"""
    off = stopped_job(after(with_spec(admitted(), active=False), facts(), 10), 20)
    assert judged(after(off, facts(), 20), "QuotaReserved") == ("False", "Deactivated")
    on = after(with_spec(off, active=True), facts(), 30)
    assert condition_text(on, "Requeued") == ("True", "Reactivated", "The workload was reactivated")
