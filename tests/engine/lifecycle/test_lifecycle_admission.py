import pytest

from engine.lifecycle.sample_workloads import (
    EXPLICIT,
    LEGACY,
    admission,
    admitted,
    annotated,
    at,
    check,
    condition_text,
    found,
    has,
    judged,
    reserved,
    with_status,
    workload,
)
from kohort.api.conditions import MAX_MESSAGE_BYTES, MAX_NOTE_BYTES
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue.v1beta2.workload import PodSetRequest, TopologyAssignment
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.admission import (
    NotAdmitted,
    Reservation,
    admit,
    drop_reservation,
    refuse,
    reserve,
    sync_admitted,
)
from kohort.engine.lifecycle.conditions import condition_true, with_condition_set
from kohort.engine.lifecycle.events import WorkloadEvent, normal
from kohort.engine.lifecycle.eviction import EvictionCause, evict, release
from kohort.engine.lifecycle.finishing import finish
from kohort.engine.lifecycle.preemption_gates import block_on_gates

NOW = at(90)
RESERVATION = Reservation(admission(), frozenset())


class TestReserving:
    def test_writes_condition_and_admission_and_clears_the_requests(self) -> None:
        """SCH-901, API-86"""
        waiting = with_status(workload(), resource_requests=(PodSetRequest(name="main", resources={"cpu": "1"}),))
        after = reserve(waiting, RESERVATION, DEFAULT_GATES, NOW).workload
        assert condition_text(after, "QuotaReserved") == ("True", "QuotaReserved", "Quota reserved in ClusterQueue q")
        assert after.status.admission == admission()
        assert after.status.resource_requests == ()

    def test_withdraws_what_an_eviction_left_and_keeps_its_words(self) -> None:
        """SCH-901"""
        evicted = evict(block_on_gates(admitted(), at(5)), EvictionCause("Preempted", "gave way"), at(10)).workload
        evicted = block_on_gates(release(evicted, DEFAULT_GATES, at(20)), at(25))
        after = reserve(evicted, RESERVATION, DEFAULT_GATES, NOW).workload
        assert condition_text(after, "Evicted") == ("False", "QuotaReserved", "Previously: gave way")
        assert condition_text(after, "BlockedOnPreemptionGates") == (
            "False",
            "QuotaReserved",
            "Previously: Workload requires preemption, but it's gated",
        )

    def test_leaves_conditions_alone_that_were_not_true(self) -> None:
        """SCH-901"""
        after = reserved(workload())
        assert not has(after, "Evicted")
        assert not has(after, "Preempted")

    def test_admits_in_the_same_write_where_all_required_checks_are_listed_and_ready(self) -> None:
        """SCH-906, API-85"""
        listed = with_status(workload(), admission_checks=(check("c", "Ready"),))
        after = reserve(listed, Reservation(admission(), frozenset({"c"})), DEFAULT_GATES, NOW).workload
        assert condition_text(after, "Admitted") == ("True", "Admitted", "The workload is admitted")

    def test_a_listed_check_that_is_not_ready_is_named(self) -> None:
        """SCH-906"""
        listed = with_status(workload(), admission_checks=(check("c"),))
        after = reserve(listed, Reservation(admission(), frozenset({"c"})), DEFAULT_GATES, NOW).workload
        assert judged(after, "Admitted") == ("False", "UnsatisfiedAdmissionChecks")

    def test_leaves_admitted_alone_where_a_required_check_is_not_listed(self) -> None:
        """SCH-906"""
        assert not has(reserved(workload(), checks=("c",)), "Admitted")

    def test_events_contain_both_waiting_times(self) -> None:
        """SCH-351, SCH-353, API-105"""
        considered = Reservation(admission(), frozenset(), "main: spot(NoFit)")
        waited = "Quota reserved in ClusterQueue q, wait time since queued was 90s"
        assert reserve(workload(), considered, DEFAULT_GATES, NOW).events == (
            normal("QuotaReserved", f"{waited}; Flavors considered: main: spot(NoFit)"),
            normal("Admitted", "Admitted by ClusterQueue q, wait time since reservation was 0s"),
        )

    def test_counts_the_wait_from_the_last_return_to_the_queue(self) -> None:
        """SCH-353"""
        evicted = evict(admitted(), EvictionCause("Preempted", "gave way"), at(10)).workload
        returned = release(evicted, DEFAULT_GATES, at(30))
        (first, _) = reserve(returned, RESERVATION, DEFAULT_GATES, NOW).events
        assert first.note == "Quota reserved in ClusterQueue q, wait time since queued was 60s"

    def test_a_clock_that_runs_behind_makes_no_negative_wait(self) -> None:
        """SCH-351"""
        (first, _) = reserve(workload(), RESERVATION, DEFAULT_GATES, at(-5)).events
        assert first.note.endswith("was 0s")

    def test_a_second_pass_of_an_admitted_workload_records_no_event(self) -> None:
        """SCH-351"""
        assert reserve(admitted(), RESERVATION, DEFAULT_GATES, NOW).events == ()

    def test_a_second_pass_does_not_stop_a_job_because_of_a_check_that_came_later(self) -> None:
        """MK-7"""
        running = with_status(admitted(), admission_checks=(check("late"),))
        after = reserve(running, Reservation(admission(), frozenset({"late"})), DEFAULT_GATES, NOW).workload
        assert judged(after, "Admitted") == ("True", "Admitted")

    def test_a_finished_workload_gets_nothing(self) -> None:
        """API-89"""
        done = finish(workload(), "Succeeded", "done", NOW)
        assert reserve(done, RESERVATION, DEFAULT_GATES, NOW).workload is done

    def test_times_are_written_in_whole_seconds(self) -> None:
        after = reserve(workload(), RESERVATION, DEFAULT_GATES, at(90.75)).workload
        assert found(after, "QuotaReserved").last_transition_time == at(90)

    def test_conditions_have_the_current_generation(self) -> None:
        """API-7"""
        after = reserved(annotated(workload(), generation=4))
        assert {each.observed_generation for each in after.status.conditions} == {4}


class TestBecomingAdmitted:
    def test_admitted_with_the_last_check_and_the_wait_since_the_reservation_is_recorded(self) -> None:
        """SCH-902, SCH-906"""
        ready = with_status(reserved(workload(), 30, checks=("c",)), admission_checks=(check("c", "Ready"),))
        change = admit(ready, DEFAULT_GATES, NOW)
        assert condition_text(change.workload, "Admitted") == ("True", "Admitted", "The workload is admitted")
        assert change.events == (normal("Admitted", "Admitted by ClusterQueue q, wait time since reservation was 60s"),)

    @pytest.mark.parametrize(
        ("assignment", "expected"),
        [
            (
                {"delayed_topology_request": "Pending"},
                ("False", "PendingDelayedTopologyRequests", "There are pending delayed topology requests"),
            ),
            ({"delayed_topology_request": "Ready"}, ("True", "Admitted", "The workload is admitted")),
            (
                {
                    "delayed_topology_request": "Pending",
                    "topology_assignment": TopologyAssignment(levels=("host",), slices=()),
                },
                ("True", "Admitted", "The workload is admitted"),
            ),
        ],
    )
    def test_waits_for_delayed_topology(self, assignment: dict[str, object], expected: tuple[str, ...]) -> None:
        """SCH-902, API-84"""
        delayed = Reservation(admission(**assignment), frozenset())  # type: ignore[arg-type]
        assert condition_text(reserve(workload(), delayed, DEFAULT_GATES, NOW).workload, "Admitted") == expected

    def test_one_check_that_is_not_ready_holds_all_back(self) -> None:
        """SCH-902"""
        mixed = (check("a", "Ready"), check("b", "Pending"))
        held = with_status(reserved(workload(), checks=("a", "b")), admission_checks=mixed)
        after = admit(held, DEFAULT_GATES, NOW).workload
        assert condition_text(after, "Admitted") == (
            "False",
            "UnsatisfiedAdmissionChecks",
            "The workload has not all checks ready",
        )

    def test_a_fresh_workload_stays_without_conditions(self) -> None:
        """SCH-902, API-88"""
        fresh = workload()
        assert admit(fresh, DEFAULT_GATES, NOW).workload is fresh

    def test_explicit_status_states_that_there_is_no_reservation(self) -> None:
        """API-88"""
        after = admit(workload(), EXPLICIT, NOW).workload
        assert condition_text(after, "Admitted") == ("False", "NoReservation", "The workload has no reservation")

    def test_an_admitted_workload_is_left_alone(self) -> None:
        """MK-7"""
        running = with_status(admitted(), admission_checks=(check("late"),))
        assert admit(running, DEFAULT_GATES, NOW).workload is running

    @pytest.mark.parametrize(
        ("has_quota", "state", "expected"),
        [
            (False, "Ready", "NoReservation"),
            (False, "Pending", "NoReservationUnsatisfiedChecks"),
            (True, "Pending", "UnsatisfiedChecks"),
        ],
    )
    def test_old_reasons(self, has_quota: bool, state: str, expected: str) -> None:
        """SCH-902, API-83"""
        waiting = drop_reservation(workload(), "Pending", "", LEGACY, NOW)
        start = reserved(workload(), checks=("c",)) if has_quota else waiting
        running = with_condition_set(start, "Admitted", condition_true("Admitted", ""), NOW)
        listed = with_status(running, admission_checks=(check("c", state),))
        assert judged(sync_admitted(listed, LEGACY, NOW), "Admitted") == ("False", expected)


class TestLosingTheReservation:
    def test_clears_admission_and_admitted_and_counts_the_time_that_it_ran(self) -> None:
        """API-87, SCH-903"""
        after = drop_reservation(admitted(10), "OnHold", "Job is on hold", DEFAULT_GATES, at(75.9))
        assert condition_text(after, "QuotaReserved") == ("False", "OnHold", "Job is on hold")
        assert condition_text(after, "Admitted") == ("False", "NoReservation", "The workload has no reservation")
        assert after.status.admission is None
        assert after.status.accumulated_past_execution_time_seconds == 65

    def test_times_add_up(self) -> None:
        """SCH-903"""
        twice = with_status(admitted(100), accumulated_past_execution_time_seconds=60)
        after = drop_reservation(twice, "OnHold", "", DEFAULT_GATES, at(140))
        assert after.status.accumulated_past_execution_time_seconds == 100

    def test_time_without_admission_is_not_counted(self) -> None:
        """SCH-903"""
        after = drop_reservation(reserved(workload(), checks=("c",)), "Suspended", "", DEFAULT_GATES, at(50))
        assert after.status.accumulated_past_execution_time_seconds is None


class TestRejection:
    REQUESTS = (PodSetRequest(name="main", resources={"cpu": "1"}),)

    def test_writes_reason_and_requests_and_warns(self) -> None:
        """SCH-360, SCH-136"""
        change = refuse(workload(), NotAdmitted("WaitingForQuota", "1 more needed", self.REQUESTS), DEFAULT_GATES, NOW)
        assert condition_text(change.workload, "QuotaReserved") == ("False", "WaitingForQuota", "1 more needed")
        assert judged(change.workload, "Admitted") == ("False", "NoReservation")
        assert change.workload.status.resource_requests == self.REQUESTS
        assert change.events == (WorkloadEvent("Warning", "WaitingForQuota", "1 more needed"),)
        assert change.events[0].action == "WaitingForQuota"

    @pytest.mark.parametrize(
        ("reason", "expected"),
        [("WaitingForQuota", "Pending"), ("Misconfigured", "Pending"), ("WaitingForPodsReady", "Waiting")],
    )
    def test_old_reasons(self, reason: str, expected: str) -> None:
        """SCH-360, SCH-362, SCH-1035"""
        change = refuse(workload(), NotAdmitted(reason, ""), LEGACY, NOW)
        assert judged(change.workload, "QuotaReserved") == ("False", expected)
        assert change.events[0].reason == expected

    def test_cuts_long_texts(self) -> None:
        """SCH-360, API-8"""
        change = refuse(workload(), NotAdmitted("WaitingForQuota", "x" * 40_000), DEFAULT_GATES, NOW)
        message = found(change.workload, "QuotaReserved").message
        assert len(message) == MAX_MESSAGE_BYTES
        assert message.endswith("x ...")
        assert len(change.events[0].note) == MAX_NOTE_BYTES

    def test_the_same_assignment_again_writes_and_records_nothing(self) -> None:
        refusal = NotAdmitted("WaitingForQuota", "1 more needed", self.REQUESTS)
        once = refuse(workload(), refusal, DEFAULT_GATES, NOW).workload
        again = refuse(once, refusal, DEFAULT_GATES, at(500))
        assert again.workload is once
        assert again.events == ()

    def test_another_reason_keeps_the_time_of_the_refusal(self) -> None:
        """API-7"""
        once = refuse(workload(), NotAdmitted("WaitingForQuota", ""), DEFAULT_GATES, NOW).workload
        other = refuse(once, NotAdmitted("ExceedsMaxQuota", ""), DEFAULT_GATES, at(500)).workload
        assert judged(other, "QuotaReserved") == ("False", "ExceedsMaxQuota")
        assert found(other, "QuotaReserved").last_transition_time == NOW

    def test_a_finished_workload_is_left_alone(self) -> None:
        """API-89"""
        done = finish(workload(), "Succeeded", "done", NOW)
        assert refuse(done, NotAdmitted("WaitingForQuota", ""), DEFAULT_GATES, NOW).workload is done


def test_the_scheduler_s_own_reasons_are_those_that_the_controller_keeps() -> None:
    """SCH-363"""
    assert {
        "WaitingForQuota",
        "NoMatchingFlavor",
        "ExceedsMaxQuota",
        "TopologyPlacementFailed",
        "WaitingForPreemptedWorkloads",
        "WaitingForPodsReady",
        "PendingEvaluation",
    } == reasons.SET_BY_SCHEDULER


def test_without_the_observability_gate_only_an_end_of_the_admission_is_written() -> None:
    """API-84, SCH-902: a workload that never was admitted gets QuotaReserved alone."""
    gates = FeatureGates(DEFAULT_GATES.on - {Gate.UnadmittedWorkloadsObservability})
    waiting = drop_reservation(workload(), "Inadmissible", "LocalQueue l doesn't exist", gates, at(10))
    assert [each.type for each in waiting.status.conditions] == ["QuotaReserved"]
    evicted = drop_reservation(admitted(), "Pending", "why", gates, at(10))
    assert judged(evicted, "Admitted") == ("False", "NoReservation")
