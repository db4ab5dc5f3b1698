"""Second passes, elastic slices and delayed placement with real topologies (TAS-40, TAS-66, TAS-84 to TAS-111)."""

from typing import Any

import pytest

from engine.scenario import DAWN
from engine.scenario_builders import configured
from engine.topology.topology_scenario_builder import HOST, RACK, TopologyScenarioBuilder, required
from kohort.api.codec import from_json, to_json
from kohort.api.core.nodes import Node
from kohort.api.kueue.conversion import V1BETA2
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import EvictForFailedNodes, KeepPending, KeepUnplaced, Reserve
from kohort.engine.event_log.lines import event_line, step_of
from kohort.engine.event_log.model import EventApplied
from kohort.engine.events import NodeUsageChanged, ObjectUpserted, ReservationFailed
from kohort.engine.lifecycle.admission import Reservation, reserve

Json = Any
W = ObjectKey("ns", "w")
AT = DAWN.isoformat()
RACK_OF_FOUR: Json = {"b1": {"r1": {"h1": 3, "h2": 3, "h3": 3}, "r2": {"h4": 9}}}
UNCONSTRAINED: Json = {"unconstrained": True}
ELASTIC = {"ElasticJobsViaWorkloadSlices": True, "ElasticJobsViaWorkloadSlicesWithTAS": True}


def changed(builder: TopologyScenarioBuilder, name: str, **status: Json) -> None:
    manifest = to_json(builder.workloads[ObjectKey("ns", name)])
    manifest["status"] = {**manifest.get("status", {}), **status}
    builder.show(from_json(manifest, Workload))


def pods_of(cores: int) -> Json:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": str(cores)}}}]}}


def later(builder: TopologyScenarioBuilder, seconds: float = 1) -> TopologyScenarioBuilder:
    builder.wait(seconds)
    builder.turn()
    return builder


class TestReplacement:
    """TAS-107 to TAS-111."""

    def running(self, request: Json, count: int = 5, **gates: bool) -> TopologyScenarioBuilder:
        builder = TopologyScenarioBuilder(RACK_OF_FOUR, configured(**gates))
        builder.tas_queue("q", 100)
        builder.gang("w", count, request=request)
        builder.turn()
        return builder

    def lose(self, builder: TopologyScenarioBuilder, node: str) -> None:
        builder.delete({"kind": "Node", "name": node})
        builder.perform({"failNodes": {"workload": "ns/w", "nodes": [node]}})

    def test_lost_pods_stay_in_the_required_domain(self) -> None:
        """EX-13."""
        builder = self.running(required(RACK))
        assert builder.places("w") == {"h1": 3, "h2": 2}
        self.lose(builder, "h2")
        assert later(builder).reserved == ["w"]
        assert builder.places("w") == {"h1": 3, "h3": 2}
        assert builder.used() == {"h1": 3, "h3": 2}
        assert builder.workloads[W].status.unhealthy_nodes == ()

    def test_where_the_domain_has_no_capacity_it_is_evicted(self) -> None:
        """EX-13, TAS-110."""
        builder = self.running(required(RACK))
        builder.gang("other", 3, request=required(HOST))
        builder.turn()
        builder.gang("more", 1, request=required(RACK))
        builder.turn()
        self.lose(builder, "h2")
        assert later(builder).decisions == [EvictForFailedNodes(W, ("h2",))]
        builder.settle()
        assert builder.turn().reserved == ["w"], "it is queued again at once"
        assert builder.places("w") == {"h4": 5}

    def test_only_what_is_new_is_booked(self) -> None:
        """TAS-84: the nodes of the pods that stay are full with them."""
        builder = self.running(required(RACK), 8)
        assert builder.places("w") == {"h1": 3, "h2": 3, "h3": 2}
        builder.node("h5", 2)
        self.lose(builder, "h3")
        assert later(builder).reserved == ["w"]
        assert builder.places("w") == builder.used() == {"h1": 3, "h2": 3, "h5": 2}

    def test_two_second_passes_do_not_take_the_same_node(self) -> None:
        """TAS-81, TAS-84."""
        builder = TopologyScenarioBuilder(
            {"b1": {"r1": {"h1": 1, "h2": 1, "h3": 1}}}, configured(TASFailedNodeReplacementFailFast=False)
        )
        builder.tas_queue("q", 100)
        for name in ("w", "v"):
            builder.gang(name, 1, request=UNCONSTRAINED)
            builder.turn()
        for name, node in (("w", "h1"), ("v", "h2")):
            assert builder.places(name) == {node: 1}
            builder.delete({"kind": "Node", "name": node})
            builder.perform({"failNodes": {"workload": f"ns/{name}", "nodes": [node]}})
        decisions = later(builder).decisions
        assert [type(each) for each in decisions] == [Reserve, KeepUnplaced]
        assert builder.used() == {"h3": 1}

    @pytest.mark.parametrize("is_written", [True, False])
    def test_assigned_placements_count_before_they_are_observed(self, is_written: bool) -> None:
        """As those of an admission (SCH-350, SCH-352): an older object that comes in between changes nothing."""
        builder = self.running(required(RACK))
        self.lose(builder, "h2")
        builder.wait(1)
        (decision,) = builder.engine.schedule(builder.now)
        assert isinstance(decision, Reserve)
        builder.engine.apply(ObjectUpserted(builder.workloads[W]), builder.now)
        assert builder.used() == {"h1": 3, "h3": 2}
        assert builder.engine.wake_at() is None
        if is_written:
            written = reserve(
                builder.workloads[W], Reservation(decision.admission, frozenset()), builder.settings.gates, builder.now
            )
            builder.show(written.workload)
            assert builder.used() == {"h1": 3, "h3": 2}
        else:
            builder.engine.apply(ReservationFailed(W), builder.now)
            assert builder.used() == {"h1": 3}
            assert later(builder).reserved == ["w"]
        assert builder.engine.store.placed_ahead == {}

    def test_nodes_are_found_by_their_hostnames(self) -> None:
        """TAS-25, Q-10."""
        builder = TopologyScenarioBuilder({})
        builder.tas_queue("q", 100)
        builder.node("n1", 1, hostname="h1")
        builder.gang("w", 1, request=UNCONSTRAINED)
        builder.turn()
        assert builder.places("w") == {"h1": 1}
        builder.node("n2", 1, hostname="h2")
        self.lose(builder, "n1")
        assert later(builder).reserved == ["w"]
        assert builder.places("w") == {"h2": 1}

    def test_the_workload_of_a_single_pod_keeps_its_placement(self) -> None:
        """TAS-111."""
        builder = TopologyScenarioBuilder(RACK_OF_FOUR)
        builder.tas_queue("q", 100)
        manifest = builder.gang_of("w", 1, request=UNCONSTRAINED)
        manifest["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p"}]
        builder.put(manifest)
        builder.turn()
        (node,) = builder.places("w")
        builder.perform({"failNodes": {"workload": "ns/w", "nodes": [node]}})
        assert later(builder).reserved == ["w"]
        assert builder.places("w") == {node: 1}
        assert builder.workloads[W].status.unhealthy_nodes == ()


def test_an_assignment_that_can_not_be_read_counts_nothing() -> None:
    """As a client with the right to write statuses may have left it."""
    builder = TopologyScenarioBuilder(RACK_OF_FOUR)
    builder.tas_queue("q", 100)
    builder.gang("w", 2, request=UNCONSTRAINED)
    builder.turn()
    manifest = to_json(builder.workloads[W])
    assigned = manifest["status"]["admission"]["podSetAssignments"][0]
    assigned["topologyAssignment"]["slices"][0]["domainCount"] = 7
    assigned["topologyAssignment"]["slices"][0]["podCounts"] = {"individual": [1]}
    builder.engine.apply(ObjectUpserted(from_json(manifest, Workload)), builder.now)
    assert builder.used() == {}
    builder.gang("v", 2, request=UNCONSTRAINED)
    assert builder.turn().reserved == ["v"]


class TestDelays:
    """TAS-40, TAS-43, TAS-88."""

    def checked(self, controller: str, tree: Json = RACK_OF_FOUR, **rule: Json) -> TopologyScenarioBuilder:
        builder = TopologyScenarioBuilder(tree)
        active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": AT}
        builder.put(
            {
                "apiVersion": V1BETA2,
                "kind": "AdmissionCheck",
                "metadata": {"name": "c"},
                "spec": {"controllerName": f"kueue.x-k8s.io/{controller}"},
                "status": {"conditions": [active]},
            }
        )
        checks = {"admissionChecks": [{"name": "c", **rule}]}
        builder.tas_queue("q", 100, admissionChecksStrategy=checks)
        builder.gang("w", 2, request=required(RACK))
        changed(
            builder, "w", admissionChecks=[{"name": "c", "state": "Pending", "message": "", "lastTransitionTime": AT}]
        )
        builder.turn()
        assert builder.reserved == ["w"]
        return builder

    def delay(self, builder: TopologyScenarioBuilder) -> str | None:
        admission = builder.workloads[W].status.admission
        assert admission is not None
        return admission.pod_set_assignments[0].delayed_topology_request

    def ready(self, builder: TopologyScenarioBuilder, **update: Json) -> None:
        check = {"name": "c", "state": "Ready", "message": "", "lastTransitionTime": AT}
        changed(builder, "w", admissionChecks=[{**check, "podSetUpdates": [{"name": "main", **update}]}])

    @pytest.mark.parametrize(
        ("controller", "rule", "delay"),
        [
            ("provisioning-request", {}, "Pending"),
            ("provisioning-request", {"onFlavors": ["tas"]}, "Pending"),
            ("multikueue", {}, "Pending"),
            ("budget", {}, None),
        ],
    )
    def test_checks_that_bring_nodes_delay_the_placement(self, controller: str, rule: Json, delay: str | None) -> None:
        builder = self.checked(controller, **rule)
        assert self.delay(builder) == delay
        assert bool(builder.places("w")) is (delay is None)

    def test_pods_go_to_the_nodes_that_the_check_selects(self) -> None:
        builder = self.checked("provisioning-request")
        builder.node("new", 4, rack="r9", made="yes")
        self.ready(builder, nodeSelector={"made": "yes"})
        assert later(builder).reserved == ["w"]
        assert builder.places("w") == {"new": 2}
        assert self.delay(builder) == "Ready"

    def test_places_that_are_awaited_are_kept_from_others_for_the_cycle(self) -> None:
        """TAS-78: as for a workload without quota, they are those of an empty cluster."""
        builder = self.checked("provisioning-request", {"b1": {"r1": {"h1": 4}}})
        builder.tas_queue("p", 100)
        builder.gang("x", 3, "p", request=required(RACK))
        builder.turn()
        self.ready(builder)
        builder.gang("y", 1, "p")
        builder.wait(1)
        kinds = {each.workload.name: type(each) for each in builder.cycle()}
        assert (kinds["w"], kinds["y"]) == (KeepUnplaced, KeepPending)
        builder.cycle()
        assert "y" in builder.admitted

    def test_the_second_pass_keeps_counts(self) -> None:
        """Q-22: of a pod that is no longer needed, too."""
        builder = self.checked("provisioning-request")
        changed(builder, "w", reclaimablePods=[{"name": "main", "count": 1}])
        self.ready(builder)
        assert later(builder).reserved == ["w"]
        admission = builder.workloads[W].status.admission
        assert admission is not None
        assert admission.pod_set_assignments[0].count == 2
        assert sum(builder.places("w").values()) == 1

    def test_updates_that_conflict_fail_the_placement(self) -> None:
        builder = self.checked("provisioning-request")
        manifest = to_json(builder.workloads[W])
        manifest["spec"]["podSets"][0]["template"]["spec"]["nodeSelector"] = {"made": "no"}
        builder.show(from_json(manifest, Workload))
        self.ready(builder, nodeSelector={"made": "yes"})
        (decision,) = later(builder).decisions
        assert isinstance(decision, KeepUnplaced)
        assert decision.message == (
            "failed to assign flavors to pod set main: invalid podSetUpdate for PodSet main, error: invalid admission"
            " check PodSetUpdate: conflict for nodeSelector: conflict for key=made, value1=no, value2=yes"
        )


class TestSlices:
    """TAS-66, TAS-67, Q-12."""

    def scaled(self, before: int, after: int, request: Json = UNCONSTRAINED, **gates: bool) -> TopologyScenarioBuilder:
        builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 2, "h2": 3, "h3": 3}}}, configured(**gates))
        builder.tas_queue("q", 100)
        builder.put(self.slice_of(builder, "w", before, UNCONSTRAINED))
        builder.turn()
        builder.put(self.slice_of(builder, "v", after, request, replaces="w"))
        builder.turn()
        return builder

    def slice_of(
        self, builder: TopologyScenarioBuilder, name: str, count: int, request: Json, replaces: str = ""
    ) -> Json:
        manifest = builder.gang_of(name, count, request=request)
        annotations = {"kueue.x-k8s.io/elastic-job": "true"}
        if replaces:
            annotations["kueue.x-k8s.io/workload-slice-replacement-for"] = f"ns/{replaces}"
        manifest["metadata"]["annotations"] = annotations
        return manifest

    def test_pods_stay_where_they_are_and_more_come(self) -> None:
        builder = self.scaled(4, 5, **ELASTIC)
        assert builder.places("v").items() >= {"h1": 2}.items()
        assert sum(builder.places("v").values()) == 5
        assert sum(builder.used().values()) == 5, "the pods of both slices are counted once"

    def resized(self, hosts: Json, before: Json, after: Json, **sizes: Json) -> TopologyScenarioBuilder:
        """Pods of two pod sets whose counts change."""
        builder = TopologyScenarioBuilder({"b1": {"r1": hosts}}, configured(**ELASTIC))
        builder.tas_queue("q", 100)
        for name, counts, replaces in (("w", before, ""), ("v", after, "w")):
            manifest = self.slice_of(builder, name, 1, UNCONSTRAINED, replaces)
            (one,) = manifest["spec"]["podSets"]
            manifest["spec"]["podSets"] = [
                {**one, "name": each, "count": count, "template": pods_of(sizes[each])}
                for each, count in counts.items()
            ]
            builder.put(manifest)
            builder.turn()
        return builder

    def test_added_pods_leave_the_places_of_later_pod_sets(self) -> None:
        """TAS-67: pods that stay are counted before any pod is placed."""
        builder = self.resized({"h1": 1, "h2": 1, "h3": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 1}, a=1, b=1)
        assert "v" in builder.admitted
        assert builder.places("v", "b") == {"h2": 1}
        assert builder.places("v", "a") == {"h1": 1, "h3": 1}

    def test_a_pod_set_that_shrinks_frees_places_for_another_one(self) -> None:
        """Q-12: of the replaced slice, only the pods that stay are counted (as with quota, SCH-1103)."""
        builder = self.resized({"h1": 6}, {"a": 2, "b": 2}, {"a": 4, "b": 1}, a=1, b=2)
        assert "v" in builder.admitted
        assert (builder.places("v", "a"), builder.places("v", "b")) == ({"h1": 4}, {"h1": 1})
        assert builder.used() == {"h1": 5}

    def test_required_topologies_are_refused(self) -> None:
        builder = self.scaled(2, 3, required(RACK), **ELASTIC)
        assert "required topology is not supported with ElasticJobsViaWorkloadSlices" in builder.waiting["v"].message

    @pytest.mark.parametrize("kind", ["required", "preferred"])
    def test_the_first_slice_can_request_no_level_either(self, kind: str) -> None:
        builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 2}}}, configured(**ELASTIC))
        builder.tas_queue("q", 100)
        builder.put(self.slice_of(builder, "w", 2, {kind: RACK}))
        builder.turn()
        problem = f"{kind} topology is not supported with ElasticJobsViaWorkloadSlices"
        assert builder.waiting["w"].message == f"failed to assign flavors to pod set main: {problem}"


def test_nodes_and_their_usage_are_recorded_and_replayed() -> None:
    """A log replays by itself."""
    node = from_json(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n", "labels": {"a": "b"}},
            "spec": {"unschedulable": True},
        },
        Node,
    )
    for event in (NodeUsageChanged("n", {"cpu": 1000, "pods": 1}), ObjectUpserted(node)):
        entry = step_of(event_line(event, DAWN))
        assert isinstance(entry, EventApplied)
        found = entry.event
        if isinstance(found, ObjectUpserted):
            assert isinstance(found.object, Node)
            assert (found.object.metadata.labels, found.object.spec.unschedulable) == ({"a": "b"}, True)
        else:
            assert found == event
