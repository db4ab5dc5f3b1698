"""From when and until when workloads hold quota, and which are reactivated by its release."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from engine.checked_scenarios import checked_builder
from engine.scenario_builders import CPU, ScenarioBuilder, configured
from kohort.api.kueue.v1beta2.workload import AdmissionCheckState, ReclaimablePod, RequeueState
from kohort.api.meta import ObjectKey
from kohort.engine.events import ObjectDeleted, ObjectUpserted
from kohort.engine.lifecycle.conditions import QUOTA_RESERVED, condition_false, with_condition_set
from kohort.engine.lifecycle.eviction import EvictionCause, evict, release
from kohort.engine.quota import FlavorResource

Json = Any
W = ObjectKey("ns", "w")
FR = FlavorResource("f", CPU)


@pytest.fixture
def play() -> ScenarioBuilder:
    """A queue of four cores."""
    play = checked_builder()
    play.queue("q", 4)
    return play


def used(play: ScenarioBuilder) -> int:
    return play.engine.store.queues["q"].node.cells[FR].usage // 1000


def test_what_was_decided_counts_before_it_is_written(play: ScenarioBuilder) -> None:
    """SCH-350."""
    play.submit("w", 3)
    play.submit("v", 3)
    assert len(play.engine.schedule(play.now)) == 2, "one is admitted, the other does not fit"
    assert used(play) == 3


def test_a_workload_holds_its_quota_while_its_checks_decide(play: ScenarioBuilder) -> None:
    """SCH-907, SCH-420: usage counts from the reservation."""
    play.running("w", 3)
    held = play.workloads[W]
    waiting = AdmissionCheckState(name="c", state="Pending", last_transition_time=play.now, message="")
    conditions = tuple(each for each in held.status.conditions if each.type != "Admitted")
    play.show(replace(held, status=replace(held.status, conditions=conditions, admission_checks=(waiting,))))
    assert used(play) == 3
    status = play.engine.read.cluster_queue_status("q")
    assert (status.reserving_workloads, status.admitted_workloads) == (1, 0)
    play.submit("v", 3)
    assert play.turn().reserved == []


def test_quota_freed_by_an_event_is_available_when_others_are_reactivated(play: ScenarioBuilder) -> None:
    """SCH-262: no run counts the usage of a workload that is reported as finished."""
    play.running("w", 3)
    play.submit("v", 3)
    assert play.turn().reserved == []
    play.finish("ns/w")
    assert used(play) == 0
    assert play.turn().reserved == ["v"]


class TestAfterAnEviction:
    """SCH-1004: what is released is free at once, and the workload waits again"""

    @pytest.fixture
    def evicted(self, play: ScenarioBuilder) -> ScenarioBuilder:
        play.running("w", 3)
        play.show(evict(play.workloads[W], EvictionCause("Preempted", "make way"), play.now).workload)
        play.submit("v", 3)
        assert play.turn().reserved == [], "quota is held until the job has stopped (SCH-653, SCH-914)"
        return play

    def test_others_and_itself_are_reactivated(self, evicted: ScenarioBuilder) -> None:
        """SCH-1004, SCH-261"""
        evicted.settle()
        assert used(evicted) == 0
        evicted.submit("u", 1)
        assert evicted.turn().reserved == ["w", "u"], "it was created first"

    def test_not_before_the_moment_of_its_return(self, evicted: ScenarioBuilder) -> None:
        """SCH-1004, SCH-223"""
        workload = release(evicted.workloads[W], evicted.settings.gates, evicted.now)
        later = RequeueState(requeue_at=evicted.now + timedelta(seconds=60))
        evicted.show(replace(workload, status=replace(workload.status, requeue_state=later)))
        assert evicted.turn().reserved == ["v"]
        evicted.finish("ns/v")
        assert evicted.turn().reserved == []
        evicted.wait(60)
        assert evicted.turn().reserved == ["w"]

    def test_not_while_it_is_on_hold(self, evicted: ScenarioBuilder) -> None:
        """SCH-1004, SCH-201"""
        workload = release(evicted.workloads[W], evicted.settings.gates, evicted.now)
        evicted.show(with_condition_set(workload, QUOTA_RESERVED, condition_false("OnHold", "not now"), evicted.now))
        evicted.finish("ns/v")
        assert evicted.turn().reserved == []


class TestBlockedAdmission:
    """SCH-1035: workloads of other trees wait for pods that are not ready, and for nothing else"""

    @pytest.fixture
    def blocked(self) -> ScenarioBuilder:
        play = ScenarioBuilder(configured({"waitForPodsReady": {"blockAdmission": True}}))
        play.queue("q", 4, cohort="R")
        play.queue("other", 4, cohort="S")
        play.submit("w", 1)
        assert play.turn().reserved == ["w"]
        play.submit("v", 1, "other")
        assert play.turn().reserved == []
        return play

    def test_ends_with_the_release_of_an_evicted_workload(self, blocked: ScenarioBuilder) -> None:
        """SCH-1035, SCH-1004, SCH-223"""
        play = blocked
        play.show(evict(play.workloads[W], EvictionCause("PodsReadyTimeout", "late"), play.now).workload)
        assert play.turn().reserved == [], "its pods may still run"
        workload = release(play.workloads[W], play.settings.gates, play.now)
        later = RequeueState(count=1, requeue_at=play.now + timedelta(seconds=60))
        play.show(replace(workload, status=replace(workload.status, requeue_state=later)))
        assert play.turn().reserved == ["v"]
        play.wait(60)
        assert play.turn().reserved == [], "now it waits for the pods of the other"
        assert play.workloads[W].status.admission is None

    def test_ends_with_the_deletion_of_the_workload(self, blocked: ScenarioBuilder) -> None:
        """SCH-1035"""
        blocked.engine.apply(ObjectDeleted("Workload", W), blocked.now)
        del blocked.workloads[W]
        assert blocked.turn().reserved == ["v"]

    def test_ends_with_the_end_of_the_workload(self, blocked: ScenarioBuilder) -> None:
        """SCH-1035"""
        blocked.finish("ns/w")
        assert blocked.turn().reserved == ["v"]


class TestReclaimablePods:
    """SCH-1060"""

    def test_pods_that_are_done_free_their_part_and_leave_the_admission_as_it_is(self, play: ScenarioBuilder) -> None:
        """SCH-1060, SCH-134, SCH-261"""
        play.running("w", 1, count=4)
        play.submit("v", 2)
        assert play.turn().reserved == []
        before = play.workloads[W].status.admission
        play.reclaim({"workload": "ns/w", "pods": {"main": 2}})
        assert used(play) == 2
        assert play.turn().reserved == ["v"]
        assert play.workloads[W].status.admission == before

    def test_more_than_there_are_free_no_more_than_there_is(self, play: ScenarioBuilder) -> None:
        """SCH-1060, SCH-133"""
        play.running("w", 1, count=4)
        held = play.workloads[W]
        pods = (ReclaimablePod(name="main", count=9),)
        play.engine.apply(ObjectUpserted(replace(held, status=replace(held.status, reclaimable_pods=pods))), play.now)
        assert used(play) == 0


class TestScaleDownInPlace:
    """SCH-1106: the admission stays as it was written, the usage follows the pod sets"""

    @staticmethod
    def resize(play: ScenarioBuilder, count: int) -> None:
        held = play.workloads[W]
        (pod_set,) = held.spec.pod_sets
        play.show(replace(held, spec=replace(held.spec, pod_sets=(replace(pod_set, count=count),))))

    def test_fewer_pods_free_their_quota_for_waiting_workloads(self, play: ScenarioBuilder) -> None:
        """SCH-1106, SCH-261"""
        play.running("w", 1, count=4)
        play.submit("v", 2)
        assert play.turn().reserved == []
        before = play.workloads[W].status.admission
        self.resize(play, 2)
        assert used(play) == 2
        assert play.turn().reserved == ["v"]
        assert play.workloads[W].status.admission == before

    def test_a_second_scale_down_counts_too(self, play: ScenarioBuilder) -> None:
        """SCH-1106"""
        play.running("w", 1, count=4)
        self.resize(play, 3)
        self.resize(play, 1)
        assert used(play) == 1

    def test_a_count_that_returns_to_the_admitted_one_counts_whole(self, play: ScenarioBuilder) -> None:
        """SCH-1106, SCH-134"""
        play.running("w", 1, count=4)
        self.resize(play, 2)
        self.resize(play, 4)
        assert used(play) == 4

    def test_reclaimable_pods_are_subtracted_from_the_smaller_count(self, play: ScenarioBuilder) -> None:
        """SCH-1106, SCH-133"""
        play.running("w", 1, count=4)
        self.resize(play, 3)
        play.reclaim({"workload": "ns/w", "pods": {"main": 1}})
        assert used(play) == 2


def test_a_new_priority_of_a_running_workload_counts_at_once(play: ScenarioBuilder) -> None:
    """SCH-1064: as the controllers write it when its WorkloadPriorityClass changes."""
    play.queue("q", 4, preemption={"withinClusterQueue": "LowerPriority"})
    play.running("w", 4, priority=5)
    play.submit("v", 4, priority=3)
    assert play.turn().evicted == {}
    held = play.workloads[W]
    play.show(replace(held, spec=replace(held.spec, priority=1)))
    assert play.turn().evicted == {"w": "InClusterQueue"}


def test_a_queue_that_is_being_deleted_admits_nothing_and_counts_on(play: ScenarioBuilder) -> None:
    """SCH-1054, SCH-1055."""
    play.running("w", 1)
    play.submit("v", 1)
    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "q", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {
            "namespaceSelector": {},
            "cohortName": "R",
            "resourceGroups": [
                {"coveredResources": [CPU], "flavors": [{"name": "f", "resources": [{"name": CPU, "nominalQuota": 4}]}]}
            ],
        },
    }
    play.put(manifest)
    assert play.turn().reserved == []
    status = play.engine.read.cluster_queue_status("q")
    assert (status.pending_workloads, status.reserving_workloads) == (1, 1)
    play.finish("ns/w")
    assert play.engine.read.cluster_queue_status("q").reserving_workloads == 0
