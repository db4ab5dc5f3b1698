import pytest

from engine.lifecycle.sample_workloads import (
    JOB,
    LEGACY,
    POD,
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
    with_spec,
    with_status,
    without,
    workload,
)
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import (
    EvictionCount,
    PodSetUpdate,
    PreemptionGateState,
    ReclaimablePod,
    SchedulingStats,
    UnhealthyNode,
)
from kohort.api.meta import OwnerReference
from kohort.engine.lifecycle.admission import Reservation, reserve
from kohort.engine.lifecycle.events import WorkloadEvent
from kohort.engine.lifecycle.eviction import EvictionCause, evict, release
from kohort.engine.lifecycle.finishing import finish
from kohort.engine.lifecycle.preemption import PreemptionParty, PreemptionRecord, preempt, preemptor_event
from kohort.engine.lifecycle.preemption_gates import block_on_gates

NOW = at(100)
STOPPED = EvictionCause("ClusterQueueStopped", "The ClusterQueue is stopped")


def counts(wl: Workload) -> dict[tuple[str, str], int]:
    stats = wl.status.scheduling_stats
    return {(each.reason, each.underlying_cause): each.count for each in stats.evictions} if stats else {}


class TestEvicting:
    def test_an_eviction_sets_the_condition_and_keeps_the_reservation(self) -> None:
        """SCH-1001"""
        change = evict(admitted(), STOPPED, NOW)
        assert condition_text(change.workload, "Evicted") == (
            "True",
            "ClusterQueueStopped",
            "The ClusterQueue is stopped",
        )
        assert change.workload.status.admission == admission()
        assert judged(change.workload, "QuotaReserved") == ("True", "QuotaReserved")
        assert judged(change.workload, "Admitted") == ("True", "Admitted")
        assert change.events == (
            WorkloadEvent("Normal", "EvictedDueToClusterQueueStopped", "The ClusterQueue is stopped"),
        )

    def test_clears_nominations_failed_nodes_and_gates(self) -> None:
        """SCH-1001, API-94, SCH-1120"""
        busy = with_status(
            block_on_gates(admitted(), at(1)),
            cluster_name="east",
            unhealthy_nodes=(UnhealthyNode(name="n"),),
            preemption_gates=(
                PreemptionGateState(name="a", position="Open", last_transition_time=at(1)),
                PreemptionGateState(name="b", position="Closed", last_transition_time=at(1)),
            ),
        )
        after = evict(busy, STOPPED, NOW).workload
        assert after.status.cluster_name is None
        assert after.status.unhealthy_nodes == ()
        assert after.status.preemption_gates == (
            PreemptionGateState(name="a", position="Closed", last_transition_time=NOW),
            PreemptionGateState(name="b", position="Closed", last_transition_time=at(1)),
        )
        assert judged(after, "BlockedOnPreemptionGates") == ("False", "ClusterQueueStopped")
        nominated = with_status(admitted(), nominated_cluster_names=("east", "west"))
        assert evict(nominated, STOPPED, NOW).workload.status.nominated_cluster_names == ()

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (check("c", "Pending", 5, "wait", retry_count=2), check("c", "Pending", 5, "wait", retry_count=2)),
            (
                check("c", "Ready", 5, retry_count=2, pod_set_updates=(PodSetUpdate(name="main"),)),
                check("c", "Pending", 100, "Reset to Pending after eviction. Previously: Ready"),
            ),
            (
                check("c", "Retry", 5, requeue_after_seconds=9, retry_count=2),
                check(
                    "c",
                    "Pending",
                    100,
                    "Reset to Pending after eviction. Previously: Retry",
                    requeue_after_seconds=9,
                    retry_count=3,
                ),
            ),
            (
                check("c", "Rejected", 5, retry_count=2),
                check("c", "Pending", 100, "Reset to Pending after eviction. Previously: Rejected"),
            ),
        ],
        ids=["pending", "ready", "retry", "rejected"],
    )
    def test_resets_the_checks(self, before: object, after: object) -> None:
        """SCH-912"""
        running = with_status(admitted(), admission_checks=(before,))
        assert evict(running, STOPPED, NOW).workload.status.admission_checks == (after,)

    def test_counts_by_reason_and_cause(self) -> None:
        """API-94"""
        first = evict(admitted(), EvictionCause("PodsReadyTimeout", "", "WaitForStart"), NOW).workload
        assert counts(first) == {("PodsReadyTimeout", "WaitForStart"): 1}
        again = reserved(release(first, DEFAULT_GATES, NOW))
        second = evict(again, EvictionCause("PodsReadyTimeout", "", "WaitForRecovery"), NOW).workload
        third = evict(
            reserved(release(second, DEFAULT_GATES, NOW)), EvictionCause("PodsReadyTimeout", "", "WaitForStart"), NOW
        ).workload
        assert counts(third) == {("PodsReadyTimeout", "WaitForStart"): 2, ("PodsReadyTimeout", "WaitForRecovery"): 1}

    def test_keeps_earlier_counts_in_their_order(self) -> None:
        """API-94"""
        old = SchedulingStats(evictions=(EvictionCount(reason="Preempted", underlying_cause="", count=4),))
        after = evict(with_status(admitted(), scheduling_stats=old), STOPPED, NOW).workload
        assert list(counts(after).items()) == [(("Preempted", ""), 4), (("ClusterQueueStopped", ""), 1)]

    def test_a_deactivation_names_its_cause_in_reason_and_event_but_counts_as_deactivated(self) -> None:
        """SCH-1002, API-94"""
        change = evict(admitted(), EvictionCause("Deactivated", "off", "AdmissionCheck"), NOW)
        assert judged(change.workload, "Evicted") == ("True", "DeactivatedDueToAdmissionCheck")
        assert change.events[0].reason == "EvictedDueToDeactivatedDueToAdmissionCheck"
        assert counts(change.workload) == {("Deactivated", "AdmissionCheck"): 1}

    def test_without_an_admission_no_event_is_sent(self) -> None:
        """API-105"""
        change = evict(workload(), EvictionCause("Deactivated", "off"), NOW)
        assert judged(change.workload, "Evicted") == ("True", "Deactivated")
        assert change.events == ()

    def test_one_that_has_begun_is_left_as_it_is(self) -> None:
        """SCH-650"""
        leaving = evict(admitted(), STOPPED, NOW).workload
        again = evict(leaving, EvictionCause("Preempted", "other"), at(200))
        assert again.workload is leaving
        assert again.events == ()

    def test_a_finished_workload_is_left_alone(self) -> None:
        """API-89"""
        done = finish(admitted(), "Succeeded", "", NOW)
        assert evict(done, STOPPED, NOW).workload is done


class TestReleasing:
    @pytest.mark.parametrize(
        ("reason", "status"),
        [
            ("Preempted", "True"),
            ("NodeFailures", "True"),
            ("PodsReadyTimeout", "False"),
            ("AdmissionCheck", "False"),
            ("ClusterQueueStopped", "False"),
            ("LocalQueueStopped", "False"),
            ("Deactivated", "False"),
            ("FlavorMigration", "True"),
        ],
    )
    def test_the_condition_states_whether_the_workload_may_return_at_once(self, reason: str, status: str) -> None:
        """SCH-1003"""
        after = release(evict(admitted(), EvictionCause(reason, "why"), NOW).workload, DEFAULT_GATES, at(120))
        assert condition_text(after, "Requeued") == (status, reason, "why")

    def test_frees_the_quota_with_the_words_of_the_eviction(self) -> None:
        """SCH-1003, API-87"""
        after = release(evict(admitted(40), STOPPED, NOW).workload, DEFAULT_GATES, at(120))
        assert condition_text(after, "QuotaReserved") == ("False", "PendingEvaluation", "The ClusterQueue is stopped")
        assert after.status.admission is None
        assert judged(after, "Admitted") == ("False", "NoReservation")
        assert after.status.accumulated_past_execution_time_seconds == 80
        assert judged(after, "Evicted") == ("True", "ClusterQueueStopped")

    def test_old_reason(self) -> None:
        """SCH-1003"""
        after = release(evict(admitted(), STOPPED, NOW).workload, LEGACY, at(120))
        assert judged(after, "QuotaReserved") == ("False", "Pending")

    @pytest.mark.parametrize(
        ("owners", "gates", "status"),
        [
            ((POD,), DEFAULT_GATES, "False"),
            ((POD,), without(Gate.SkipReassignmentForPodOwnedWorkloads), "True"),
            ((POD, POD), DEFAULT_GATES, "True"),
            ((JOB,), DEFAULT_GATES, "True"),
        ],
        ids=["single pod", "gate off", "pod group", "job"],
    )
    def test_a_single_pod_does_not_return(
        self, owners: tuple[OwnerReference, ...], gates: FeatureGates, status: str
    ) -> None:
        """SCH-1003"""
        evicted = evict(admitted(0, *owners), EvictionCause("Preempted", ""), NOW).workload
        assert judged(release(evicted, gates, at(120)), "Requeued") == (status, "Preempted")

    def test_only_an_evicted_workload_with_quota_is_released(self) -> None:
        """SCH-1003"""
        running = admitted()
        assert release(running, DEFAULT_GATES, NOW) is running
        released = release(evict(running, STOPPED, NOW).workload, DEFAULT_GATES, at(120))
        assert release(released, DEFAULT_GATES, at(130)) is released

    def test_reclaimable_pods_stay(self) -> None:
        """docs/spec/scheduling.md G41, SCH-133"""
        pods = (ReclaimablePod(name="main", count=1),)
        evicted = evict(with_status(admitted(), reclaimable_pods=pods), STOPPED, NOW).workload
        assert evicted.status.admission == admission()
        assert release(evicted, DEFAULT_GATES, at(120)).status.reclaimable_pods == pods


class TestPreempting:
    PREEMPTION = PreemptionRecord(
        "InCohortReclamation",
        preemptor=PreemptionParty("u1", "j1", "/root/a", priority=10, boost=5),
        victim=PreemptionParty("w-uid", "j2", "/root/b", priority=3),
    )
    MESSAGE = (
        "Preempted to accommodate a workload (UID: u1, JobUID: j1) due to reclamation within the cohort; "
        "preemptor path: /root/a; preemptee path: /root/b"
    )
    PRIORITIES = (
        "; preemptor effective priority: 15 (base: 10, boost: 5); preemptee effective priority: 3 (base: 3, boost: 0)"
    )

    def test_writes_both_conditions_with_one_message(self) -> None:
        """SCH-651"""
        after = preempt(admitted(), self.PREEMPTION, NOW).workload
        assert condition_text(after, "Preempted") == ("True", "InCohortReclamation", self.MESSAGE)
        assert condition_text(after, "Evicted") == ("True", "Preempted", self.MESSAGE)
        assert counts(after) == {("Preempted", ""): 1}

    def test_the_condition_names_no_generation(self) -> None:
        """API-7"""
        after = preempt(admitted(), self.PREEMPTION, NOW).workload
        assert found(after, "Preempted").observed_generation is None
        assert found(after, "Evicted").observed_generation == 1

    def test_an_event_is_recorded_twice_for_the_victim_and_once_for_the_preemptor(self) -> None:
        """SCH-652"""
        assert preempt(admitted(), self.PREEMPTION, NOW).events == (
            WorkloadEvent("Normal", "EvictedDueToPreempted", self.MESSAGE),
            WorkloadEvent("Normal", "Preempted", self.MESSAGE + self.PRIORITIES),
        )
        note = f"Preempted workload ns/w (UID: w-uid) in ClusterQueue q{self.PRIORITIES}"
        assert preemptor_event(admitted(), self.PREEMPTION, "q") == WorkloadEvent("Normal", "PreemptedWorkload", note)

    @pytest.mark.parametrize(
        ("reason", "why"),
        [
            ("InClusterQueue", "prioritization in the ClusterQueue"),
            ("InCohortReclamation", "reclamation within the cohort"),
            ("InCohortFairSharing", "Fair Sharing within the cohort"),
            ("InCohortReclaimWhileBorrowing", "reclamation within the cohort while borrowing"),
        ],
    )
    def test_the_message_has_the_reason_and_what_is_unknown(self, reason: str, why: str) -> None:
        """SCH-651"""
        unknown = PreemptionRecord(reason, PreemptionParty(), PreemptionParty())  # type: ignore[arg-type]
        assert unknown.message == (
            f"Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) due to {why}; "
            "preemptor path: UNKNOWN; preemptee path: UNKNOWN"
        )

    def test_a_victim_that_is_leaving_is_not_written_again(self) -> None:
        """SCH-650"""
        leaving = evict(admitted(), STOPPED, NOW).workload
        again = preempt(leaving, self.PREEMPTION, at(200))
        assert again.workload is leaving
        assert again.events == ()
        assert not has(leaving, "Preempted")

    def test_a_new_reservation_withdraws_it(self) -> None:
        """SCH-901"""
        gone = release(preempt(admitted(), self.PREEMPTION, NOW).workload, DEFAULT_GATES, at(120))
        back = reserve(gone, Reservation(admission(), frozenset()), DEFAULT_GATES, at(130)).workload
        assert condition_text(back, "Preempted") == ("False", "QuotaReserved", f"Previously: {self.MESSAGE}")
        assert found(back, "Preempted").observed_generation == 1


def test_an_eviction_has_the_observed_generation() -> None:
    """API-7"""
    moved = with_spec(annotated(admitted(), generation=1), priority=5)
    assert found(evict(moved, STOPPED, NOW).workload, "Evicted").observed_generation == 2
