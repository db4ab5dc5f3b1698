from dataclasses import replace
from datetime import timedelta

import pytest

from engine.lifecycle.sample_workloads import (
    READINESS,
    admitted,
    at,
    condition_text,
    found,
    has,
    judged,
    reserved,
    with_spec,
    with_status,
    workload,
)
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import RequeueState
from kohort.api.meta import OwnerReference
from kohort.engine.lifecycle.eviction import EvictionCause, evict, release
from kohort.engine.lifecycle.finishing import finish
from kohort.engine.lifecycle.pods_ready import backoff, evict_on_timeout, readiness_deadline, report_readiness

NOT_STARTED = ("False", "WaitForStart", "Not all pods are ready or succeeded")
STARTED = ("True", "Started", "All pods reached readiness and the workload is running")
LOST = ("False", "WaitForRecovery", "At least one pod has failed, waiting for recovery")
RECOVERED = ("True", "Recovered", "All pods reached readiness and the workload is running")


def lost(second: float) -> Workload:
    """A Workload admitted at 0 and ready at 10 that lost a pod at that second."""
    return report_readiness(report_readiness(admitted(), ready=True, now=at(10)), ready=False, now=at(second))


class TestTheCondition:
    def test_follows_the_pods_from_start_to_end(self) -> None:
        """SCH-1031, JOB-56"""
        wl = report_readiness(workload(), ready=False, now=at(0))
        assert condition_text(wl, "PodsReady") == NOT_STARTED
        wl = reserved(wl, 5)
        for second, ready, expected in (
            (6, False, NOT_STARTED),
            (7, True, STARTED),
            (8, True, STARTED),
            (9, False, LOST),
            (10, False, LOST),
            (11, True, RECOVERED),
            (12, True, RECOVERED),
            (13, False, LOST),
        ):
            wl = report_readiness(wl, ready=ready, now=at(second))
            assert condition_text(wl, "PodsReady") == expected
        gone = release(evict(wl, EvictionCause("Preempted", ""), at(14)).workload, DEFAULT_GATES, at(15))
        assert condition_text(report_readiness(gone, ready=True, now=at(16)), "PodsReady") == NOT_STARTED

    def test_an_unchanged_result_is_not_written_again_even_for_a_new_generation(self) -> None:
        """JOB-22"""
        ready = with_spec(report_readiness(admitted(), ready=True, now=at(5)), priority=1)
        assert report_readiness(ready, ready=True, now=at(50)) is ready

    def test_a_finished_workload_is_left_alone(self) -> None:
        """API-89"""
        done = finish(admitted(), "Succeeded", "", at(5))
        assert report_readiness(done, ready=True, now=at(6)) is done


class TestTheDeadline:
    def test_counts_from_admission_until_the_pods_are_ready(self) -> None:
        """SCH-1032, API-132"""
        assert readiness_deadline(admitted(20), READINESS) == (at(320), "WaitForStart")
        waiting = report_readiness(admitted(20), ready=False, now=at(30))
        assert readiness_deadline(waiting, READINESS) == (at(320), "WaitForStart")

    def test_counts_from_the_loss_of_a_pod(self) -> None:
        """SCH-1032, API-132"""
        assert readiness_deadline(lost(50), READINESS) == (at(150), "WaitForRecovery")

    def test_a_loss_in_an_earlier_admission_does_not_count(self) -> None:
        """SCH-1032"""
        old = release(evict(lost(50), EvictionCause("Preempted", ""), at(60)).workload, DEFAULT_GATES, at(61))
        assert readiness_deadline(reserved(old, 1000), READINESS) == (at(1100), "WaitForRecovery")

    def test_there_is_none_without_a_recovery_timeout(self) -> None:
        """SCH-1030"""
        endless = replace(READINESS, recovery_timeout=timedelta(0))
        assert readiness_deadline(lost(50), endless) is None

    @pytest.mark.parametrize(
        "wl",
        [
            workload(),
            reserved(workload(), checks=("c",)),
            report_readiness(admitted(), ready=True, now=at(5)),
            evict(admitted(), EvictionCause("Preempted", ""), at(5)).workload,
            with_spec(admitted(), active=False),
            finish(admitted(), "Succeeded", "", at(5)),
            admitted(0, OwnerReference(api_version="kueue.x-k8s.io/v1beta2", kind="Workload", name="p", uid="u")),
        ],
        ids=["waiting", "only reserved", "ready", "evicted", "inactive", "finished", "variant"],
    )
    def test_there_is_none_where_waiting_for_pods_ready_is_off(self, wl: Workload) -> None:
        """SCH-1032"""
        assert readiness_deadline(wl, READINESS) is None
        assert evict_on_timeout(wl, READINESS, 0.0, at(9999)).workload is wl

    def test_there_is_none_without_the_policy(self) -> None:
        """SCH-1030"""
        assert readiness_deadline(admitted(), None) is None
        assert evict_on_timeout(admitted(), None, 0.0, at(9999)).events == ()


class TestTheTimeout:
    def test_evicts_counts_and_delays(self) -> None:
        """SCH-1033"""
        change = evict_on_timeout(admitted(), READINESS, 0.0, at(300))
        message = "Exceeded the PodsReady timeout ns/w"
        assert condition_text(change.workload, "Evicted") == ("True", "PodsReadyTimeout", message)
        assert change.workload.status.requeue_state == RequeueState(count=1, requeue_at=at(360))
        assert [event.reason for event in change.events] == ["EvictedDueToPodsReadyTimeout"]

    @pytest.mark.parametrize(
        ("wl", "second", "cause"), [(admitted(), 300, "WaitForStart"), (lost(50), 150, "WaitForRecovery")]
    )
    def test_counts_what_it_waited_for(self, wl: Workload, second: int, cause: str) -> None:
        """SCH-1002, API-94"""
        stats = evict_on_timeout(wl, READINESS, 0.0, at(second)).workload.status.scheduling_stats
        assert stats is not None
        (count,) = stats.evictions
        assert (count.reason, count.underlying_cause, count.count) == ("PodsReadyTimeout", cause, 1)

    def test_comes_not_a_moment_early(self) -> None:
        """SCH-1032"""
        wl = admitted()
        assert evict_on_timeout(wl, READINESS, 0.0, at(299.9)).workload is wl

    def test_a_later_return_that_is_set_already_stays(self) -> None:
        """SCH-1033"""
        late = with_status(admitted(), requeue_state=RequeueState(requeue_at=at(9000)))
        state = evict_on_timeout(late, READINESS, 0.0, at(300)).workload.status.requeue_state
        assert state == RequeueState(count=1, requeue_at=at(9000))

    def test_beyond_the_limit_the_workload_is_given_up(self) -> None:
        """SCH-1033"""
        policy = replace(READINESS, backoff_limit_count=2)
        tried = with_status(admitted(), requeue_state=RequeueState(count=2))
        change = evict_on_timeout(tried, policy, 0.0, at(300))
        message = "exceeding the maximum number of re-queuing retries"
        assert condition_text(change.workload, "DeactivationTarget") == ("True", "RequeuingLimitExceeded", message)
        assert not has(change.workload, "Evicted")
        assert change.events == ()

    def test_a_limit_of_zero_deactivates_at_once(self) -> None:
        """SCH-1033"""
        policy = replace(READINESS, backoff_limit_count=0)
        after = evict_on_timeout(admitted(), policy, 0.0, at(300)).workload
        assert judged(after, "DeactivationTarget") == ("True", "RequeuingLimitExceeded")

    def test_the_return_is_written_in_whole_seconds(self) -> None:
        after = evict_on_timeout(admitted(), READINESS, 0.9, at(300.5)).workload
        assert after.status.requeue_state == RequeueState(count=1, requeue_at=at(360))
        assert found(after, "Evicted").last_transition_time == at(300)


class TestTheBackoff:
    @staticmethod
    def seconds(count: int, base: int = 60, most: int = 3600, jitter: float = 0.0) -> float:
        policy = replace(READINESS, backoff_base_seconds=base, backoff_max_seconds=most)
        return backoff(count, policy, jitter).total_seconds()

    def test_doubles_up_to_the_maximum(self) -> None:
        """SCH-1034, docs/spec/scheduling.md G34"""
        assert [self.seconds(n) for n in range(1, 9)] == [60, 120, 240, 480, 960, 1920, 3600, 3600]

    def test_the_first_pause_is_never_capped(self) -> None:
        """SCH-1034"""
        assert [self.seconds(n, base=100, most=50) for n in (1, 2, 3)] == [100, 50, 50]

    def test_spreads_by_at_most_a_ten_thousandth(self) -> None:
        """SCH-1034"""
        assert self.seconds(7, jitter=0.5) == pytest.approx(3600 * 1.00005)

    def test_a_huge_count_is_no_trouble(self) -> None:
        assert self.seconds(2**31 - 1, base=1) == 3600
        assert self.seconds(2**31 - 1, base=0) == 0
