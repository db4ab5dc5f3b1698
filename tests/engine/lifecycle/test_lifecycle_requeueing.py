import pytest

from engine.lifecycle.sample_workloads import (
    ADMITTING,
    OPEN,
    admitted,
    at,
    condition_text,
    facts,
    judged,
    with_spec,
    with_status,
    workload,
)
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import RequeueState
from kohort.engine.lifecycle.conditions import condition_false, with_condition_set
from kohort.engine.lifecycle.eviction import EvictionCause, evict, release
from kohort.engine.lifecycle.reconcile_context import ClusterQueueContext, LocalQueueContext, ReconcileContext
from kohort.engine.lifecycle.reconciliation import reconcile
from kohort.engine.lifecycle.requeueing import block_uncountable_claims, delay_return, end_backoff, requeue_when_allowed

NOW = at(100)


def kept_out(reason: str, cause: str = "") -> Workload:
    """A Workload that was evicted for that reason and gave its quota back."""
    return release(evict(admitted(), EvictionCause(reason, "why", cause), at(10)).workload, DEFAULT_GATES, at(20))


class TestReturning:
    @pytest.mark.parametrize(
        ("wl", "expected"),
        [
            (kept_out("PodsReadyTimeout"), ("True", "BackoffFinished", "The workload backoff was finished")),
            (kept_out("AdmissionCheck"), ("True", "BackoffFinished", "The workload backoff was finished")),
            (kept_out("Deactivated"), ("True", "Reactivated", "The workload was reactivated")),
            (
                kept_out("ClusterQueueStopped"),
                ("True", "ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped"),
            ),
            (
                kept_out("LocalQueueStopped"),
                ("True", "LocalQueueRestarted", "The LocalQueue was restarted after being stopped"),
            ),
        ],
    )
    def test_when_what_kept_it_out_is_over(self, wl: Workload, expected: tuple[str, str, str]) -> None:
        """SCH-1005, API-125, API-127"""
        assert condition_text(requeue_when_allowed(wl, facts(), NOW), "Requeued") == expected

    def test_also_after_a_deactivation_that_kohort_decided(self) -> None:
        """docs/spec/api.md section 9.9"""
        wl = kept_out("Deactivated", "AdmissionCheck")
        assert judged(wl, "Requeued") == ("False", "DeactivatedDueToAdmissionCheck")
        assert judged(requeue_when_allowed(wl, facts(), NOW), "Requeued") == ("True", "Reactivated")

    @pytest.mark.parametrize(
        ("wl", "around"),
        [
            (with_spec(kept_out("Deactivated"), active=False), facts()),
            (delay_return(kept_out("AdmissionCheck"), at(500)), facts()),
            (kept_out("ClusterQueueStopped"), facts(queue=ClusterQueueContext(stop_policy="Hold"))),
            (kept_out("ClusterQueueStopped"), facts(queue=None)),
            (kept_out("LocalQueueStopped"), facts(local=LocalQueueContext("q", stop_policy="Hold"))),
            (kept_out("LocalQueueStopped"), facts(local=None)),
            (kept_out("FlavorMigration"), facts()),
            (kept_out("Preempted"), facts()),
            (workload(), facts()),
        ],
        ids=[
            "still inactive",
            "backoff runs",
            "ClusterQueue stopped",
            "ClusterQueue gone",
            "LocalQueue stopped",
            "LocalQueue gone",
            "not ours to end",
            "never kept out",
            "never evicted",
        ],
    )
    def test_not_before(self, wl: Workload, around: ReconcileContext) -> None:
        """SCH-1005"""
        assert requeue_when_allowed(wl, around, NOW) is wl

    def test_an_inactive_but_open_queue_counts_as_restarted(self) -> None:
        """API-127"""
        idle = facts(queue=ClusterQueueContext(is_active=False))
        assert judged(requeue_when_allowed(kept_out("ClusterQueueStopped"), idle, NOW), "Requeued") == (
            "True",
            "ClusterQueueRestarted",
        )


class TestRequeueTime:
    def test_is_cleared_after_the_requeue(self) -> None:
        """API-125"""
        wl = with_status(workload(), requeue_state=RequeueState(count=2, requeue_at=NOW))
        assert end_backoff(wl, NOW).status.requeue_state == RequeueState(count=2)

    def test_leaves_nothing_behind_where_nothing_was_counted(self) -> None:
        wl = with_status(workload(), requeue_state=RequeueState(requeue_at=NOW))
        assert end_backoff(wl, NOW).status.requeue_state is None

    def test_stays_until_then_and_while_quota_is_held(self) -> None:
        """API-125"""
        early = with_status(workload(), requeue_state=RequeueState(requeue_at=at(101)))
        assert end_backoff(early, NOW) is early
        holding = with_status(admitted(), requeue_state=RequeueState(requeue_at=NOW))
        assert end_backoff(holding, NOW) is holding

    @pytest.mark.parametrize("reason", ["PodsReadyTimeout", "AdmissionCheck"])
    def test_is_cleared_though_quota_is_held_where_the_backoff_keeps_the_workload_out(self, reason: str) -> None:
        """API-125: an evicted workload whose quota is not released yet."""
        leaving = evict(admitted(), EvictionCause(reason, "why"), at(10)).workload
        leaving = with_condition_set(leaving, "Requeued", condition_false(reason, "why"), at(20))
        leaving = with_status(leaving, requeue_state=RequeueState(count=1, requeue_at=NOW))
        assert end_backoff(leaving, at(99)) is leaving
        after = reconcile(leaving, facts(), NOW).workload
        assert after.status.requeue_state == RequeueState(count=1)
        assert judged(after, "Requeued") == ("True", "BackoffFinished")
        assert after.status.admission is not None

    def test_only_moves_later(self) -> None:
        """SCH-910"""
        wl = delay_return(workload(), at(50.7))
        assert wl.status.requeue_state == RequeueState(requeue_at=at(50))
        assert delay_return(wl, at(40)) is wl
        assert delay_return(wl, at(60)).status.requeue_state == RequeueState(requeue_at=at(60))


class TestClaimsThatCanNotBeCounted:
    PROBLEM = facts(claims_problem="no such device class")

    def test_keep_a_waiting_workload_out_until_they_can(self) -> None:
        """API-124"""
        out = block_uncountable_claims(workload(), self.PROBLEM, NOW)
        assert condition_text(out, "Requeued") == ("False", "Inadmissible", "no such device class")
        assert requeue_when_allowed(out, self.PROBLEM, NOW) is out
        assert judged(requeue_when_allowed(out, facts(), NOW), "Requeued") == ("True", "BackoffFinished")

    def test_do_not_touch_what_holds_quota_or_is_off(self) -> None:
        """API-124"""
        running = admitted()
        assert block_uncountable_claims(running, self.PROBLEM, NOW) is running
        off = workload(active=False)
        assert block_uncountable_claims(off, self.PROBLEM, NOW) is off


def test_the_queues_of_the_builders_are_open() -> None:
    assert ADMITTING.admits
    assert not OPEN.is_stopped
