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
def builder() -> ScenarioBuilder:
    """A queue of four cores."""
    builder = checked_builder()
    builder.queue("q", 4)
    return builder


def used(builder: ScenarioBuilder) -> int:
    return builder.engine.store.queues["q"].node.cells[FR].usage // 1000


def test_what_was_decided_counts_before_it_is_written(builder: ScenarioBuilder) -> None:
    """SCH-350."""
    builder.submit("w", 3)
    builder.submit("v", 3)
    assert len(builder.engine.schedule(builder.now)) == 2, "one is admitted, the other does not fit"
    assert used(builder) == 3


def test_a_workload_holds_its_quota_while_its_checks_decide(builder: ScenarioBuilder) -> None:
    """SCH-907, SCH-420: usage counts from the reservation."""
    builder.running("w", 3)
    held = builder.workloads[W]
    waiting = AdmissionCheckState(name="c", state="Pending", last_transition_time=builder.now, message="")
    conditions = tuple(each for each in held.status.conditions if each.type != "Admitted")
    builder.show(replace(held, status=replace(held.status, conditions=conditions, admission_checks=(waiting,))))
    assert used(builder) == 3
    status = builder.engine.read.cluster_queue_status("q")
    assert (status.reserving_workloads, status.admitted_workloads) == (1, 0)
    builder.submit("v", 3)
    assert builder.turn().reserved == []


def test_quota_freed_by_an_event_is_available_when_others_are_reactivated(builder: ScenarioBuilder) -> None:
    """SCH-262: no run counts the usage of a workload that is reported as finished."""
    builder.running("w", 3)
    builder.submit("v", 3)
    assert builder.turn().reserved == []
    builder.finish("ns/w")
    assert used(builder) == 0
    assert builder.turn().reserved == ["v"]


class TestAfterAnEviction:
    """SCH-1004: what is released is free at once, and the workload waits again"""

    @pytest.fixture
    def evicted(self, builder: ScenarioBuilder) -> ScenarioBuilder:
        builder.running("w", 3)
        builder.show(evict(builder.workloads[W], EvictionCause("Preempted", "make way"), builder.now).workload)
        builder.submit("v", 3)
        assert builder.turn().reserved == [], "quota is held until the job has stopped (SCH-653, SCH-914)"
        return builder

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
        builder = ScenarioBuilder(configured({"waitForPodsReady": {"blockAdmission": True}}))
        builder.queue("q", 4, cohort="R")
        builder.queue("other", 4, cohort="S")
        builder.submit("w", 1)
        assert builder.turn().reserved == ["w"]
        builder.submit("v", 1, "other")
        assert builder.turn().reserved == []
        return builder

    def test_ends_with_the_release_of_an_evicted_workload(self, blocked: ScenarioBuilder) -> None:
        """SCH-1035, SCH-1004, SCH-223"""
        builder = blocked
        builder.show(evict(builder.workloads[W], EvictionCause("PodsReadyTimeout", "late"), builder.now).workload)
        assert builder.turn().reserved == [], "its pods may still run"
        workload = release(builder.workloads[W], builder.settings.gates, builder.now)
        later = RequeueState(count=1, requeue_at=builder.now + timedelta(seconds=60))
        builder.show(replace(workload, status=replace(workload.status, requeue_state=later)))
        assert builder.turn().reserved == ["v"]
        builder.wait(60)
        assert builder.turn().reserved == [], "now it waits for the pods of the other"
        assert builder.workloads[W].status.admission is None

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

    def test_pods_that_are_done_free_their_part_and_leave_the_admission_as_it_is(
        self, builder: ScenarioBuilder
    ) -> None:
        """SCH-1060, SCH-134, SCH-261"""
        builder.running("w", 1, count=4)
        builder.submit("v", 2)
        assert builder.turn().reserved == []
        before = builder.workloads[W].status.admission
        builder.reclaim({"workload": "ns/w", "pods": {"main": 2}})
        assert used(builder) == 2
        assert builder.turn().reserved == ["v"]
        assert builder.workloads[W].status.admission == before

    def test_more_than_there_are_free_no_more_than_there_is(self, builder: ScenarioBuilder) -> None:
        """SCH-1060, SCH-133"""
        builder.running("w", 1, count=4)
        held = builder.workloads[W]
        pods = (ReclaimablePod(name="main", count=9),)
        builder.engine.apply(
            ObjectUpserted(replace(held, status=replace(held.status, reclaimable_pods=pods))), builder.now
        )
        assert used(builder) == 0


class TestScaleDownInPlace:
    """SCH-1106: the admission stays as it was written, the usage follows the pod sets"""

    @staticmethod
    def resize(builder: ScenarioBuilder, count: int) -> None:
        held = builder.workloads[W]
        (pod_set,) = held.spec.pod_sets
        builder.show(replace(held, spec=replace(held.spec, pod_sets=(replace(pod_set, count=count),))))

    def test_fewer_pods_free_their_quota_for_waiting_workloads(self, builder: ScenarioBuilder) -> None:
        """SCH-1106, SCH-261"""
        builder.running("w", 1, count=4)
        builder.submit("v", 2)
        assert builder.turn().reserved == []
        before = builder.workloads[W].status.admission
        self.resize(builder, 2)
        assert used(builder) == 2
        assert builder.turn().reserved == ["v"]
        assert builder.workloads[W].status.admission == before

    def test_a_second_scale_down_counts_too(self, builder: ScenarioBuilder) -> None:
        """SCH-1106"""
        builder.running("w", 1, count=4)
        self.resize(builder, 3)
        self.resize(builder, 1)
        assert used(builder) == 1

    def test_a_count_that_returns_to_the_admitted_one_counts_whole(self, builder: ScenarioBuilder) -> None:
        """SCH-1106, SCH-134"""
        builder.running("w", 1, count=4)
        self.resize(builder, 2)
        self.resize(builder, 4)
        assert used(builder) == 4

    def test_reclaimable_pods_are_subtracted_from_the_smaller_count(self, builder: ScenarioBuilder) -> None:
        """SCH-1106, SCH-133"""
        builder.running("w", 1, count=4)
        self.resize(builder, 3)
        builder.reclaim({"workload": "ns/w", "pods": {"main": 1}})
        assert used(builder) == 2


def test_a_new_priority_of_a_running_workload_counts_at_once(builder: ScenarioBuilder) -> None:
    """SCH-1064: as the controllers write it when its WorkloadPriorityClass changes."""
    builder.queue("q", 4, preemption={"withinClusterQueue": "LowerPriority"})
    builder.running("w", 4, priority=5)
    builder.submit("v", 4, priority=3)
    assert builder.turn().evicted == {}
    held = builder.workloads[W]
    builder.show(replace(held, spec=replace(held.spec, priority=1)))
    assert builder.turn().evicted == {"w": "InClusterQueue"}


def test_a_queue_that_is_being_deleted_admits_nothing_and_counts_on(builder: ScenarioBuilder) -> None:
    """SCH-1054, SCH-1055."""
    builder.running("w", 1)
    builder.submit("v", 1)
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
    builder.put(manifest)
    assert builder.turn().reserved == []
    status = builder.engine.read.cluster_queue_status("q")
    assert (status.pending_workloads, status.reserving_workloads) == (1, 1)
    builder.finish("ns/w")
    assert builder.engine.read.cluster_queue_status("q").reserving_workloads == 0
