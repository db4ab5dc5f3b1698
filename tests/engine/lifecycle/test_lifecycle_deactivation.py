import pytest

from engine.lifecycle.sample_workloads import (
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
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import RequeueState
from kohort.engine.lifecycle.deactivation import (
    deactivate,
    evict_inactive,
    target_deactivation,
)
from kohort.engine.lifecycle.events import WorkloadEvent
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.engine.lifecycle.execution_time import execution_deadline, limit_execution
from kohort.engine.lifecycle.finishing import finish

NOW = at(100)


def targeted(wl: Workload) -> Workload:
    return target_deactivation(wl, "RequeuingLimitExceeded", "exceeding the limit", NOW)


class TestDeactivationTarget:
    def test_deactivates_the_workload_and_counts_as_a_change_of_its_spec(self) -> None:
        """SCH-1040, API-4"""
        off = deactivate(targeted(admitted()))
        assert off.spec.active is False
        assert off.metadata.generation == 2

    def test_without_it_nothing_is_turned_off(self) -> None:
        """SCH-1040"""
        running = admitted()
        assert deactivate(running) is running

    def test_a_first_deactivation_target_is_kept(self) -> None:
        first = targeted(admitted())
        assert target_deactivation(first, "AdmissionCheck", "other", at(200)) is first

    def test_what_is_off_or_finished_needs_none(self) -> None:
        off = with_spec(admitted(), active=False)
        assert targeted(off) is off
        done = finish(admitted(), "Succeeded", "", NOW)
        assert targeted(done) is done


class TestEvictingTheInactive:
    def test_names_the_cause_and_drops_intent_and_returns(self) -> None:
        """SCH-1040, API-126"""
        tried = with_status(targeted(admitted()), requeue_state=RequeueState(count=2))
        change = evict_inactive(deactivate(tried), at(110))
        message = "The workload is deactivated due to exceeding the limit"
        assert condition_text(change.workload, "Evicted") == ("True", "DeactivatedDueToRequeuingLimitExceeded", message)
        assert found(change.workload, "Evicted").observed_generation == 2
        assert not has(change.workload, "DeactivationTarget")
        assert change.workload.status.requeue_state is None
        reason = "EvictedDueToDeactivatedDueToRequeuingLimitExceeded"
        assert change.events == (WorkloadEvent("Normal", reason, message),)

    def test_a_user_s_decision_has_no_cause(self) -> None:
        """SCH-1040"""
        after = evict_inactive(with_spec(admitted(), active=False), NOW).workload
        assert condition_text(after, "Evicted") == ("True", "Deactivated", "The workload is deactivated")

    def test_what_waits_is_evicted_without_an_event(self) -> None:
        """API-126, API-105"""
        change = evict_inactive(workload(active=False), NOW)
        assert judged(change.workload, "Evicted") == ("True", "Deactivated")
        assert change.events == ()

    def test_an_ongoing_eviction_stays_and_target_and_requeue_state_are_removed(self) -> None:
        """docs/spec/api.md section 9.9"""
        leaving = evict(targeted(admitted()), EvictionCause("PodsReadyTimeout", "late"), NOW).workload
        off = with_status(deactivate(leaving), requeue_state=RequeueState(count=1, requeue_at=at(999)))
        after = evict_inactive(off, at(110)).workload
        assert judged(after, "Evicted") == ("True", "PodsReadyTimeout")
        assert not has(after, "DeactivationTarget")
        assert after.status.requeue_state is None
        assert evict_inactive(after, at(120)).workload is after

    def test_an_active_workload_is_left_alone(self) -> None:
        running = admitted()
        assert evict_inactive(running, NOW).workload is running


class TestExecutionTime:
    def test_is_counted_over_all_admissions(self) -> None:
        """SCH-1041, API-133"""
        second = with_status(
            admitted(200, maximum_execution_time_seconds=100), accumulated_past_execution_time_seconds=60
        )
        assert execution_deadline(second) == at(240)

    def test_when_used_up_the_workload_is_given_up_and_the_clock_set_back(self) -> None:
        """SCH-1041"""
        used = with_status(admitted(maximum_execution_time_seconds=100), accumulated_past_execution_time_seconds=60)
        change = limit_execution(used, at(40))
        message = "exceeding the maximum execution time"
        assert condition_text(change.workload, "DeactivationTarget") == (
            "True",
            "MaximumExecutionTimeExceeded",
            message,
        )
        assert change.workload.status.accumulated_past_execution_time_seconds is None
        assert change.events == (
            WorkloadEvent("Warning", "MaximumExecutionTimeExceeded", "The maximum execution time (100s) exceeded"),
        )

    def test_not_a_moment_early(self) -> None:
        """SCH-1041"""
        wl = admitted(maximum_execution_time_seconds=100)
        assert limit_execution(wl, at(99.9)).workload is wl

    @pytest.mark.parametrize(
        "wl",
        [
            workload(maximum_execution_time_seconds=1),
            reserved(workload(maximum_execution_time_seconds=1), checks=("c",)),
            admitted(),
            with_spec(admitted(maximum_execution_time_seconds=1), active=False),
            evict(admitted(maximum_execution_time_seconds=1), EvictionCause("Preempted", ""), at(0)).workload,
            targeted(admitted(maximum_execution_time_seconds=1)),
            finish(admitted(maximum_execution_time_seconds=1), "Succeeded", "", at(0)),
        ],
        ids=["waiting", "only reserved", "no limit", "inactive", "evicted", "given up", "finished"],
    )
    def test_the_clock_is_stopped_for_workloads_that_do_not_run_or_are_evicted(self, wl: Workload) -> None:
        """SCH-1041, docs/spec/api.md section 9.9"""
        assert execution_deadline(wl) is None
        assert limit_execution(wl, at(9999)).workload is wl
