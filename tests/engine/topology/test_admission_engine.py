"""From events to admissions with topology assignments (TAS-34 to TAS-42, TAS-75, TAS-76)."""

from typing import Any

import pytest

from engine.scenario_builders import CPU, configured, group, quota
from engine.topology.topology_scenario_builder import (
    HOST,
    RACK,
    TREE_T,
    UNCONSTRAINED,
    TopologyScenarioBuilder,
    preferred,
    required,
)
from kohort.engine.assignment import FitMode
from kohort.engine.decisions import RequeueReason

Json = Any


def play_with_queue(tree: Json = TREE_T, **gates: bool) -> TopologyScenarioBuilder:
    builder = TopologyScenarioBuilder(tree, configured(**gates))
    builder.tas_queue("q")
    return builder


@pytest.mark.parametrize(
    ("request_", "count", "places"),
    [
        (required(RACK), 5, {"h6": 3, "h7": 2}),
        (preferred(RACK), 9, {"h1": 2, "h2": 2, "h3": 4, "h5": 1}),
        (UNCONSTRAINED, 4, {"h3": 4}),
        (None, 6, {"h1": 2, "h2": 2, "h4": 1, "h5": 1}),
    ],
    ids=["EX-1", "EX-3", "EX-5", "EX-6 implicitly"],
)
def test_a_gang_is_admitted_with_the_domains_of_its_pods(request_: Json, count: int, places: dict[str, int]) -> None:
    """TAS-75, TAS-35."""
    builder = play_with_queue()
    builder.gang("w", count, request=request_)
    assert builder.turn().reserved == ["w"]
    assert builder.places("w") == places
    assert builder.used() == places


def test_a_gang_that_no_rack_can_take_does_not_fit() -> None:
    """TAS-76, TAS-116, EX-2."""
    builder = play_with_queue()
    builder.gang("w", 8, request=required(RACK))
    decision = builder.turn().waiting["w"]
    assert decision.reason == "TopologyPlacementFailed"
    assert decision.requeue is RequeueReason.NO_FIT
    assert decision.message == (
        'couldn\'t assign flavors to pod set main: topology "default" allows to fit only 7 out of 8 pod(s)'
    )


def test_without_granular_reasons_the_reason_is_pending() -> None:
    """TAS-116."""
    builder = play_with_queue(UnadmittedWorkloadsObservability=False, UnadmittedWorkloadsExplicitStatus=False)
    builder.gang("w", 8, request=required(RACK))
    builder.turn()
    assert builder.pending_reason("w")[0] == "Pending"


def test_a_gang_waits_while_others_have_the_nodes() -> None:
    """TAS-76: quota is free, and the rack would do if it were empty."""
    builder = play_with_queue()
    builder.gang("first", 5, request=required(RACK))
    builder.turn()
    builder.gang("second", 7, request=required(RACK))
    builder.gang("third", 6, request=required(RACK))
    decisions = builder.turn()
    assert decisions.reserved == ["second"]
    third = decisions.waiting["third"]
    assert third.reason == "WaitingForQuota"
    assert third.assignment is not None
    assert third.assignment.mode is FitMode.PREEMPT
    assert "allows to fit only 4 out of 6 pod(s)" in third.message
    builder.finish("ns/first")
    assert builder.turn().reserved == ["third"]


def test_a_node_that_comes_reactivates_workloads() -> None:
    """TAS-24."""
    builder = play_with_queue()
    builder.gang("w", 8, request=required(RACK))
    assert builder.turn().reserved == []
    builder.node("h9", 1, block="b1", rack="r2")
    assert builder.turn().reserved == ["w"]
    assert builder.places("w") == {"h3": 4, "h4": 2, "h5": 1, "h9": 1}


def test_pods_of_others_count_and_their_end_reactivates_workloads() -> None:
    """TAS-26 to TAS-28."""
    builder = play_with_queue()
    builder.perform({"nodeUsage": {"node": "h6", "requests": {"cpu": "2"}, "pods": 2}})
    builder.gang("w", 7, request=required(RACK))
    assert builder.turn().reserved == ["w"]
    builder.gang("v", 6, request=required(RACK))
    assert builder.turn().reserved == []
    builder.perform({"nodeUsage": {"node": "h6"}})
    assert builder.turn().reserved == ["v"]
    assert builder.places("v") == {"h6": 3, "h7": 3}


def test_pods_of_others_that_come_reactivate_no_workload() -> None:
    """TAS-28: only active workloads are evaluated again; one of them may no longer hold places that it waits for."""
    builder = play_with_queue()
    builder.gang("w", 8, request=required(RACK))
    assert list(builder.turn().waiting) == ["w"]
    builder.perform({"nodeUsage": {"node": "h6", "requests": {"cpu": "1"}, "pods": 1}})
    assert builder.turn().decisions == []
    builder.perform({"nodeUsage": {"node": "h6", "requests": {"cpu": "2"}, "pods": 1}})
    assert builder.turn().decisions == []


def test_the_head_of_a_strict_queue_follows_what_others_use() -> None:
    """TAS-28, TAS-113: it stays active, so that its message has the current figures."""
    builder = TopologyScenarioBuilder(TREE_T, configured())
    builder.tas_queue("q", queueingStrategy="StrictFIFO")
    builder.gang("w", 8, request=required(RACK))
    assert "only 7 out of 8" in builder.turn().waiting["w"].message
    builder.perform({"nodeUsage": {"node": "h3", "requests": {"cpu": "2"}, "pods": 1}})
    assert "only 6 out of 8" in builder.turn().waiting["w"].message


def test_topology_and_nodes_may_come_after_the_workloads() -> None:
    """TAS-6, TAS-7: usage of admitted workloads counts as soon as their flavor has a topology."""
    builder = play_with_queue()
    builder.gang("w", 5, request=required(RACK))
    builder.turn()
    shown = list(builder.workloads.values())
    again = TopologyScenarioBuilder({})
    again.delete({"kind": "Topology", "name": "default"})
    again.tas_queue("q")
    for each in shown:
        again.show(each)
    assert not again.engine.store.queues["q"].is_active
    again.gang("v", 2, request=required(RACK))
    assert again.turn().reserved == []
    for host in ("h6", "h7"):
        again.node(host, 3, block="b2", rack="r3")
    again.topology("default", "block", RACK, HOST)
    assert again.used() == {"h6": 3, "h7": 2}
    assert again.turn().reserved == []
    again.finish("ns/w")
    assert again.turn().reserved == ["v"]


def test_a_queue_whose_topology_is_gone_admits_nothing() -> None:
    """TAS-6, SCH-1051."""
    builder = play_with_queue()
    builder.delete({"kind": "Topology", "name": "default"})
    builder.gang("w", 2, request=required(RACK))
    assert builder.turn().decisions == []
    builder.topology("default", "block", RACK, HOST)
    assert builder.turn().reserved == ["w"]


def test_deleted_and_failed_admissions_release_the_nodes() -> None:
    builder = play_with_queue()
    builder.gang("w", 5, request=required(RACK))
    builder.conflict("ns/w")
    assert builder.turn().reserved == ["w"]
    assert builder.used() == {}
    assert builder.turn().reserved == ["w"]
    builder.delete({"kind": "Workload", "namespace": "ns", "name": "w"})
    assert builder.used() == {}


class TestFlavors:
    """TAS-36, TAS-37, SCH-511."""

    def mixed(self) -> TopologyScenarioBuilder:
        builder = TopologyScenarioBuilder()
        builder.queue("q", groups=[group({"f": [quota(CPU, 10)], "tas": [quota(CPU, 10)]})])
        return builder

    def test_a_request_passes_over_flavors_without_topology(self) -> None:
        builder = self.mixed()
        builder.gang("w", 2, request=required(RACK))
        assert builder.turn().reserved == ["w"]
        assert builder.admitted["w"] == {CPU: "tas"}

    def test_without_a_request_flavors_with_topology_are_passed_over(self) -> None:
        builder = self.mixed()
        builder.gang("w", 11)
        message = builder.turn().waiting["w"].message
        assert 'Flavor "tas" supports only TopologyAwareScheduling' in message

    def test_index_labels_and_false_are_no_request(self) -> None:
        """TAS-34, Q-2."""
        builder = self.mixed()
        builder.gang("labels", 1, request={"podIndexLabel": "i"})
        builder.gang("false", 1, request={"unconstrained": False})
        builder.turn()
        assert builder.admitted == {"labels": {CPU: "f"}, "false": {CPU: "f"}}

    def test_a_queue_without_topology_has_no_flavor_for_a_request(self) -> None:
        builder = TopologyScenarioBuilder()
        builder.queue("q", 10)
        builder.gang("w", 1, request=required(RACK))
        decision = builder.turn().waiting["w"]
        assert decision.reason == "NoMatchingFlavor"
        assert 'Flavor "f" does not support TopologyAwareScheduling' in decision.message

    @pytest.mark.parametrize(
        "request_",
        [
            required("row"),
            {"preferred": "row"},
            {"required": RACK, "podSetSliceRequiredTopology": "row", "podSetSliceSize": 1},
            {"required": RACK, "podsetSliceRequiredTopologyConstraints": [{"topology": "row", "size": 1}]},
        ],
    )
    def test_a_flavor_must_have_the_levels(self, request_: Json) -> None:
        builder = play_with_queue()
        builder.gang("w", 1, request=request_)
        assert 'Flavor "tas" does not contain the requested level' in builder.turn().waiting["w"].message

    def test_flavors_of_resources_that_pods_do_not_request_need_no_topology(self) -> None:
        """Quota of a resource that only a transformation produces."""
        transformations = [{"input": CPU, "strategy": "Retain", "outputs": {"credits": 1}}]
        settings = configured({"resources": {"transformations": transformations}})
        builder = TopologyScenarioBuilder(settings=settings)
        groups = [group({"tas": [quota(CPU, 10)]}), group({"f": [quota("credits", 100)]})]
        builder.queue("q", groups=groups)
        builder.gang("w", 2, request=required(RACK))
        assert builder.turn().reserved == ["w"]
        assert builder.admitted["w"] == {CPU: "tas", "credits": "f"}

    def test_pod_sets_get_one_tas_flavor(self) -> None:
        builder = TopologyScenarioBuilder()
        builder.tas_flavor("other")
        builder.queue("q", groups=[group({"tas": [quota(CPU, 10)]}), group({"other": [quota("memory", 10)]})])
        builder.gang("w", 1, size={CPU: 1, "memory": 1}, request=required(RACK))
        decision = builder.turn().waiting["w"]
        assert decision.message == (
            "failed to assign flavors to pod set main: more than one TAS flavor assigned: other, tas"
        )

    def test_a_pod_set_without_managed_resources_has_no_flavor(self) -> None:
        builder = play_with_queue()
        builder.gang("w", 1, size={}, request=required(RACK))
        assert builder.turn().waiting["w"].message == (
            "failed to assign flavors to pod set main: no TAS flavor assigned"
        )

    def test_with_the_gate_off_requests_and_topologies_are_not_read(self) -> None:
        gates = [
            "TASFailedNodeReplacement",
            "TASFailedNodeReplacementFailFast",
            "TASHandleOverlappingFlavors",
            "TASMultiLayerTopology",
            "TASProfileMixed",
            "TASRecomputeAssignmentWithinSchedulingCycle",
            "TASReplaceNodeOnNodeTaints",
            "TASReplaceNodeOnPodTermination",
        ]
        builder = TopologyScenarioBuilder(
            settings=configured(TopologyAwareScheduling=False, **dict.fromkeys(gates, False))
        )
        builder.queue("q", groups=[group({"f": [quota(CPU, 1)], "tas": [quota(CPU, 10)]})])
        builder.gang("w", 9, request=required(RACK))
        assert builder.turn().reserved == ["w"]
        assert builder.places("w") == {}


class TestGroups:
    """TAS-38, TAS-41, TAS-42."""

    def group_of(self, builder: TopologyScenarioBuilder, leader: Json, workers: int) -> Json:
        manifest = builder.gang_of("w", workers, request={"required": RACK, "podSetGroupName": "g"})
        (pod_set,) = manifest["spec"]["podSets"]
        requests = {CPU: str(leader)} if leader else {}
        template = {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}
        manifest["spec"]["podSets"].insert(0, {**pod_set, "name": "leader", "count": 1, "template": template})
        return manifest

    def test_the_leader_is_placed_with_its_workers(self) -> None:
        builder = play_with_queue()
        builder.put(self.group_of(builder, 1, 4))
        assert builder.turn().reserved == ["w"]
        assert builder.places("w", "leader").keys() <= {"h6", "h7"}
        assert sum(builder.places("w").values()) == 4
        assert sum(builder.used().values()) == 5

    def test_a_leader_without_requests_has_the_flavor_of_its_group(self) -> None:
        builder = play_with_queue()
        builder.put(self.group_of(builder, 0, 4))
        assert builder.turn().reserved == ["w"]
        assert sum(builder.places("w", "leader").values()) == 1

    def test_pod_sets_of_a_workload_do_not_take_the_same_nodes(self) -> None:
        """TAS-41."""
        builder = play_with_queue()
        manifest = builder.gang_of("w", 6, request=required(RACK))
        manifest["spec"]["podSets"].append({**manifest["spec"]["podSets"][0], "name": "more", "count": 5})
        builder.put(manifest)
        assert builder.turn().reserved == ["w"]
        assert builder.places("w") == {"h6": 3, "h7": 3}
        assert builder.places("w", "more").keys() <= {"h3", "h4", "h5"}

    def test_an_explicit_group_needs_two_pod_sets_and_a_leader(self) -> None:
        """TAS-14."""
        builder = play_with_queue()
        manifest = self.group_of(builder, 1, 2)
        manifest["spec"]["podSets"][0]["count"] = 2
        builder.put(manifest)
        assert builder.turn().waiting["w"].message == (
            'failed to assign flavors to pod set leader: pod set group "g" must have two pod sets, one of them with a'
            " single pod"
        )


def test_partial_admission_takes_the_size_that_can_be_placed() -> None:
    """TAS-83."""
    builder = play_with_queue()
    builder.gang("w", 10, min_count=2, request=required(RACK))
    assert builder.turn().reserved == ["w"]
    assert sum(builder.places("w").values()) == 7
