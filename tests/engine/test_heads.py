"""The heads of a cycle, and what keeps a head from being nominated (SCH-202, SCH-230, SCH-310 to SCH-312)."""

from typing import Any

import pytest
from msgspec.structs import replace

from engine.scenario_builders import CPU, ScenarioBuilder
from kohort.api.kueue.v1beta2.workload import AdmissionCheckState
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import RequeueReason
from kohort.engine.events import ObjectUpserted

Json = Any
W = ObjectKey("ns", "w")


@pytest.fixture
def builder() -> ScenarioBuilder:
    builder = ScenarioBuilder()
    builder.queue("q", 4, cohort=None)
    return builder


def local_queue(name: str, cluster_queue: str) -> Json:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"clusterQueue": cluster_queue},
    }


class TestQueueOfAWorkload:
    """SCH-202"""

    def test_a_workload_moves_with_its_queue_name(self, builder: ScenarioBuilder) -> None:
        builder.queue("p", 4)
        builder.running("full", 4)
        manifest = builder.workload("w", 2, "q")
        builder.put(manifest)
        assert builder.turn().reserved == []
        manifest["spec"]["queueName"] = "p"
        builder.put(manifest)
        assert builder.turn().reserved == ["w"]
        assert builder.engine.read.cluster_queue_status("q").pending_workloads == 0

    def test_without_its_local_queue_it_is_not_pending(self, builder: ScenarioBuilder) -> None:
        builder.submit("w", 2, "nowhere")
        assert builder.turn().decisions == []
        builder.put(local_queue("nowhere", "q"))
        assert builder.turn().reserved == ["w"]

    def test_its_local_queue_keeps_it_until_the_cluster_queue_exists(self, builder: ScenarioBuilder) -> None:
        builder.put(local_queue("early", "late"))
        builder.submit("w", 2, "early")
        assert builder.turn().decisions == []
        builder.queue("late", 4)
        assert builder.turn().reserved == ["w"]


def test_a_cycle_evaluates_the_head_of_every_queue_and_nothing_else(builder: ScenarioBuilder) -> None:
    """SCH-230."""
    builder.queue("p", 4, cohort=None)
    for name in ("q1", "q2"):
        builder.submit(name, 1, "q")
    for name in ("p1", "p2"):
        builder.submit(name, 1, "p")
    assert sorted(builder.once().reserved) == ["p1", "q1"]
    assert sorted(builder.once().reserved) == ["p2", "q2"]


def test_inactive_queues_have_no_heads(builder: ScenarioBuilder) -> None:
    """SCH-230, SCH-303."""
    builder.queue("q", 4, cohort=None, stopPolicy="Hold")
    builder.submit("w", 1)
    assert builder.once().decisions == []


def test_a_workload_that_has_quota_by_now_is_not_evaluated(builder: ScenarioBuilder) -> None:
    """SCH-310: as when another client wrote its admission."""
    builder.submit("w", 1)
    waiting = builder.workloads[W]
    builder.running("v", 1)
    admitted = builder.workloads[ObjectKey("ns", "v")].status
    builder.engine.apply(ObjectUpserted(replace(waiting, status=admitted)), builder.now)
    assert builder.turn().decisions == []


class TestObstacles:
    """SCH-311"""

    @pytest.mark.parametrize("state", ["Retry", "Rejected"])
    def test_a_check_that_failed(self, builder: ScenarioBuilder, state: Any) -> None:
        builder.submit("w", 1)
        waiting = builder.workloads[W]
        check = AdmissionCheckState(name="c", state=state, last_transition_time=builder.now, message="")
        builder.show(replace(waiting, status=replace(waiting.status, admission_checks=(check,))))
        wait = builder.turn().waiting["w"]
        assert (wait.reason, wait.message, wait.requeue) == (
            "PendingEvaluation",
            "The workload has failed admission checks",
            RequeueReason.GENERIC,
        )

    def test_an_unknown_namespace_is_reported_as_missing(self, builder: ScenarioBuilder) -> None:
        """SCH-124, SCH-312: everything is at hand, so there is no lookup that could fail in another way"""
        builder.delete({"kind": "Namespace", "name": "ns"})
        builder.submit("w", 1)
        wait = builder.turn().waiting["w"]
        assert (wait.reason, wait.requeue) == ("Misconfigured", RequeueReason.GENERIC)
        assert wait.message.startswith('workload namespace "ns" does not exist: ')

    def test_requests_above_their_limits(self, builder: ScenarioBuilder) -> None:
        """SCH-124"""
        manifest = builder.workload("w", 2, "q")
        (container,) = manifest["spec"]["podSets"][0]["template"]["spec"]["containers"]
        container["resources"]["limits"] = {CPU: "1"}
        builder.put(manifest)
        wait = builder.turn().waiting["w"]
        assert wait.reason == "Misconfigured"
        assert wait.message.startswith("resources validation failed: ")


def test_a_new_default_of_the_namespace_applies_to_pending_workloads(builder: ScenarioBuilder) -> None:
    """SCH-123, SCH-121."""
    builder.running("full", 4)
    manifest = builder.workload("w", 1, "q")
    (container,) = manifest["spec"]["podSets"][0]["template"]["spec"]["containers"]
    del container["resources"]
    builder.put(manifest)
    builder.put(limit_range("5"))
    builder.turn()
    assert builder.pending_reason("w")[0] == "ExceedsMaxQuota"
    builder.put(limit_range("3"))
    builder.finish("ns/full")
    builder.turn()
    admission = builder.workloads[W].status.admission
    assert admission is not None
    assert admission.pod_set_assignments[0].resource_usage == {CPU: "3"}


def limit_range(cpu: str) -> Json:
    limit = {"type": "Container", "defaultRequest": {CPU: cpu}}
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "ns"},
        "spec": {"limits": [limit]},
    }
