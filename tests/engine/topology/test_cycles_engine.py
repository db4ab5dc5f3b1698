"""Cycles with topologies: order, recomputation, preemption and what is kept from others (TAS-77 to TAS-82)."""

from typing import Any

import pytest

from engine.scenario_builders import CPU, FAIR_SHARING, configured, group, quota
from engine.topology.topology_scenario_builder import HOST, RACK, UNCONSTRAINED, TopologyScenarioBuilder, required
from kohort.engine.assignment import FitMode
from kohort.engine.state.competition import competing_queues

Json = Any
TWO_RACKS: Json = {"b1": {"r1": {"h1": 4}, "r2": {"h2": 4}}}
OWN: Json = {"preemption": {"withinClusterQueue": "LowerPriority"}}
RECLAIM: Json = {"preemption": {"reclaimWithinCohort": "Any"}}
NO_LONGER_FITS = "Workload no longer fits after processing another workload"


def two_queues(
    tree: Json = TWO_RACKS, *, cohorts: tuple[str | None, str | None] = ("R", "R"), **gates: bool
) -> TopologyScenarioBuilder:
    builder = TopologyScenarioBuilder(tree, configured(**gates))
    for name, cohort in zip("ab", cohorts, strict=True):
        builder.tas_queue(name, 4, cohort=cohort)
    return builder


class TestCompetition:
    """TAS-80, TAS-81, TAS-33."""

    @pytest.mark.parametrize("cohorts", [("R", "R"), ("R", "S"), (None, None)])
    def test_a_workload_that_loses_its_rack_gets_another_in_the_same_cycle(
        self, cohorts: tuple[str | None, str | None]
    ) -> None:
        builder = two_queues(cohorts=cohorts)
        builder.gang("first", 3, "a", request=required(RACK))
        builder.gang("second", 3, "b", request=required(RACK))
        assert sorted(builder.once().reserved) == ["first", "second"]
        assert builder.places("first") == {"h1": 3}
        assert builder.places("second") == {"h2": 3}

    def test_without_the_gate_it_waits_for_the_next_cycle(self) -> None:
        builder = two_queues(TASRecomputeAssignmentWithinSchedulingCycle=False)
        builder.gang("first", 3, "a", request=required(RACK))
        builder.gang("second", 3, "b", request=required(RACK))
        assert builder.once().reserved == ["first"]
        assert builder.waiting["second"].message == NO_LONGER_FITS
        assert builder.once().reserved == ["second"]

    @pytest.mark.parametrize("cohorts", [("R", "R"), ("R", "S")])
    def test_priority_decides_over_trees_that_share_nodes(self, cohorts: tuple[str | None, str | None]) -> None:
        """TAS-33, SCH-320: queue a comes first by name only."""
        builder = two_queues({"b1": {"r1": {"h1": 4}}}, cohorts=cohorts)
        builder.gang("low", 3, "a", request=required(RACK))
        builder.gang("high", 3, "b", priority=1, request=required(RACK))
        assert builder.once().reserved == ["high"]
        assert builder.waiting["low"].message.endswith('topology "default" allows to fit only 1 out of 3 pod(s)')
        assert builder.once().decisions == [], "no event may free places"

    def test_a_workload_that_loses_nodes_reserved_in_the_cycle_is_tried_again(self) -> None:
        """TAS-81, Q-18: high has no victims; it keeps what an empty cluster would give it for one cycle."""
        builder = two_queues({"b1": {"r1": {"h1": 8}}}, cohorts=(None, None))
        builder.tas_queue("c", 4)
        builder.gang("first", 2, "c", request=required(RACK))
        builder.turn()
        builder.tas_queue("a", 100)
        builder.gang("high", 7, "a", priority=1, request=required(RACK))
        builder.gang("low", 2, "b", request=required(RACK))
        assert builder.once().reserved == []
        assert builder.waiting["low"].message == NO_LONGER_FITS
        assert builder.once().reserved == ["low"]

    def test_trees_with_flavors_of_the_same_hosts_compete_too(self) -> None:
        """TAS-31."""
        builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
        builder.tas_flavor("other")
        builder.tas_queue("a", 4, cohort="A")
        builder.tas_queue("b", 4, "other", cohort="B")
        builder.gang("low", 3, "a", request=required(RACK))
        builder.gang("high", 3, "b", priority=1, request=required(RACK))
        assert builder.once().reserved == ["high"]
        assert builder.used() == builder.used("other") == {"h1": 3}

    def test_what_one_tree_releases_another_gets(self) -> None:
        builder = two_queues({"b1": {"r1": {"h1": 4}}}, cohorts=("R", "S"))
        builder.gang("first", 3, "a", request=required(RACK))
        builder.turn()
        builder.gang("second", 3, "b", request=required(RACK))
        assert builder.turn().reserved == []
        assert builder.engine.store.pending["b"].counts.inadmissible == 1
        builder.finish("ns/first")
        assert builder.turn().reserved == ["second"]

    def test_what_lacks_quota_is_not_evaluated_again_when_another_tree_releases_nodes(self) -> None:
        builder = two_queues({"b1": {"r1": {"h1": 4}}}, cohorts=("R", "S"))
        builder.tas_queue("b", 2, cohort="S")
        builder.gang("first", 3, "a", request=required(RACK))
        builder.gang("second", 3, "b", request=required(RACK))
        assert builder.turn().reserved == ["first"]
        pending = builder.engine.store.pending["b"]
        assert (pending.counts.inadmissible, pending.waits_for_places) == (1, False)
        builder.finish("ns/first")
        assert builder.turn().reserved == []
        assert (pending.counts.active, pending.counts.inadmissible) == (0, 1)
        builder.tas_queue("b", 3, cohort="S")
        assert builder.turn().reserved == ["second"]

    def test_a_workload_that_lost_its_quota_in_a_cycle_waits_for_no_places_after_the_next(self) -> None:
        """TAS-24: places that pods leave in another tree do not reactivate it."""
        builder = two_queues({"b1": {"r1": {"h1": 12}}})
        builder.tas_queue("b", 0, cohort="R")
        builder.gang("first", 4, "a", request=required(RACK))
        builder.gang("second", 4, "b", request=required(RACK))
        assert builder.once().reserved == ["first"]
        assert builder.waiting["second"].message == NO_LONGER_FITS
        builder.turn()
        pending = builder.engine.store.pending["b"]
        assert (pending.counts.inadmissible, pending.waits_for_places) == (1, False)

    def test_trees_compete_once_a_node_belongs_to_flavors_of_both(self) -> None:
        """TAS-21, TAS-31: a label of a node changes which queues are scheduled in one cycle."""
        builder = TopologyScenarioBuilder(TWO_RACKS)
        builder.tas_flavor("left", **{RACK: "r1"})
        builder.tas_flavor("big", size="big")
        builder.tas_queue("a", 4, "left", cohort="A")
        builder.tas_queue("b", 4, "big", cohort="B")
        assert competing_queues(builder.engine.store, builder.engine.store.queues["a"]) == ["a"]
        builder.node("h1", 4, size="big")
        assert competing_queues(builder.engine.store, builder.engine.store.queues["a"]) == ["a", "b"]
        builder.node("h1", 4)
        assert competing_queues(builder.engine.store, builder.engine.store.queues["a"]) == ["a"]
        builder.tas_queue("a", 4, "left", cohort="B")
        assert competing_queues(builder.engine.store, builder.engine.store.queues["a"]) == ["a", "b"]

    def test_trees_that_share_no_nodes_are_scheduled_apart(self) -> None:
        builder = TopologyScenarioBuilder(TWO_RACKS)
        builder.tas_flavor("left", **{RACK: "r1"})
        builder.tas_flavor("right", **{RACK: "r2"})
        builder.tas_queue("a", 4, "left", cohort="A")
        builder.tas_queue("b", 4, "right", cohort="B")
        builder.gang("low", 3, "a", request=required(RACK))
        builder.gang("high", 3, "b", priority=1, request=required(RACK))
        assert builder.once().reserved == ["low", "high"]


class TestOverlappingFlavors:
    """TAS-31."""

    def overlapping(self, **gates: bool) -> TopologyScenarioBuilder:
        builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 8}}}, configured(**gates))
        builder.tas_flavor("other")
        builder.tas_queue("a", 8, cohort="A")
        builder.tas_queue("b", 8, "other", cohort="B")
        builder.gang("w", 6, "a", request=UNCONSTRAINED)
        builder.turn()
        builder.gang("v", 4, "b", request=UNCONSTRAINED)
        return builder

    def test_usage_of_a_host_counts_in_all_its_flavors(self) -> None:
        """EX-17."""
        builder = self.overlapping()
        assert "allows to fit only 2 out of 4 pod(s)" in builder.turn().waiting["v"].message
        builder.finish("ns/w")
        assert builder.turn().reserved == ["v"]

    def test_without_the_gate_each_flavor_counts_its_own(self) -> None:
        assert self.overlapping(TASHandleOverlappingFlavors=False).turn().reserved == ["v"]

    def test_pod_sets_in_two_flavors_do_not_take_the_same_host(self) -> None:
        builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
        builder.tas_flavor("other")
        builder.queue("q", groups=[group({"tas": [quota(CPU, 10)]}), group({"other": [quota("memory", 100)]})])
        manifest = builder.gang_of("w", 3, request=UNCONSTRAINED)
        memory = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "1"}}}]}}
        more = {**manifest["spec"]["podSets"][0], "name": "more", "count": 1, "template": memory}
        manifest["spec"]["podSets"].append(more)
        builder.put(manifest)
        assert 'resource "memory": 1' in builder.turn().waiting["w"].message


class TestPreemption:
    """TAS-77 to TAS-79."""

    @pytest.mark.parametrize("configuration", [None, FAIR_SHARING])
    def test_a_gang_takes_a_rack_although_quota_is_free(self, configuration: Json) -> None:
        builder = TopologyScenarioBuilder(TWO_RACKS, configured(configuration))
        builder.tas_queue("q", 100, **OWN)
        builder.gang("one", 3, request=required(RACK))
        builder.turn()
        builder.gang("two", 2, priority=1, request=required(RACK))
        builder.turn()
        builder.gang("high", 4, priority=2, request=required(RACK))
        assert builder.turn().evicted == {"one": "InClusterQueue"}, "the other has a higher priority"
        assert builder.waiting["high"].reason == "WaitingForPreemptedWorkloads"
        assert builder.places("two") == {"h2": 2}
        builder.settle()
        assert builder.turn().reserved == ["high"]
        assert builder.places("high") == {"h1": 4}

    @pytest.mark.parametrize("configuration", [None, FAIR_SHARING])
    def test_borrowers_leave_nodes_to_reclaiming_workloads(self, configuration: Json) -> None:
        """TAS-82: eligibility follows quota alone."""
        builder = TopologyScenarioBuilder(TWO_RACKS, configured(configuration))
        builder.tas_queue("a", 6, **RECLAIM)
        builder.tas_queue("b", 2)
        builder.gang("x", 3, "b", request=required(RACK))
        builder.gang("y", 3, "b", request=required(RACK))
        builder.turn()
        builder.gang("w", 4, "a", request=required(RACK))
        assert len(builder.turn().evicted) == 1
        builder.settle()
        assert builder.turn().reserved[0] == "w"

    def test_no_workload_is_evicted_where_that_would_not_help(self) -> None:
        builder = TopologyScenarioBuilder(TWO_RACKS)
        builder.tas_queue("q", 100, **OWN)
        builder.gang("low", 3, request=required(RACK))
        builder.turn()
        builder.gang("high", 5, priority=2, request=required(RACK))
        decisions = builder.turn()
        assert decisions.evicted == {}
        assert decisions.waiting["high"].reason == "TopologyPlacementFailed"

    def test_a_preemptor_reserves_the_placements_of_its_victims(self) -> None:
        """TAS-78."""
        builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
        builder.tas_queue("a", 8, **OWN)
        builder.tas_queue("b", 4)
        builder.gang("low", 2, "a", request=required(RACK))
        builder.turn()
        builder.gang("high", 4, "a", priority=2, request=required(RACK))
        builder.gang("other", 2, "b", priority=1, request=required(RACK))
        decisions = builder.once()
        assert set(decisions.evicted) == {"low"}
        assert decisions.reserved == []

    def test_a_workload_without_victims_keeps_the_placement_in_an_empty_cluster(self) -> None:
        """TAS-78, SCH-340."""
        builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
        builder.tas_queue("a", 8)
        builder.tas_queue("b", 8)
        builder.gang("low", 2, "a", request=required(RACK))
        builder.turn()
        builder.gang("high", 4, "a", priority=2, request=required(RACK))
        builder.gang("other", 2, "b", priority=1, request=required(RACK))
        decisions = builder.once()
        assert decisions.waiting["high"].assignment is not None
        assert decisions.waiting["high"].assignment.mode is FitMode.PREEMPT
        assert decisions.reserved == []
        assert builder.used() == {"h1": 2}, "it is kept for one cycle only"
        assert builder.once().reserved == ["other"]

    def test_two_preemptors_of_a_cycle_do_not_share_a_victim(self) -> None:
        builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
        builder.tas_queue("a", 4, **RECLAIM)
        builder.tas_queue("b", 4, **RECLAIM)
        builder.tas_queue("c", 0)
        builder.gang("x", 4, "c", request=required(RACK))
        builder.turn()
        builder.gang("w", 4, "a", request=required(RACK))
        builder.gang("v", 4, "b", request=required(RACK))
        assert builder.turn().evicted == {"x": "InCohortReclamation"}
        builder.settle()
        assert builder.turn().reserved == ["w"]
        assert builder.used() == {"h1": 4}


def test_the_search_continues_with_flavors_whose_nodes_suffice() -> None:
    """SCH-550: quota decides on flavors, so that the next one is tried in the next cycle."""
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}, "r2": {"h2": 9}}})
    builder.tas_flavor("small", **{RACK: "r1"})
    builder.tas_flavor("large", **{RACK: "r2"})
    builder.queue("q", groups=[group({"small": [quota(CPU, 100)], "large": [quota(CPU, 100)]})])
    builder.gang("w", 5, request=required(RACK))
    assert builder.turn().reserved == ["w"]
    assert builder.places("w") == {"h2": 5}


def test_growing_usage_of_other_pods_reactivates_nothing() -> None:
    """TAS-28."""
    builder = TopologyScenarioBuilder(TWO_RACKS)
    builder.tas_queue("q", 100)
    builder.gang("w", 5, request=required(RACK))
    builder.turn()
    builder.perform({"nodeUsage": {"node": "h1", "requests": {"cpu": "1"}, "pods": 1}})
    assert builder.turn().decisions == []


def test_usage_on_absent_nodes_counts_when_they_come_back() -> None:
    """TAS-30."""
    builder = TopologyScenarioBuilder(TWO_RACKS)
    builder.tas_queue("q", 100)
    builder.gang("w", 3, request=required(RACK))
    builder.turn()
    builder.node("h1", 4, ready=False)
    assert builder.used() == {}
    builder.gang("v", 3, request=required(RACK))
    builder.gang("u", 3, request=required(RACK))
    assert builder.turn().reserved == ["v"]
    builder.node("h1", 4)
    assert builder.used() == {"h1": 3, "h2": 3}
    assert builder.turn().reserved == []


def test_levels_that_change_keep_the_usage() -> None:
    """TAS-4."""
    builder = TopologyScenarioBuilder(TWO_RACKS)
    builder.tas_queue("q", 100)
    builder.gang("w", 3, request=required(RACK))
    builder.turn()
    builder.gang("v", 5, request=required(RACK))
    assert builder.turn().waiting["v"].reason == "TopologyPlacementFailed"
    builder.topology("default", "block", HOST)
    assert builder.used() == {"h1": 3}
    assert "does not contain the requested level" in builder.turn().waiting["v"].message
    builder.gang("u", 5, request=required("block"))
    assert builder.turn().reserved == ["u"]
    assert builder.used() == {"h1": 4, "h2": 4}


def test_finished_pods_release_quota_and_not_their_nodes() -> None:
    """TAS-29."""
    builder = TopologyScenarioBuilder(TWO_RACKS)
    builder.tas_queue("q", 4)
    builder.gang("w", 4, request=required(RACK))
    builder.turn()
    builder.reclaim({"workload": "ns/w", "pods": {"main": 3}})
    assert builder.used() == {"h1": 4}
    builder.gang("v", 3, request=UNCONSTRAINED)
    assert builder.turn().reserved == ["v"]
    assert builder.places("v") == {"h2": 3}
