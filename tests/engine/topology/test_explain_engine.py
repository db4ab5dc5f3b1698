"""Why a gang waits though quota is free, as data and in words (TAS-113 to TAS-116)."""

from typing import Any

from engine.invariants import check
from engine.topology.topology_scenario_builder import RACK, UNCONSTRAINED, TopologyScenarioBuilder, required
from kohort.api.meta import ObjectKey
from kohort.engine.explain import PreemptionOutlook, explanation_lines, remedies
from kohort.engine.explain.model import FlavorTrial, PlaceHolder
from kohort.engine.explain.remedies import MorePlaces
from kohort.insight.workload_report.data import explanation_data

Json = Any
TWO_RACKS: Json = {"b1": {"r1": {"h1": 4}, "r2": {"h2": 4}}}


def explained(builder: TopologyScenarioBuilder, name: str) -> tuple[FlavorTrial, list[str]]:
    found = builder.engine.explain(ObjectKey("ns", name), builder.now)
    assert found.evaluation is not None
    ((trial,),) = found.evaluation.pod_sets[0].short
    assert check(builder.engine) == []
    return trial, explanation_lines(found)


def full() -> TopologyScenarioBuilder:
    builder = TopologyScenarioBuilder(TWO_RACKS)
    builder.tas_queue("q", 100)
    builder.tas_queue("p", 100)
    builder.gang("one", 3, request=required(RACK))
    builder.turn()
    builder.gang("two", 2, "p", request=required(RACK))
    builder.turn()
    builder.gang("w", 4, request=required(RACK))
    builder.turn()
    return builder


def test_it_names_the_domain_how_many_fit_and_which_workloads_use_it() -> None:
    builder = full()
    trial, lines = explained(builder, "w")
    assert trial.placement is not None
    failure = trial.placement.failure
    assert (failure.level, failure.domain, failure.fitting, failure.requested) == (RACK, ("b1", "r2"), 2, 4)
    assert trial.placement.holders == (PlaceHolder(ObjectKey("ns", "two"), "p", 0, 2),)
    assert lines[:2] == [
        "ns/w waits for nodes of flavor tas: rack b1/r2 has capacity for 2 of 4 pods, and no other domain for more.",
        "Pods of other workloads in b1/r2: ns/two (2 pods).",
    ]


def test_exclusions_are_counted_by_cause_the_most_frequent_first() -> None:
    """TAS-115; a request that may be spread is short of all domains together."""
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 1, "h2": 4}}})
    builder.node("h3", 4, taints=[{"key": "gpu", "value": "true", "effect": "NoSchedule"}])
    builder.tas_queue("q", 100)
    builder.gang("one", 4, request=required(RACK))
    builder.turn()
    builder.gang("w", 3, request=UNCONSTRAINED)
    builder.turn()
    _, lines = explained(builder, "w")
    assert lines[:3] == [
        "ns/w waits for nodes of flavor tas: all domains together have capacity for 1 of 3 pods.",
        "Pods of other workloads in these nodes: ns/one (4 pods).",
        "No capacity for any pod on 2 of 3 nodes: 1 without enough cpu, 1 with taint gpu=true:NoSchedule,"
        " which it does not tolerate.",
    ]
    builder.gang("more", 1, request=UNCONSTRAINED)
    builder.turn()
    assert explained(builder, "w")[1][0].endswith("no domain has capacity for any of 3 pods.")


def test_its_remedy_is_capacity_of_nodes() -> None:
    """What it promises is kept."""
    builder = full()
    found = builder.engine.explain(ObjectKey("ns", "w"), builder.now)
    assert [type(each) for each in remedies(found)] == [MorePlaces]
    data = explanation_data(found)["remedies"][0]["placement"]
    assert data["domain"] == ["b1", "r2"]
    assert data["usedBy"][0]["workload"] == {"namespace": "ns", "name": "two"}
    builder.finish("ns/two")
    assert builder.turn().reserved == ["w"]


def test_exclusions_are_counted() -> None:
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 1}}})
    builder.node("h2", 4, taints=[{"key": "gpu", "value": "true", "effect": "NoSchedule"}])
    builder.tas_queue("q", 100)
    builder.gang("w", 2, request=required(RACK))
    builder.turn()
    trial, lines = explained(builder, "w")
    assert trial.placement is not None
    assert lines == [
        "ns/w can't be placed on the nodes of flavor tas, even if other workloads ended:"
        " rack b1/r1 has capacity for 1 of 2 pods, and no other domain for more.",
        "No capacity for any pod on 1 of 2 nodes: 1 with taint gpu=true:NoSchedule, which it does not tolerate.",
    ]


def test_quota_is_no_remedy_for_a_gang_that_no_domain_can_take() -> None:
    """Quota in use lacks too, but its release would not help: no rack has capacity for five pods."""
    builder = TopologyScenarioBuilder(TWO_RACKS)
    builder.tas_queue("q", 6)
    builder.gang("one", 3, request=required(RACK))
    builder.turn()
    builder.gang("w", 5, request=required(RACK))
    builder.turn()
    found = builder.engine.explain(ObjectKey("ns", "w"), builder.now)
    assert [type(each) for each in remedies(found)] == [MorePlaces]
    assert explanation_lines(found)[0].startswith(
        "ns/w can't be placed on the nodes of flavor tas, even if other workloads ended: "
        "rack b1/r1 has capacity for 4 of 5"
    )


def test_a_gang_that_no_eviction_can_help_is_reported_so() -> None:
    builder = TopologyScenarioBuilder(TWO_RACKS)
    builder.tas_queue("q", 100, preemption={"withinClusterQueue": "LowerPriority"})
    builder.gang("low", 3, request=UNCONSTRAINED)
    builder.turn()
    builder.gang("w", 5, priority=1, request=required(RACK))
    builder.turn()
    found = builder.engine.explain(ObjectKey("ns", "w"), builder.now)
    assert found.evaluation is not None
    assert found.reason == "TopologyPlacementFailed"
    assert found.evaluation.never == ('topology "default" allows to fit only 4 out of 5 pod(s)',)
    assert found.evaluation.preemption.help is PreemptionOutlook.POINTLESS


def test_would_fit_checks_the_nodes_too() -> None:
    builder = full()
    pod_sets = builder.workloads[ObjectKey("ns", "w")].spec.pod_sets
    found = builder.engine.would_fit(pod_sets, "q", builder.now)
    assert found.evaluation is not None
    assert not found.evaluation.is_admitted
    builder.finish("ns/one")
    found = builder.engine.would_fit(pod_sets, "p", builder.now)
    assert found.evaluation is not None
    assert found.evaluation.is_admitted
    assert check(builder.engine) == []


def test_heads_of_trees_that_share_the_nodes_are_rivals() -> None:
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
    builder.tas_queue("a", 4, cohort="A")
    builder.tas_queue("b", 4, cohort="B")
    builder.gang("high", 3, "a", priority=1, request=required(RACK))
    builder.gang("w", 3, "b", request=required(RACK))
    found = builder.engine.explain(ObjectKey("ns", "w"), builder.now)
    assert found.evaluation is not None
    assert found.evaluation.rivals == (ObjectKey("ns", "high"),)
