"""Random topology scenarios are reproducible, and contain what a comparison is for."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from oracle.themes import scenario
from oracle.workload_states import our_answer

Json = Any
SOME = 60


def pod_sets_of(made: Json) -> list[Json]:
    workloads = [step["put"] for step in made["steps"] if step.get("put", {}).get("kind") == "Workload"]
    return [pod_set for each in workloads for pod_set in each["spec"]["podSets"]]


def slice_sizes(request: Json) -> list[int]:
    layers = request.get("podsetSliceRequiredTopologyConstraints", ())
    return [layer["size"] for layer in layers] or [request.get("podSetSliceSize", 1)]


@pytest.fixture(scope="module")
def happened() -> Counter[str]:
    """In how many scenarios something comes to pass by our engine."""
    counts: Counter[str] = Counter()
    for index in range(SOME):
        states = [each for after in our_answer(scenario(f"themes-{index}")) for each in (after or {}).values()]
        seen = {name for each in states for name in ("preempted", "evicted", "unhealthyNodes") if each.get(name)}
        if any(assigned.get("domains") for each in states for assigned in each.get("assignments", ())):
            seen.add("placed")
        if any(each.get("reason") == "TopologyPlacementFailed" for each in states):
            seen.add("failed")
        counts.update(seen)
    return counts


def test_a_seed_determines_one_scenario() -> None:
    assert scenario("1-7") == scenario("1-7") != scenario("1-8")


def test_pods_are_multiples_of_slices() -> None:
    """Q-1: Kueue leaves the others without a domain."""
    for index in range(SOME):
        for pod_set in pod_sets_of(scenario(f"slices-{index}")):
            sizes = slice_sizes(pod_set.get("topologyRequest", {}))
            assert pod_set["count"] % sizes[0] == 0
            assert all(parent % size == 0 for parent, size in pairwise(sizes))


@pytest.mark.parametrize(
    ("what", "share"), [("placed", 0.8), ("failed", 0.5), ("preempted", 0.1), ("unhealthyNodes", 0.08)]
)
def test_much_comes_to_pass(happened: Counter[str], what: str, share: float) -> None:
    assert happened[what] >= share * SOME
