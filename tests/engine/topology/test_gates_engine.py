"""Feature gates of section 3 of the specification, on workloads; those of failed nodes have tests of their own."""

from typing import Any

import pytest

from engine.scenario_builders import configured
from engine.topology.topology_scenario_builder import (
    HOST,
    RACK,
    TREE_T,
    UNCONSTRAINED,
    TopologyScenarioBuilder,
    required,
)
from kohort.api.gates import Gate
from kohort.api.meta import ObjectKey

Json = Any


def preferring(*hosts: str) -> Json:
    """An affinity that prefers hosts."""
    term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": list(hosts)}]}
    weighted = {"weight": 1, "preference": term}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}


TWO_HOSTS: Json = {"b1": {"r1": {"h1": 2, "h2": 2}}}
BALANCED: Json = {"b1": {"r1": {"h1": 6, "h2": 6}, "r2": {"h3": 5, "h4": 5, "h5": 2}}}


def gang(builder: TopologyScenarioBuilder, count: int, request: Json, **pod: Json) -> dict[str, int]:
    """The places of a gang."""
    builder.tas_queue("q")
    made = builder.gang_of("w", count, request=request)
    made["spec"]["podSets"][0]["template"]["spec"] |= pod
    builder.put(made)
    assert builder.turn().reserved == ["w"]
    return builder.places("w")


@pytest.mark.parametrize(("is_on", "host"), [(True, "h2"), (False, "h1")])
def test_preferred_node_affinity_counts_with_its_gate(is_on: bool, host: str) -> None:
    """TAS-65."""
    builder = TopologyScenarioBuilder(TWO_HOSTS, configured(TASRespectNodeAffinityPreferred=is_on))
    assert gang(builder, 2, required(HOST), affinity=preferring("h2")) == {host: 2}


@pytest.mark.parametrize("keeps_matches", [True, False])
def test_preferred_node_affinity_counts_again_in_the_same_cycle(keeps_matches: bool) -> None:
    """Q-20: another workload takes the node that was found first."""
    settings = configured(TASRespectNodeAffinityPreferred=True, TASCacheNodeMatchResults=keeps_matches)
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 3, "h2": 3, "h3": 3}}}, settings)
    for name, count, hosts in (("x", 3, ("h2",)), ("w", 1, ("h2", "h3"))):
        builder.tas_queue(name)
        made = builder.gang_of(name, count, name, request=required(HOST))
        made["spec"]["podSets"][0]["template"]["spec"]["affinity"] = preferring(*hosts)
        builder.put(made)
    assert [each.workload.name for each in builder.cycle()] == ["x", "w"]
    assert builder.places("x") == {"h2": 3}
    assert builder.places("w") == {"h3": 1}


@pytest.mark.parametrize(
    ("is_on", "places"), [(True, {"h1": 2, "h2": 2, "h4": 1, "h5": 1}), (False, {"h1": 2, "h3": 4})]
)
def test_unconstrained_pods_fill_gaps_with_the_mixed_profile(is_on: bool, places: dict[str, int]) -> None:
    """TAS-44, EX-6."""
    builder = TopologyScenarioBuilder(TREE_T, configured(TASProfileMixed=is_on))
    assert gang(builder, 6, UNCONSTRAINED) == places


@pytest.mark.parametrize(("is_on", "places"), [(True, {"h3": 5, "h4": 5}), (False, {"h1": 6, "h2": 4})])
def test_preferred_pods_are_balanced_with_the_gate(is_on: bool, places: dict[str, int]) -> None:
    """TAS-60, EX-12."""
    builder = TopologyScenarioBuilder(BALANCED, configured(TASBalancedPlacement=is_on))
    assert gang(builder, 10, {"preferred": RACK}) == places


@pytest.mark.parametrize(("is_on", "slices"), [(True, 2), (False, 1)])
def test_assignments_are_split_by_hostname_prefix_with_the_gate(is_on: bool, slices: int) -> None:
    """TAS-73: twenty nodes of two pools with long names."""
    names = [f"{pool}-instances-of-a-node-pool-{number}" for pool in ("large", "small") for number in range(10)]
    settings = configured(TASAssignmentsEncodingByHostnamePrefix=is_on)
    builder = TopologyScenarioBuilder({"b1": {"r1": dict.fromkeys(names, 1)}}, settings)
    assert gang(builder, 20, required(RACK)) == dict.fromkeys(names, 1)
    admission = builder.workloads[ObjectKey("ns", "w")].status.admission
    assert admission is not None
    assigned = admission.pod_set_assignments[0].topology_assignment
    assert assigned is not None
    assert len(assigned.slices) == slices


@pytest.mark.parametrize("is_on", [True, False])
def test_pods_of_tas_workloads_are_placed_with_the_gate_only(is_on: bool) -> None:
    """Without topology-aware scheduling the gang gets quota on any nodes (TAS-34)."""
    gates = {gate.name: False for gate in Gate if gate.name.startswith("TAS")} if not is_on else {}
    builder = TopologyScenarioBuilder({"b1": {"r1": {"h1": 1}}}, configured(TopologyAwareScheduling=is_on, **gates))
    builder.tas_queue("q")
    builder.gang("w", 2, request=required(RACK))
    assert builder.turn().reserved == ([] if is_on else ["w"])
