"""Cycles with topologies: order, recomputation, preemption and what is kept from others (TAS-77 to TAS-82)."""

from typing import Any

import pytest

from engine.scenario_builders import CPU, FAIR_SHARING, configured, group, quota
from engine.topology.topology_scenario_builder import HOST, RACK, UNCONSTRAINED, TopologyScenarioBuilder, required
from kohort.engine.assignment import FitMode

Json = Any
TWO_RACKS: Json = {"b1": {"r1": {"h1": 4}, "r2": {"h2": 4}}}
OWN: Json = {"preemption": {"withinClusterQueue": "LowerPriority"}}
RECLAIM: Json = {"preemption": {"reclaimWithinCohort": "Any"}}
NO_LONGER_FITS = "Workload no longer fits after processing another workload"


def two_queues(
    tree: Json = TWO_RACKS, *, cohorts: tuple[str | None, str | None] = ("R", "R"), **gates: bool
) -> TopologyScenarioBuilder:
    play = TopologyScenarioBuilder(tree, configured(**gates))
    for name, cohort in zip("ab", cohorts, strict=True):
        play.tas_queue(name, 4, cohort=cohort)
    return play


class TestCompetition:
    """TAS-80, TAS-81, TAS-33."""

    @pytest.mark.parametrize("cohorts", [("R", "R"), ("R", "S"), (None, None)])
    def test_a_workload_that_loses_its_rack_gets_another_in_the_same_cycle(
        self, cohorts: tuple[str | None, str | None]
    ) -> None:
        play = two_queues(cohorts=cohorts)
        play.gang("first", 3, "a", request=required(RACK))
        play.gang("second", 3, "b", request=required(RACK))
        assert sorted(play.once().reserved) == ["first", "second"]
        assert play.places("first") == {"h1": 3}
        assert play.places("second") == {"h2": 3}

    def test_without_the_gate_it_waits_for_the_next_cycle(self) -> None:
        play = two_queues(TASRecomputeAssignmentWithinSchedulingCycle=False)
        play.gang("first", 3, "a", request=required(RACK))
        play.gang("second", 3, "b", request=required(RACK))
        assert play.once().reserved == ["first"]
        assert play.waiting["second"].message == NO_LONGER_FITS
        assert play.once().reserved == ["second"]

    @pytest.mark.parametrize("cohorts", [("R", "R"), ("R", "S")])
    def test_priority_decides_over_trees_that_share_nodes(self, cohorts: tuple[str | None, str | None]) -> None:
        """TAS-33, SCH-320: queue a comes first by name only."""
        play = two_queues({"b1": {"r1": {"h1": 4}}}, cohorts=cohorts)
        play.gang("low", 3, "a", request=required(RACK))
        play.gang("high", 3, "b", priority=1, request=required(RACK))
        assert play.once().reserved == ["high"]
        assert play.waiting["low"].message.endswith('topology "default" allows to fit only 1 out of 3 pod(s)')
        assert play.once().decisions == [], "no event may free places"

    def test_a_workload_that_loses_nodes_reserved_in_the_cycle_is_tried_again(self) -> None:
        """TAS-81, Q-18: high has no victims; it keeps what an empty cluster would give it for one cycle."""
        play = two_queues({"b1": {"r1": {"h1": 8}}}, cohorts=(None, None))
        play.tas_queue("c", 4)
        play.gang("first", 2, "c", request=required(RACK))
        play.turn()
        play.tas_queue("a", 100)
        play.gang("high", 7, "a", priority=1, request=required(RACK))
        play.gang("low", 2, "b", request=required(RACK))
        assert play.once().reserved == []
        assert play.waiting["low"].message == NO_LONGER_FITS
        assert play.once().reserved == ["low"]

    def test_trees_with_flavors_of_the_same_hosts_compete_too(self) -> None:
        """TAS-31."""
        play = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
        play.tas_flavor("other")
        play.tas_queue("a", 4, cohort="A")
        play.tas_queue("b", 4, "other", cohort="B")
        play.gang("low", 3, "a", request=required(RACK))
        play.gang("high", 3, "b", priority=1, request=required(RACK))
        assert play.once().reserved == ["high"]
        assert play.used() == play.used("other") == {"h1": 3}

    def test_what_one_tree_releases_another_gets(self) -> None:
        play = two_queues({"b1": {"r1": {"h1": 4}}}, cohorts=("R", "S"))
        play.gang("first", 3, "a", request=required(RACK))
        play.turn()
        play.gang("second", 3, "b", request=required(RACK))
        assert play.turn().reserved == []
        assert play.engine.store.pending["b"].counts.inadmissible == 1
        play.finish("ns/first")
        assert play.turn().reserved == ["second"]

    def test_what_lacks_quota_is_not_evaluated_again_when_another_tree_releases_nodes(self) -> None:
        play = two_queues({"b1": {"r1": {"h1": 4}}}, cohorts=("R", "S"))
        play.tas_queue("b", 2, cohort="S")
        play.gang("first", 3, "a", request=required(RACK))
        play.gang("second", 3, "b", request=required(RACK))
        assert play.turn().reserved == ["first"]
        pending = play.engine.store.pending["b"]
        assert (pending.counts.inadmissible, pending.waits_for_places) == (1, False)
        play.finish("ns/first")
        assert play.turn().reserved == []
        assert (pending.counts.active, pending.counts.inadmissible) == (0, 1)
        play.tas_queue("b", 3, cohort="S")
        assert play.turn().reserved == ["second"]

    def test_trees_that_share_no_nodes_are_scheduled_apart(self) -> None:
        play = TopologyScenarioBuilder(TWO_RACKS)
        play.tas_flavor("left", **{RACK: "r1"})
        play.tas_flavor("right", **{RACK: "r2"})
        play.tas_queue("a", 4, "left", cohort="A")
        play.tas_queue("b", 4, "right", cohort="B")
        play.gang("low", 3, "a", request=required(RACK))
        play.gang("high", 3, "b", priority=1, request=required(RACK))
        assert play.once().reserved == ["low", "high"]


class TestOverlappingFlavors:
    """TAS-31."""

    def overlapping(self, **gates: bool) -> TopologyScenarioBuilder:
        play = TopologyScenarioBuilder({"b1": {"r1": {"h1": 8}}}, configured(**gates))
        play.tas_flavor("other")
        play.tas_queue("a", 8, cohort="A")
        play.tas_queue("b", 8, "other", cohort="B")
        play.gang("w", 6, "a", request=UNCONSTRAINED)
        play.turn()
        play.gang("v", 4, "b", request=UNCONSTRAINED)
        return play

    def test_usage_of_a_host_counts_in_all_its_flavors(self) -> None:
        """EX-17."""
        play = self.overlapping()
        assert "allows to fit only 2 out of 4 pod(s)" in play.turn().waiting["v"].message
        play.finish("ns/w")
        assert play.turn().reserved == ["v"]

    def test_without_the_gate_each_flavor_counts_its_own(self) -> None:
        assert self.overlapping(TASHandleOverlappingFlavors=False).turn().reserved == ["v"]

    def test_pod_sets_in_two_flavors_do_not_take_the_same_host(self) -> None:
        play = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
        play.tas_flavor("other")
        play.queue("q", groups=[group({"tas": [quota(CPU, 10)]}), group({"other": [quota("memory", 100)]})])
        manifest = play.gang_of("w", 3, request=UNCONSTRAINED)
        memory = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "1"}}}]}}
        more = {**manifest["spec"]["podSets"][0], "name": "more", "count": 1, "template": memory}
        manifest["spec"]["podSets"].append(more)
        play.put(manifest)
        assert 'resource "memory": 1' in play.turn().waiting["w"].message


class TestPreemption:
    """TAS-77 to TAS-79."""

    @pytest.mark.parametrize("configuration", [None, FAIR_SHARING])
    def test_a_gang_takes_a_rack_although_quota_is_free(self, configuration: Json) -> None:
        play = TopologyScenarioBuilder(TWO_RACKS, configured(configuration))
        play.tas_queue("q", 100, **OWN)
        play.gang("one", 3, request=required(RACK))
        play.turn()
        play.gang("two", 2, priority=1, request=required(RACK))
        play.turn()
        play.gang("high", 4, priority=2, request=required(RACK))
        assert play.turn().evicted == {"one": "InClusterQueue"}, "the other has a higher priority"
        assert play.waiting["high"].reason == "WaitingForPreemptedWorkloads"
        assert play.places("two") == {"h2": 2}
        play.settle()
        assert play.turn().reserved == ["high"]
        assert play.places("high") == {"h1": 4}

    @pytest.mark.parametrize("configuration", [None, FAIR_SHARING])
    def test_borrowers_leave_nodes_to_reclaiming_workloads(self, configuration: Json) -> None:
        """TAS-82: eligibility follows quota alone."""
        play = TopologyScenarioBuilder(TWO_RACKS, configured(configuration))
        play.tas_queue("a", 6, **RECLAIM)
        play.tas_queue("b", 2)
        play.gang("x", 3, "b", request=required(RACK))
        play.gang("y", 3, "b", request=required(RACK))
        play.turn()
        play.gang("w", 4, "a", request=required(RACK))
        assert len(play.turn().evicted) == 1
        play.settle()
        assert play.turn().reserved[0] == "w"

    def test_no_workload_is_evicted_where_that_would_not_help(self) -> None:
        play = TopologyScenarioBuilder(TWO_RACKS)
        play.tas_queue("q", 100, **OWN)
        play.gang("low", 3, request=required(RACK))
        play.turn()
        play.gang("high", 5, priority=2, request=required(RACK))
        decisions = play.turn()
        assert decisions.evicted == {}
        assert decisions.waiting["high"].reason == "TopologyPlacementFailed"

    def test_a_preemptor_reserves_the_placements_of_its_victims(self) -> None:
        """TAS-78."""
        play = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
        play.tas_queue("a", 8, **OWN)
        play.tas_queue("b", 4)
        play.gang("low", 2, "a", request=required(RACK))
        play.turn()
        play.gang("high", 4, "a", priority=2, request=required(RACK))
        play.gang("other", 2, "b", priority=1, request=required(RACK))
        decisions = play.once()
        assert set(decisions.evicted) == {"low"}
        assert decisions.reserved == []

    def test_a_workload_without_victims_keeps_the_placement_in_an_empty_cluster(self) -> None:
        """TAS-78, SCH-340."""
        play = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
        play.tas_queue("a", 8)
        play.tas_queue("b", 8)
        play.gang("low", 2, "a", request=required(RACK))
        play.turn()
        play.gang("high", 4, "a", priority=2, request=required(RACK))
        play.gang("other", 2, "b", priority=1, request=required(RACK))
        decisions = play.once()
        assert decisions.waiting["high"].assignment is not None
        assert decisions.waiting["high"].assignment.mode is FitMode.PREEMPT
        assert decisions.reserved == []
        assert play.used() == {"h1": 2}, "it is kept for one cycle only"
        assert play.once().reserved == ["other"]

    def test_two_preemptors_of_a_cycle_do_not_share_a_victim(self) -> None:
        play = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
        play.tas_queue("a", 4, **RECLAIM)
        play.tas_queue("b", 4, **RECLAIM)
        play.tas_queue("c", 0)
        play.gang("x", 4, "c", request=required(RACK))
        play.turn()
        play.gang("w", 4, "a", request=required(RACK))
        play.gang("v", 4, "b", request=required(RACK))
        assert play.turn().evicted == {"x": "InCohortReclamation"}
        play.settle()
        assert play.turn().reserved == ["w"]
        assert play.used() == {"h1": 4}


def test_the_search_continues_with_flavors_whose_nodes_suffice() -> None:
    """SCH-550: quota decides on flavors, so that the next one is tried in the next cycle."""
    play = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}, "r2": {"h2": 9}}})
    play.tas_flavor("small", **{RACK: "r1"})
    play.tas_flavor("large", **{RACK: "r2"})
    play.queue("q", groups=[group({"small": [quota(CPU, 100)], "large": [quota(CPU, 100)]})])
    play.gang("w", 5, request=required(RACK))
    assert play.turn().reserved == ["w"]
    assert play.places("w") == {"h2": 5}


def test_growing_usage_of_other_pods_reactivates_nothing() -> None:
    """TAS-28."""
    play = TopologyScenarioBuilder(TWO_RACKS)
    play.tas_queue("q", 100)
    play.gang("w", 5, request=required(RACK))
    play.turn()
    play.perform({"nodeUsage": {"node": "h1", "requests": {"cpu": "1"}, "pods": 1}})
    assert play.turn().decisions == []


def test_usage_on_absent_nodes_counts_when_they_come_back() -> None:
    """TAS-30."""
    play = TopologyScenarioBuilder(TWO_RACKS)
    play.tas_queue("q", 100)
    play.gang("w", 3, request=required(RACK))
    play.turn()
    play.node("h1", 4, ready=False)
    assert play.used() == {}
    play.gang("v", 3, request=required(RACK))
    play.gang("u", 3, request=required(RACK))
    assert play.turn().reserved == ["v"]
    play.node("h1", 4)
    assert play.used() == {"h1": 3, "h2": 3}
    assert play.turn().reserved == []


def test_levels_that_change_keep_the_usage() -> None:
    """TAS-4."""
    play = TopologyScenarioBuilder(TWO_RACKS)
    play.tas_queue("q", 100)
    play.gang("w", 3, request=required(RACK))
    play.turn()
    play.gang("v", 5, request=required(RACK))
    assert play.turn().waiting["v"].reason == "TopologyPlacementFailed"
    play.topology("default", "block", HOST)
    assert play.used() == {"h1": 3}
    assert "does not contain the requested level" in play.turn().waiting["v"].message
    play.gang("u", 5, request=required("block"))
    assert play.turn().reserved == ["u"]
    assert play.used() == {"h1": 4, "h2": 4}


def test_finished_pods_release_quota_and_not_their_nodes() -> None:
    """TAS-29."""
    play = TopologyScenarioBuilder(TWO_RACKS)
    play.tas_queue("q", 4)
    play.gang("w", 4, request=required(RACK))
    play.turn()
    play.reclaim({"workload": "ns/w", "pods": {"main": 3}})
    assert play.used() == {"h1": 4}
    play.gang("v", 3, request=UNCONSTRAINED)
    assert play.turn().reserved == ["v"]
    assert play.places("v") == {"h2": 3}
