"""The manifests of popular guides: accepted, converted without loss, and with exactly the expected warnings."""

from pathlib import Path
from typing import Any

import pytest

from kohort.api.codec import from_json, to_json
from kohort.api.documents import load
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kinds import kind_of
from kohort.api.kueue.admission import ObjectWrite, admit, read
from kohort.api.kueue.conversion import V1BETA1, V1BETA2, convert
from kohort.api.kueue.group import GROUP
from kohort.api.manifests.checking import Checker
from kohort.api.manifests.findings import FindingSeverity

SEEDS = Path(__file__).parents[2] / "seeds"
FLEET = SEEDS / "fleet-kueue-placement.yaml"
SHARED_GPU = SEEDS / "shared-gpu-queues.yaml"

FLEET_WARNINGS = [
    (1, "W302", "ResourceFlavor default-flavor", "apiVersion"),
    (8, "W302", "ClusterQueue cluster-queue", "apiVersion"),
    (34, "W402", "ClusterResourcePlacement sample-kueue", "kind"),
    (76, "W302", "LocalQueue training/lq-training", "apiVersion"),
    (90, "W101", "Job training/mock-training", "metadata.annotations[kueue.x-k8s.io/queue-name]"),
    (125, "W402", "ResourcePlacement training/training-placement", "kind"),
]
SHARED_GPU_WARNINGS = [
    (1, "W302", "ResourceFlavor gpu-a100", "apiVersion"),
    (9, "W302", "ClusterQueue team-research", "apiVersion"),
    (13, "W201", "ClusterQueue team-research", "spec.namespaceSelector"),
    (22, "W207", "ClusterQueue team-research", "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit"),
    (24, "W302", "LocalQueue team-research/research", "apiVersion"),
]


def kueue_objects() -> list[Any]:
    values = [document.value for seed in (FLEET, SHARED_GPU) for document in load(str(seed))]
    return [value for value in values if value["apiVersion"].startswith(f"{GROUP}/")]


def name(value: Any) -> str:
    return f"{value['kind']} {value['metadata']['name']}"


@pytest.mark.parametrize(
    ("seed", "objects", "expected"),
    [(FLEET, 7, FLEET_WARNINGS), (SHARED_GPU, 4, SHARED_GPU_WARNINGS)],
    ids=["000", "001"],
)
def test_a_guide_has_no_errors_and_these_warnings(seed: Path, objects: int, expected: list[Any]) -> None:
    checker = Checker(DEFAULT_GATES)
    checker.read_paths([str(seed)])
    report = checker.report()
    assert report.objects == objects
    assert all(finding.severity is FindingSeverity.WARNING for finding in report.findings)
    assert [(each.line, each.code, each.origin.subject, each.field) for each in report.findings] == expected


@pytest.mark.parametrize("value", kueue_objects(), ids=name)
def test_a_guides_object_decodes_defaults_and_is_stored_as_v1beta2(value: Any) -> None:
    """API-3, API-77."""
    verdict = admit(ObjectWrite(value, field_validation="Strict"), DEFAULT_GATES)
    assert verdict.accepted
    assert verdict.stored["apiVersion"] == V1BETA2
    assert verdict.stored["metadata"]["name"] == value["metadata"]["name"]


@pytest.mark.parametrize("value", kueue_objects(), ids=name)
def test_a_guides_object_converts_both_ways_without_loss(value: Any) -> None:
    """API-73."""
    stored = admit(ObjectWrite(value), DEFAULT_GATES).stored
    assert convert(convert(stored, V1BETA1), V1BETA2) == stored
    seen = read(stored, V1BETA1)
    for field, written in (value.get("spec") or {}).items():
        assert _as_text(seen["spec"][field]) == _as_text(written)


@pytest.mark.parametrize("value", kueue_objects(), ids=name)
def test_a_guides_object_is_written_back_as_it_was_read(value: Any) -> None:
    stored = admit(ObjectWrite(value), DEFAULT_GATES).stored
    kind = kind_of(V1BETA2, value["kind"])
    assert kind is not None
    typed = from_json(stored, kind)
    assert from_json(to_json(typed), kind) == typed
    assert to_json(typed)["kind"] == value["kind"]


def _as_text(value: Any) -> Any:
    """Quantities may come back as texts."""
    if isinstance(value, dict):
        return {name: _as_text(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    return str(value)
