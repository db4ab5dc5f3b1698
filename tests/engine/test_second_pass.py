"""The second pass: workloads that have their quota and look for places (SCH-270 to SCH-272, SCH-332, SCH-341)."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from engine.play import FAIR, Play, configured
from kohort.api.codec import from_json, to_json
from kohort.api.conditions import find
from kohort.api.kueue.slices import Domain, compress, expand
from kohort.api.kueue.v1beta2 import Workload as WorkloadObject
from kohort.api.kueue.v1beta2.workload import TopologyAssignment
from kohort.api.meta import ObjectKey
from kohort.engine.assignment import Assignment
from kohort.engine.decisions import Evict, EvictForFailedNodes, KeepUnplaced, Reserve
from kohort.engine.events import EvictionFailed, ReservationFailed
from kohort.engine.invariants import CheckedEngine
from kohort.engine.preemption_policy import PreemptionTarget
from kohort.engine.records import ClusterQueueInfo, SecondPassReason, WorkloadInfo
from kohort.engine.scenario import DAWN

W = ObjectKey("ns", "w")


@dataclass
class Nodes:
    """A placement on nodes of which each takes one pod set; whoever finds none does not fit."""

    free: list[str]
    delays: bool = False
    victims: list[WorkloadInfo] = field(default_factory=list)

    def place(self, workload: WorkloadInfo, _queue: ClusterQueueInfo, assignment: Assignment) -> Assignment:
        delayed = self.delays or workload.second_pass is SecondPassReason.DELAYED
        for pod_set in assignment.pod_sets:
            if self.delays and workload.second_pass is None:
                pod_set.delayed = "Pending"
            elif self.free:
                pod_set.place, pod_set.delayed = on(self.free.pop(0)), "Ready" if delayed else ""
            else:
                pod_set.failed = True
                assignment.targets = [PreemptionTarget(each, "InClusterQueue") for each in self.victims]
        return assignment


def on(node: str) -> TopologyAssignment:
    return compress(["kubernetes.io/hostname"], [Domain((node,), 1)])


def node_of(play: Play, name: str = "w") -> str:
    admission = play.workloads[ObjectKey("ns", name)].status.admission
    assert admission is not None
    place = admission.pod_set_assignments[0].topology_assignment
    return next(expand(place)).values[0] if place is not None else ""


class Stage(Play):
    def __init__(self, nodes: Nodes, *args: Any) -> None:
        super().__init__(*args)
        self.engine = CheckedEngine(self.settings)
        self.engine.context.placement = nodes
        self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})
        self.queue("q", 4)

    def check(self, state: str, name: str = "w") -> None:
        """The admission check of a workload says so."""
        self.change(name, admissionChecks=[{"name": "c", "state": state, "message": "", "lastTransitionTime": AT}])

    def fail_node(self, *nodes: str, name: str = "w") -> None:
        self.change(name, unhealthyNodes=[{"name": node} for node in nodes])

    def change(self, name: str, **status: Any) -> None:
        manifest = to_json(self.workloads[ObjectKey("ns", name)])
        manifest["status"] = {**manifest.get("status", {}), **status}
        self.show(from_json(manifest, WorkloadObject))

    def later(self, seconds: float) -> "Stage":
        self.wait(seconds)
        self.turn()
        return self


AT = DAWN.isoformat()


def delayed() -> Stage:
    """A workload that has quota, and whose place is to be found when its check is ready."""
    stage = Stage(Nodes([], delays=True))
    stage.submit("w", 1)
    stage.check("Pending")
    stage.turn()
    assert stage.reserved == ["w"]
    return stage


def running(nodes: Nodes, **gates: bool) -> Stage:
    stage = Stage(nodes, configured(**gates))
    stage.submit("w", 1)
    stage.turn()
    assert node_of(stage) == "n1"
    return stage


def nodes_of(stage: Stage) -> Nodes:
    assert isinstance(stage.engine.context.placement, Nodes)
    return stage.engine.context.placement


class TestDelayed:
    def test_it_waits_for_its_checks(self) -> None:
        stage = delayed()
        assert stage.later(60).decisions == []
        assert stage.engine.wake_at() is None

    def test_its_place_is_found_a_second_after_its_checks_are_ready(self) -> None:
        """SCH-271, SCH-503."""
        stage = delayed()
        nodes_of(stage).free.append("n1")
        stage.check("Ready")
        assert stage.engine.wake_at() == stage.now + timedelta(seconds=1)
        assert stage.later(0.5).decisions == []
        (decision,) = stage.later(0.5).decisions
        assert isinstance(decision, Reserve)
        assert decision.admission.pod_set_assignments[0].flavors == {"cpu": "f"}
        assert decision.admission.pod_set_assignments[0].delayed_topology_request == "Ready"
        assert node_of(stage) == "n1"
        admitted = find(stage.workloads[W].status.conditions, "Admitted")
        assert admitted is not None
        assert admitted.status == "True"

    def test_a_pass_that_finds_nothing_keeps_the_quota_and_writes_nothing(self) -> None:
        """SCH-272."""
        stage = delayed()
        stage.check("Ready")
        before = stage.workloads[W]
        (decision,) = stage.later(1).decisions
        assert isinstance(decision, KeepUnplaced)
        assert stage.workloads[W] is before
        assert stage.engine.store.workloads[W].has_quota

    def test_each_failure_doubles_the_delay_up_to_half_a_minute(self) -> None:
        """SCH-271."""
        stage = delayed()
        stage.check("Ready")
        delays = []
        for _ in range(8):
            due = stage.engine.wake_at()
            assert due is not None
            delays.append((due - stage.now).total_seconds())
            stage.later(delays[-1])
        assert delays == [1, 2, 4, 8, 16, 30, 30, 30]

    def test_it_takes_no_quota_a_second_time(self) -> None:
        """SCH-341: the queue is full, and full it stays."""
        stage = delayed()
        stage.submit("other", 3)
        stage.check("Ready")
        nodes_of(stage).free.append("n1")
        assert stage.later(1).reserved == ["w", "other"], "who has quota goes first (SCH-320)"
        usage = stage.engine.store.queues["q"].node.cells[next(iter(stage.engine.store.workloads[W].usage))].usage
        assert usage == 4000

    def test_who_was_evicted_meanwhile_gets_none(self) -> None:
        """SCH-271: readiness asks again."""
        stage = delayed()
        stage.check("Ready")
        stage.submit("boss", 4, priority=9)
        stage.put(
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "ClusterQueue",
                "metadata": {"name": "q"},
                "spec": {
                    "namespaceSelector": {},
                    "cohortName": "R",
                    "preemption": {"withinClusterQueue": "LowerPriority"},
                    "resourceGroups": [
                        {
                            "coveredResources": ["cpu"],
                            "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": 4}]}],
                        }
                    ],
                },
            }
        )
        stage.turn()
        assert stage.evicted == {"w": "InClusterQueue"}
        assert stage.engine.wake_at() is None

    def test_a_stopped_queue_places_nobody_and_forgets_nobody(self) -> None:
        """SCH-303."""
        stage = delayed()
        stage.check("Ready")
        nodes_of(stage).free.append("n1")
        stage.engine.store.queues["q"].is_active = False
        assert stage.later(1).decisions == []
        stage.engine.store.queues["q"].is_active = True
        assert stage.later(2).reserved == ["w"]

    def test_victims_may_make_room_for_it(self) -> None:
        """TAS-88."""
        stage = delayed()
        stage.running("small", 1)
        nodes_of(stage).victims = [stage.engine.store.workloads[ObjectKey("ns", "small")]]
        stage.check("Ready")
        decisions = stage.later(1).decisions
        assert [type(each) for each in decisions] == [Evict, KeepUnplaced]
        nodes_of(stage).victims = []

    def test_a_write_that_fails_brings_another_pass(self) -> None:
        stage = delayed()
        stage.check("Ready")
        nodes_of(stage).free += ["n1", "n2"]
        stage.conflict("ns/w")
        assert stage.later(1).reserved == ["w"]
        assert node_of(stage) == ""
        assert stage.engine.store.workloads[W].has_quota
        assert stage.later(1).reserved == ["w"]
        assert node_of(stage) == "n2"

    def test_pods_of_others_need_not_be_ready(self) -> None:
        """TAS-85."""
        stage = delayed()
        stage.engine.store.settings = configured({"waitForPodsReady": {"blockAdmission": True}})
        stage.check("Ready")
        nodes_of(stage).free.append("n1")
        assert stage.later(1).reserved == ["w"]

    def test_it_goes_first_under_fair_sharing_too(self) -> None:
        """SCH-732."""
        stage = Stage(Nodes([], delays=True), configured(FAIR))
        stage.submit("w", 1)
        stage.check("Pending")
        stage.turn()
        stage.submit("other", 1, priority=9)
        stage.check("Ready")
        nodes_of(stage).free.append("n1")
        assert stage.later(1).reserved == ["w", "other"]


class TestReplacement:
    def test_a_failed_node_is_replaced_and_forgotten(self) -> None:
        """SCH-270, TAS-110."""
        stage = running(Nodes(["n1", "n2"]))
        stage.fail_node("n1")
        assert stage.later(1).reserved == ["w"]
        assert node_of(stage) == "n2"
        assert stage.workloads[W].status.unhealthy_nodes == ()
        assert stage.engine.wake_at() is None

    def test_a_node_where_it_has_no_pods_is_none_of_its_business(self) -> None:
        """SCH-270."""
        stage = running(Nodes(["n1", "n2"]))
        stage.fail_node("n7")
        assert stage.engine.wake_at() is None

    def test_without_replacement_it_is_evicted(self) -> None:
        """SCH-332, SCH-361: and neither put back nor told to wait."""
        stage = running(Nodes(["n1"]))
        stage.fail_node("n1", "n7")
        assert stage.later(1).decisions == [EvictForFailedNodes(W, ("n1", "n7"))]
        evicted = find(stage.workloads[W].status.conditions, "Evicted")
        assert evicted is not None
        assert evicted.reason == "NodeFailures"
        assert evicted.message == "Workload was evicted as there was no replacement for unhealthy node(s): n1, n7"
        assert stage.later(60).decisions == []

    def test_an_eviction_that_can_not_be_written_is_decided_again(self) -> None:
        stage = running(Nodes(["n1"]))
        stage.fail_node("n1")
        stage.conflict("ns/w")
        assert stage.later(1).decisions == [EvictForFailedNodes(W, ("n1",))]
        assert stage.later(1).decisions == [EvictForFailedNodes(W, ("n1",))]

    def test_without_failing_fast_it_is_tried_until_a_node_comes(self) -> None:
        """SCH-332, SCH-272."""
        stage = running(Nodes(["n1"]), TASFailedNodeReplacementFailFast=False)
        stage.fail_node("n1")
        assert [type(each) for each in stage.later(1).decisions] == [KeepUnplaced]
        nodes_of(stage).free.append("n2")
        assert stage.later(2).reserved == ["w"]

    def test_nobody_is_preempted_for_it(self) -> None:
        """TAS-109."""
        stage = running(Nodes(["n1"]), TASFailedNodeReplacementFailFast=False)
        stage.running("small", 1)
        nodes_of(stage).victims = [stage.engine.store.workloads[ObjectKey("ns", "small")]]
        stage.fail_node("n1")
        assert [type(each) for each in stage.later(1).decisions] == [KeepUnplaced]

    def test_a_node_that_recovers_in_time_changes_nothing(self) -> None:
        stage = running(Nodes(["n1", "n2"]))
        stage.fail_node("n1")
        stage.fail_node()
        assert stage.later(1).decisions == []

    def test_without_the_gate_nothing_is_replaced(self) -> None:
        gates = {"TASFailedNodeReplacement": False, "TASFailedNodeReplacementFailFast": False}
        stage = running(Nodes(["n1", "n2"]), **gates, TASReplaceNodeOnPodTermination=False)
        stage.fail_node("n1")
        assert stage.engine.wake_at() is None


@pytest.mark.parametrize("event", [ReservationFailed(W), EvictionFailed(W)])
def test_failed_writes_of_nobody_in_particular_are_no_matter(event: Any) -> None:
    stage = running(Nodes(["n1"]))
    stage.engine.apply(event, stage.now)
    assert stage.later(1).decisions == []
