"""Random topology scenarios are reproducible, and contain what a comparison is for."""

from itertools import pairwise
from typing import Any

import pytest

from oracle.coverage import Coverage
from oracle.themes import THEMES, scenario

Json = Any
SOME = 120


def pod_sets_of(made: Json) -> list[Json]:
    workloads = [step["put"] for step in made["steps"] if step.get("put", {}).get("kind") == "Workload"]
    return [pod_set for each in workloads for pod_set in each["spec"]["podSets"]]


def slice_sizes(request: Json) -> list[int]:
    layers = request.get("podsetSliceRequiredTopologyConstraints", ())
    return [layer["size"] for layer in layers] or [request.get("podSetSliceSize", 1)]


@pytest.fixture(scope="module")
def coverage() -> Coverage:
    made = Coverage()
    for index in range(SOME):
        made.note(scenario(f"themes-{index}"))
    return made


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
    ("what", "share"),
    [
        ("placed", 0.7),
        ("placed in several domains", 0.4),
        ("waits, TopologyPlacementFailed", 0.4),
        ("preempted", 0.06),
        ("unhealthyNodes", 0.04),
        ("failed node replaced", 0.02),
        ("delayed placement", 0.02),
        ("placed in a second pass", 0.02),
    ],
)
def test_much_comes_to_pass(coverage: Coverage, what: str, share: float) -> None:
    assert coverage.counts[f"happened: {what}"] >= share * SOME


def test_every_theme_occurs(coverage: Coverage) -> None:
    """Cohort trees that share nodes, delayed placements and elastic jobs among them."""
    assert all(coverage.counts[f"theme: {theme.__name__}"] for theme in THEMES)
