"""The second pass: workloads with quota and without a placement (SCH-270 to SCH-272, SCH-332, SCH-341)."""

from datetime import timedelta
from typing import Any

import pytest

from engine.invariants import check
from engine.scenario import DAWN
from engine.scenario_builders import FAIR_SHARING, configured
from engine.topology.topology_scenario_builder import HOST, UNCONSTRAINED, TopologyScenarioBuilder
from kohort.api.codec import from_json, to_json
from kohort.api.conditions import find
from kohort.api.kueue.conversion import V1BETA2
from kohort.api.kueue.v1beta2 import Workload as WorkloadObject
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import Evict, EvictForFailedNodes, KeepUnplaced, Reserve
from kohort.engine.events import EvictionFailed, ReservationFailed
from kohort.engine.explain import PreemptionOutlook, explanation_lines
from kohort.engine.explain.model import Evaluation

W = ObjectKey("ns", "w")
AT = DAWN.isoformat()
CHECKED: Any = {"admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]}}
PREEMPTING: Any = {"preemption": {"withinClusterQueue": "LowerPriority"}}


class SecondPassHarness(TopologyScenarioBuilder):
    """Nodes of one core, and a queue with quota for four."""

    def __init__(self, settings: Any = None, *nodes: str, **spec: Any) -> None:
        super().__init__({}, settings)
        active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": AT}
        self.put(
            {
                "apiVersion": V1BETA2,
                "kind": "AdmissionCheck",
                "metadata": {"name": "c"},
                "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request"},
                "status": {"conditions": [active]},
            }
        )
        self.tas_queue("q", 4, **spec)
        for node in nodes:
            self.node(node, 1)

    def check(self, state: str, name: str = "w") -> None:
        """The admission check of a workload is set to this state."""
        self.change(name, admissionChecks=[{"name": "c", "state": state, "message": "", "lastTransitionTime": AT}])

    def fail_node(self, *nodes: str, name: str = "w") -> None:
        """The nodes are lost, and the workload lists them."""
        for node in nodes:
            self.delete({"kind": "Node", "name": node})
        self.perform({"failNodes": {"workload": f"ns/{name}", "nodes": list(nodes)}})

    def change(self, name: str, **status: Any) -> None:
        manifest = to_json(self.workloads[ObjectKey("ns", name)])
        manifest["status"] = {**manifest.get("status", {}), **status}
        self.show(from_json(manifest, WorkloadObject))

    def later(self, seconds: float) -> "SecondPassHarness":
        self.wait(seconds)
        self.turn()
        return self

    def node_of(self, name: str = "w") -> str:
        return next(iter(self.places(name)), "")


def delayed(settings: Any = None, **spec: Any) -> SecondPassHarness:
    """A workload that has quota, and whose place is to be found when its check is ready."""
    harness = SecondPassHarness(settings, **CHECKED, **spec)
    harness.gang("w", 1, request=UNCONSTRAINED)
    harness.check("Pending")
    harness.turn()
    assert harness.reserved == ["w"]
    return harness


def running(*nodes: str, **gates: bool) -> SecondPassHarness:
    harness = SecondPassHarness(configured(**gates), "n1")
    harness.gang("w", 1, request=UNCONSTRAINED)
    harness.turn()
    assert harness.node_of() == "n1"
    for node in nodes:
        harness.node(node, 1)
    return harness


def occupy(harness: SecondPassHarness, node: str, *, priority: int = 0) -> None:
    """Another workload runs on the node, which is new."""
    harness.node(node, 1)
    harness.running("small", 1, flavor="tas", priority=priority)
    manifest = to_json(harness.workloads[ObjectKey("ns", "small")])
    place = {
        "levels": [HOST],
        "slices": [{"domainCount": 1, "podCounts": {"universal": 1}, "valuesPerLevel": [{"universal": node}]}],
    }
    manifest["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] = place
    harness.show(from_json(manifest, WorkloadObject))


class TestDelayed:
    def test_it_waits_for_its_checks(self) -> None:
        """TAS-86."""
        harness = delayed()
        assert harness.later(60).decisions == []
        assert harness.engine.wake_at() is None

    def test_its_placement_is_found_a_second_after_its_checks_are_ready(self) -> None:
        """TAS-86, TAS-87, TAS-88; SCH-271, SCH-503."""
        harness = delayed()
        harness.node("n1", 1)
        harness.check("Ready")
        assert harness.engine.wake_at() == harness.now + timedelta(seconds=1)
        assert harness.later(0.5).decisions == []
        (decision,) = harness.later(0.5).decisions
        assert isinstance(decision, Reserve)
        assert decision.admission.pod_set_assignments[0].flavors == {"cpu": "tas"}
        assert decision.admission.pod_set_assignments[0].delayed_topology_request == "Ready"
        assert harness.node_of() == "n1"
        admitted = find(harness.workloads[W].status.conditions, "Admitted")
        assert admitted is not None
        assert admitted.status == "True"

    def test_a_pass_that_finds_nothing_keeps_the_quota_and_writes_nothing(self) -> None:
        """TAS-89; SCH-272."""
        harness = delayed()
        harness.check("Ready")
        before = harness.workloads[W]
        (decision,) = harness.later(1).decisions
        assert isinstance(decision, KeepUnplaced)
        assert harness.workloads[W] is before
        assert harness.engine.store.workloads[W].has_quota

    def test_each_failure_doubles_the_delay_up_to_half_a_minute(self) -> None:
        """TAS-87, TAS-89; SCH-271."""
        harness = delayed()
        harness.check("Ready")
        delays = []
        for _ in range(8):
            due = harness.engine.wake_at()
            assert due is not None
            delays.append((due - harness.now).total_seconds())
            harness.later(delays[-1])
        assert delays == [1, 2, 4, 8, 16, 30, 30, 30]

    def test_it_takes_no_quota_a_second_time(self) -> None:
        """TAS-84, TAS-87; SCH-341: the queue is full, and full it stays."""
        harness = delayed()
        harness.submit("other", 3)
        harness.check("Ready")
        harness.node("n1", 1)
        assert harness.later(1).reserved == ["w", "other"], "who has quota goes first (SCH-320)"
        usage = harness.engine.store.queues["q"].node.cells[next(iter(harness.engine.store.workloads[W].usage))].usage
        assert usage == 4000

    def test_a_workload_evicted_meanwhile_gets_none(self) -> None:
        """TAS-86, and our choice for Q-16; SCH-271: readiness triggers it again."""
        harness = delayed(**PREEMPTING)
        harness.check("Ready")
        harness.submit("boss", 4, priority=9)
        harness.turn()
        assert harness.evicted == {"w": "InClusterQueue"}
        assert harness.engine.wake_at() is None

    def test_a_stopped_queue_places_and_drops_no_workload(self) -> None:
        """SCH-303."""
        harness = delayed()
        harness.check("Ready")
        harness.node("n1", 1)
        harness.engine.store.queues["q"].is_active = False
        assert harness.later(1).decisions == []
        harness.engine.store.queues["q"].is_active = True
        assert harness.later(2).reserved == ["w"]

    def test_without_its_flavor_it_keeps_its_quota(self) -> None:
        harness = delayed()
        harness.check("Ready")
        harness.delete({"kind": "ResourceFlavor", "name": "tas"})
        harness.engine.store.queues["q"].is_active = True
        (decision,) = harness.later(1).decisions
        assert isinstance(decision, KeepUnplaced)
        assert decision.message == "failed to assign flavors to pod set main: no TAS flavor assigned"

    def test_victims_may_free_nodes_for_it(self) -> None:
        """TAS-88."""
        harness = delayed(**PREEMPTING)
        occupy(harness, "n1", priority=-1)
        harness.check("Ready")
        decisions = harness.later(1).decisions
        assert [type(each) for each in decisions] == [Evict, KeepUnplaced]
        assert harness.evicted == {"small": "InClusterQueue"}
        harness.settle()
        harness.later(2)
        assert harness.node_of() == "n1"

    def test_a_write_that_fails_brings_another_pass(self) -> None:
        harness = delayed()
        harness.check("Ready")
        harness.node("n1", 1)
        harness.conflict("ns/w")
        assert harness.later(1).reserved == ["w"]
        assert harness.node_of() == ""
        assert harness.used() == {}
        assert harness.engine.store.workloads[W].has_quota
        assert harness.later(1).reserved == ["w"]
        assert harness.node_of() == "n1"

    def test_pods_of_others_need_not_be_ready(self) -> None:
        """TAS-85."""
        harness = delayed()
        harness.engine.store.settings = configured({"waitForPodsReady": {"blockAdmission": True}})
        harness.check("Ready")
        harness.node("n1", 1)
        assert harness.later(1).reserved == ["w"]

    def test_it_comes_first_under_fair_sharing_too(self) -> None:
        """SCH-732."""
        harness = delayed(configured(FAIR_SHARING))
        harness.submit("other", 1, priority=9)
        harness.check("Ready")
        harness.node("n1", 1)
        assert harness.later(1).reserved == ["w", "other"]


class TestReplacement:
    def test_a_failed_node_is_replaced_and_dropped(self) -> None:
        """SCH-270, TAS-110."""
        harness = running("n2")
        harness.fail_node("n1")
        assert harness.later(1).reserved == ["w"]
        assert harness.node_of() == "n2"
        assert harness.workloads[W].status.unhealthy_nodes == ()
        assert harness.engine.wake_at() is None

    def test_others_get_its_released_placement_in_the_next_cycle(self) -> None:
        """TAS-84: the pods may still be there when the cycle decides; this node can have pods again."""
        harness = running("n2")
        harness.perform({"failNodes": {"workload": "ns/w", "nodes": ["n1"]}})
        harness.gang("v", 1, request=UNCONSTRAINED)
        harness.wait(1)
        assert harness.once().reserved == ["w"]
        assert harness.node_of() == "n2"
        assert harness.once().reserved == ["v"]
        assert harness.node_of("v") == "n1"

    def test_a_failed_node_is_replaced_although_the_queue_comes_after_the_workload(self) -> None:
        """SCH-420: after a restart objects come in any order."""
        harness = running("n2")
        harness.delete({"kind": "ClusterQueue", "name": "q"})
        harness.fail_node("n1")
        assert harness.engine.wake_at() is None
        harness.tas_queue("q", 4)
        assert harness.later(1).reserved == ["w"]
        assert harness.node_of() == "n2"

    def test_a_node_without_its_pods_is_ignored(self) -> None:
        """SCH-270."""
        harness = running("n2")
        harness.fail_node("n7")
        assert harness.engine.wake_at() is None

    def test_without_replacement_it_is_evicted(self) -> None:
        """TAS-110; SCH-332, SCH-361: and neither requeued nor given a pending reason."""
        harness = running()
        harness.fail_node("n1", "n7")
        assert harness.later(1).decisions == [EvictForFailedNodes(W, ("n1", "n7"))]
        evicted = find(harness.workloads[W].status.conditions, "Evicted")
        assert evicted is not None
        assert evicted.reason == "NodeFailures"
        assert evicted.message == "Workload was evicted as there was no replacement for unhealthy node(s): n1,n7"
        assert harness.later(60).decisions == []

    def test_an_eviction_that_can_not_be_written_is_decided_again(self) -> None:
        harness = running()
        harness.fail_node("n1")
        harness.conflict("ns/w")
        assert harness.later(1).decisions == [EvictForFailedNodes(W, ("n1",))]
        assert harness.later(1).decisions == [EvictForFailedNodes(W, ("n1",))]

    def test_without_failing_fast_it_is_tried_until_a_node_comes(self) -> None:
        """TAS-110; SCH-332, SCH-272."""
        harness = running(TASFailedNodeReplacementFailFast=False)
        harness.fail_node("n1")
        assert [type(each) for each in harness.later(1).decisions] == [KeepUnplaced]
        harness.node("n2", 1)
        assert harness.later(2).reserved == ["w"]

    def test_no_workload_is_preempted_for_it(self) -> None:
        """Our choice for Q-17, TAS-109."""
        harness = SecondPassHarness(configured(TASFailedNodeReplacementFailFast=False), "n1", **PREEMPTING)
        harness.gang("w", 1, request=UNCONSTRAINED)
        harness.turn()
        occupy(harness, "n2", priority=-1)
        harness.fail_node("n1")
        assert [type(each) for each in harness.later(1).decisions] == [KeepUnplaced]

    def test_a_node_that_recovers_in_time_changes_nothing(self) -> None:
        harness = running("n2")
        harness.fail_node("n1")
        harness.fail_node()
        assert harness.later(1).decisions == []

    def test_without_the_gate_nothing_is_replaced(self) -> None:
        gates = {"TASFailedNodeReplacement": False, "TASFailedNodeReplacementFailFast": False}
        harness = running("n2", **gates, TASReplaceNodeOnPodTermination=False)
        harness.fail_node("n1")
        assert harness.engine.wake_at() is None


class TestExplained:
    """TAS-116: a workload that has quota and no places is explained like one that is pending."""

    def explained(self, harness: SecondPassHarness) -> tuple[Evaluation | None, str]:
        found = harness.engine.explain(W, harness.now)
        assert check(harness.engine) == []
        return found.evaluation, explanation_lines(found)[0]

    def test_while_checks_are_pending_nothing_is_evaluated(self) -> None:
        assert self.explained(delayed()) == (
            None,
            "ns/w has 1 cpu of tas in queue q and waits for its admission checks.",
        )

    def test_pods_without_nodes(self) -> None:
        harness = delayed()
        harness.check("Ready")
        harness.later(1)
        evaluation, text = self.explained(harness)
        assert evaluation is not None
        assert evaluation.reason == "TopologyPlacementFailed"
        assert text == (
            "ns/w has 1 cpu of tas in queue q and waits: no topology domains at level: kubernetes.io/hostname."
        )

    def test_pods_whose_nodes_others_use(self) -> None:
        harness = delayed()
        occupy(harness, "n1")
        harness.check("Ready")
        harness.later(1)
        evaluation, text = self.explained(harness)
        assert evaluation is not None
        (trial,) = evaluation.pod_sets[0].short[0]
        assert trial.placement is not None
        assert [each.workload.name for each in trial.placement.holders] == ["small"]
        assert text == (
            "ns/w has 1 cpu of tas in queue q and waits for nodes of flavor tas: no domain has capacity for 1 pod."
        )

    def test_pods_that_are_placed_next(self) -> None:
        harness = delayed()
        harness.node("n1", 1)
        harness.check("Ready")
        evaluation, text = self.explained(harness)
        assert evaluation is not None
        assert evaluation.is_admitted
        assert text == "ns/w has 1 cpu of tas in queue q, and its pods are placed in the next scheduling cycle."
        assert harness.later(1).reserved == ["w"]

    def test_pods_that_preempt_others(self) -> None:
        harness = delayed(**PREEMPTING)
        occupy(harness, "n1", priority=-1)
        harness.check("Ready")
        _, text = self.explained(harness)
        assert text == "ns/w has 1 cpu of tas in queue q and waits to preempt ns/small."

    def test_pods_of_a_failed_node(self) -> None:
        harness = running(TASFailedNodeReplacementFailFast=False)
        harness.node("n2", 0)
        harness.fail_node("n1")
        harness.later(1)
        evaluation, text = self.explained(harness)
        assert evaluation is not None
        assert evaluation.preemption.help is PreemptionOutlook.POINTLESS
        assert text == (
            "ns/w is admitted to queue q with 1 cpu of tas and waits for nodes of flavor tas:"
            " no domain has capacity for 1 pod."
        )


@pytest.mark.parametrize("event", [ReservationFailed(W), EvictionFailed(W)])
def test_failed_writes_without_a_workload_are_ignored(event: Any) -> None:
    harness = running()
    harness.engine.apply(event, harness.now)
    assert harness.later(1).decisions == []
