"""The page has Kueue's series: names, labels and buckets as recorded from a real Kueue (API-143)."""

from pathlib import Path
from typing import Any

import pytest

from kit.golden.recordings import api_recording
from kohort.api.config.loading import default_configuration
from kohort.api.config.v1beta2 import Configuration, FairSharing, Metrics
from kohort.api.gates import DEFAULT_GATES
from kohort.metrics import KueueMetrics, MetricsRegistry
from kohort.metrics.families import Counter, Family, Gauge, Histogram

GOLDEN = api_recording("metrics-shape")
SPECIFICATION = Path(__file__).parents[2] / "docs/spec/api-config-metrics.md"


def metrics(configuration: Configuration | None = None) -> KueueMetrics:
    return KueueMetrics(MetricsRegistry(), configuration or default_configuration(), DEFAULT_GATES, lambda: "leader")


def record(family: Family[Any]) -> None:
    labels = dict.fromkeys(family.labels, "x")
    if isinstance(family, Counter):
        family.inc(**labels)
    elif isinstance(family, Gauge):
        family.set(1, **labels)
    elif isinstance(family, Histogram):
        family.observe(3, **labels)


def page(of: KueueMetrics) -> dict[str, dict[str, Any]]:
    """The page, read as a scraper reads it: per metric its type, labels and buckets."""
    found: dict[str, dict[str, Any]] = {}
    kinds: dict[str, str] = {}
    for line in of.registry.render().decode().splitlines():
        if line.startswith("# TYPE"):
            kinds[line.split()[2]] = line.split()[3]
            continue
        if line.startswith("#"):
            continue
        name, _, rest = line.partition("{")
        labels = dict(pair.split("=", 1) for pair in rest.rpartition("}")[0].split(",") if pair)
        for suffix in ("_bucket", "_sum", "_count"):
            name = name.removesuffix(suffix) if name.removesuffix(suffix) in kinds else name
        entry = found.setdefault(name, {"id": name, "type": kinds[name], "labels": [], "buckets": []})
        if "le" in labels:
            bound = labels.pop("le").strip('"')
            entry["buckets"].append(bound if bound == "+Inf" else float(bound))
        entry["labels"] = sorted(labels)
    return found


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, Any]]:
    subject = metrics()
    for family in subject.registry.families():
        record(family)
    return page(subject)


@pytest.mark.parametrize("expected", GOLDEN, ids=[entry["id"] for entry in GOLDEN])
def test_a_series_of_kueue_has_the_same_type_labels_and_buckets(
    expected: dict[str, Any], recorded: dict[str, dict[str, Any]]
) -> None:
    assert recorded[expected["id"]] == {"buckets": [], **expected}


def test_every_name_of_the_specification_exists() -> None:
    text = SPECIFICATION.read_text()
    section = text[text.index("## 11. Metrics") : text.index("## 12. Feature gates")]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith(("| kueue", "| multikueue"))]
    named = {
        word for row in rows for word in row.split() if word.startswith(("kueue_", "multikueue_")) and "…" not in word
    }
    everything = {family.name for family in metrics().registry.families()}
    assert named <= everything
    both = {row.split()[0].removeprefix("kueue_") for row in rows if "kueue_local_queue_…" in row}
    assert {f"kueue_local_queue_{name}" for name in both} <= everything


def test_disabled_metrics_are_not_on_the_page(recorded: dict[str, dict[str, Any]]) -> None:
    assert "kueue_cluster_queue_nominal_quota" not in recorded
    assert "kueue_cohort_weighted_share" not in recorded
    settings = Configuration(metrics=Metrics(enable_cluster_queue_resources=True), fair_sharing=FairSharing())
    subject = metrics(settings)
    for family in subject.registry.families():
        record(family)
    shown = page(subject)
    assert {"kueue_cluster_queue_nominal_quota", "kueue_cohort_weighted_share"} <= set(shown)
    assert "kueue_ready_wait_time_seconds" not in shown, "this Configuration does not wait for pods"
