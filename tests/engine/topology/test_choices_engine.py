"""Choices where Kueue is undefined or has a defect (section 19 of the specification), and pod sets left alone."""

from typing import Any

from engine.scenario_builders import configured
from engine.topology.topology_scenario_builder import HOST, RACK, UNCONSTRAINED, TopologyScenarioBuilder, required
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import KeepUnplaced

Json = Any
W = ObjectKey("ns", "w")


def add_pod_set(manifest: Json, name: str, count: int, request: Json = None) -> Json:
    """Add a pod set of pods like those of the first."""
    (first, *_) = manifest["spec"]["podSets"]
    added = {**first, "name": name, "count": count, "topologyRequest": request}
    manifest["spec"]["podSets"].append({key: value for key, value in added.items() if value is not None})
    return manifest


def test_a_pod_set_without_pods_is_not_placed() -> None:
    """TAS-39."""
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 2}}})
    builder.tas_queue("q")
    builder.put(add_pod_set(builder.gang_of("w", 2, request=required(RACK)), "none", 0, required(RACK)))
    assert builder.turn().reserved == ["w"]
    assert (builder.places("w"), builder.places("w", "none")) == ({"h1": 2}, {})


def test_only_the_pod_set_with_a_failed_node_is_placed_again() -> None:
    """TAS-39."""
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 2, "h2": 2, "h3": 2}}})
    builder.tas_queue("q")
    builder.put(add_pod_set(builder.gang_of("w", 2, request=required(HOST)), "other", 2, required(HOST)))
    builder.turn()
    assert (builder.places("w"), builder.places("w", "other")) == ({"h1": 2}, {"h2": 2})
    builder.delete({"kind": "Node", "name": "h2"})
    builder.perform({"failNodes": {"workload": str(W), "nodes": ["h2"]}})
    builder.node("h0", 2)
    builder.wait(1)
    assert builder.turn().reserved == ["w"]
    assert (builder.places("w"), builder.places("w", "other")) == ({"h1": 2}, {"h0": 2})


def test_a_queue_without_resources_is_not_one_of_tas_flavors() -> None:
    """Q-5: pods that request nothing are admitted without places."""
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 1}}})
    builder.queue("q", groups=[])
    manifest = builder.gang_of("w", 3)
    (container,) = manifest["spec"]["podSets"][0]["template"]["spec"]["containers"]
    container["resources"] = {}
    builder.put(manifest)
    assert builder.turn().reserved == ["w"]
    assert builder.places("w") == {}


def test_what_a_cycle_takes_counts_in_all_flavors_of_the_hosts() -> None:
    """Q-6: two queues without a common cohort, each with a flavor of its own."""
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
    builder.tas_flavor("other")
    builder.tas_queue("a", 4, cohort="R")
    builder.tas_queue("b", 4, "other", cohort="R")
    builder.gang("first", 3, "a", request=UNCONSTRAINED)
    builder.gang("second", 3, "b", request=UNCONSTRAINED)
    assert builder.once().reserved == ["first"]
    assert "allows to fit only 1 out of 3 pod(s)" in builder.waiting["second"].message
    assert builder.used() == builder.used("other") == {"h1": 3}


def test_one_failed_node_is_replaced_in_a_pass() -> None:
    """Q-7: the first that is listed; the assignment with the other one can't be completed."""
    builder = TopologyScenarioBuilder(
        {"b1": {"r1": {"h1": 1, "h2": 1, "h3": 1}}}, configured(TASFailedNodeReplacementFailFast=False)
    )
    builder.tas_queue("q")
    builder.gang("w", 3, request=required(RACK))
    builder.turn()
    for host in ("h1", "h2"):
        builder.delete({"kind": "Node", "name": host})
    builder.perform({"failNodes": {"workload": str(W), "nodes": ["h1", "h2"]}})
    builder.node("h4", 2)
    builder.wait(1)
    (decision,) = builder.turn().decisions
    assert isinstance(decision, KeepUnplaced)
    assert "Cannot replace the node, because the existing topologyAssignment is invalid" in decision.message


def test_of_several_pod_sets_that_fail_the_first_is_reported() -> None:
    """Q-8."""
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 1}}})
    builder.tas_queue("q")
    builder.put(add_pod_set(builder.gang_of("w", 3, request=required(RACK)), "another", 5, required(RACK)))
    builder.turn()
    assert builder.waiting["w"].message == (
        'couldn\'t assign flavors to pod set main: topology "default" allows to fit only 1 out of 3 pod(s)'
    )


def test_pod_sets_of_a_workload_are_checked_together_against_a_cycle() -> None:
    """Q-14: each pod set alone still has its host after the first entry, both together have not."""
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
    for name in "ab":
        builder.tas_queue(name, 4, cohort="R")
    builder.gang("first", 2, "a", priority=1, request=required(RACK))
    builder.put(add_pod_set(builder.gang_of("w", 2, "b", request=required(RACK)), "other", 2, required(RACK)))
    assert builder.once().reserved == ["first"]
    assert builder.used() == {"h1": 2}
    assert builder.waiting["w"].message.startswith("couldn't assign flavors to pod set other")


def test_every_pod_set_that_no_empty_cluster_could_have_is_named() -> None:
    """Q-15: the first fails for what others use, the second for the size of the rack."""
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 4}}})
    builder.tas_queue("q")
    builder.gang("first", 2, request=required(RACK))
    builder.turn()
    builder.put(add_pod_set(builder.gang_of("w", 3, request=required(RACK)), "wide", 5, required(RACK)))
    builder.turn()
    waiting = builder.waiting["w"]
    assert waiting.reason == "TopologyPlacementFailed"
    assert "pod set main" in waiting.message
    assert "pod set wide" in waiting.message
