"""With --compat v0.19, feature gates default as in the real Kueue of that release (API-147)."""

from typing import Any

import pytest

from kohort.api.fields import ROOT
from kohort.api.gates import COMPAT, GRADUATED, WITHOUT_EFFECT, Gate, Stage, from_settings
from oracle.kueue import Kueue, gate_names

Json = Any

V0_19 = "v0.19"
LATER = {
    "FlavorFungibilityPreserveScanProgress",
    "LWSImmutableGroupSize",
    "MultiKueueRemoteSpecSync",
    "PrioritizePreemptorWorkloads",
    "SkipAncestorCheckForDeletedWorkloads",
    "TASValidateWorkloadSliceSize",
    "WorkloadValidateResourcesAreNonNegative",
    "WorkloadValidationForPodSetMetadata",
}
"""Gates of later releases; a configuration for v0.19 does not set them."""


@pytest.fixture(scope="module")
def specs() -> dict[str, Json]:
    with Kueue() as kueue:
        found: dict[str, Json] = kueue.ask({"featureGates": True})["featureGates"]
    return {name: found[name] for name in gate_names() & found.keys()}


def test_defaults_are_those_of_the_release(specs: dict[str, Json]) -> None:
    ours = from_settings({}, ROOT, V0_19).gates
    shared = [gate for gate in Gate if gate.name in specs]
    assert {gate.name: ours.enabled(gate) for gate in shared} == {
        gate.name: specs[gate.name]["default"] for gate in shared
    }


def test_every_gate_of_the_release_is_accepted_at_its_default(specs: dict[str, Json]) -> None:
    for name, spec in specs.items():
        settled = from_settings({name: spec["default"]}, ROOT, V0_19)
        assert not settled.errors, name
    assert {name: spec["default"] for name, spec in specs.items() if name in GRADUATED} == GRADUATED
    assert all(spec["locked"] for name, spec in specs.items() if name in GRADUATED)


def test_the_overrides_are_the_differences_and_no_more(specs: dict[str, Json]) -> None:
    differing = {
        gate.name: (Stage(specs[gate.name]["stage"].capitalize()), specs[gate.name]["default"])
        for gate in Gate
        if gate.name in specs and specs[gate.name]["default"] != gate.value.default
    }
    assert {gate.name: state for gate, state in COMPAT[V0_19].items()} == differing


def test_gates_unknown_to_the_release_came_later(specs: dict[str, Json]) -> None:
    assert {gate.name for gate in Gate if gate.name not in specs} <= LATER
    assert set(WITHOUT_EFFECT) <= set(specs)
