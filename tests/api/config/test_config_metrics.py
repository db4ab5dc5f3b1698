"""One refusal and one acceptance for each rule of the metrics section (docs/spec, section 10.1)."""

from typing import Any

import pytest

from api.config.configurations import (
    DUPLICATE,
    INVALID,
    REQUIRED,
    TOO_MANY,
    UNSUPPORTED,
    Case,
    accepted,
    assert_refused,
    case,
    texts,
    v1beta2,
)
from kohort.api.codec import Json


def labels(*entries: Json) -> Json:
    return {"metrics": {"customLabels": list(entries)}, "featureGates": {"CustomMetricLabels": True}}


def label(name: str = "team", **settings: Any) -> Json:
    return {"name": name, **settings}


def many_labels(count: int, kind: str) -> Json:
    extra = {"trackedValues": ["a"]} if kind == "Workload" else {}
    return [label(f"{kind}{index}", sourceKind=kind, **extra) for index in range(count)]


CASES = [
    case(
        "the LocalQueue selector is a valid selector",
        bad={"metrics": {"localQueueMetrics": {"localQueueSelector": {"matchLabels": {"a b": "c"}}}}},
        gives=("metrics.localQueueMetrics.localQueueSelector.matchLabels", INVALID),
        good={"metrics": {"localQueueMetrics": {"localQueueSelector": {"matchLabels": {"a": "c"}}}}},
    ),
    case(
        "at most 20 custom labels",
        bad=labels(
            *(
                many_labels(6, "Cohort")
                + many_labels(6, "LocalQueue")
                + many_labels(6, "ClusterQueue")
                + many_labels(2, "Workload")
                + [label("last", sourceKind="Elsewhere")]
            )
        ),
        gives=[
            ("metrics.customLabels", TOO_MANY),
            ("metrics.customLabels[20].sourceKind", UNSUPPORTED),
        ],
        good=labels(
            *(
                many_labels(6, "Cohort")
                + many_labels(6, "LocalQueue")
                + many_labels(6, "ClusterQueue")
                + many_labels(2, "Workload")
            )
        ),
    ),
    case(
        "at most 6 custom labels per kind",
        bad=labels(*many_labels(7, "LocalQueue")),
        gives=("metrics.customLabels", INVALID),
        good=labels(*many_labels(6, "LocalQueue")),
    ),
    case(
        "at most 2 custom labels of Workloads",
        bad=labels(*many_labels(3, "Workload")),
        gives=("metrics.customLabels", INVALID),
        good=labels(*many_labels(2, "Workload")),
    ),
    case(
        "a custom label's name is a metric label's",
        bad=labels(label("1st")),
        gives=("metrics.customLabels[0].name", INVALID),
        good=labels(label("first_1")),
    ),
    case(
        "a custom label has a name",
        bad=labels({}),
        gives=("metrics.customLabels[0].name", REQUIRED),
        good=labels(label()),
    ),
    case(
        "custom labels have different names",
        bad=labels(label(), label(sourceKind="Cohort")),
        gives=("metrics.customLabels[1]", DUPLICATE),
        good=labels(label(), label("cost")),
    ),
    case(
        "a custom label has one source",
        bad=labels(label(sourceLabelKey="a", sourceAnnotationKey="b")),
        gives=("metrics.customLabels[0]", INVALID),
        good=labels(label(sourceLabelKey="a"), label("cost", sourceAnnotationKey="b")),
    ),
    case(
        "a custom label's source key is a label key",
        bad=labels(label(sourceLabelKey="a b")),
        gives=("metrics.customLabels[0].sourceLabelKey", INVALID),
        good=labels(label(sourceLabelKey="example.com/a")),
    ),
    case(
        "a custom label's source annotation is a key too",
        bad=labels(label(sourceAnnotationKey="-")),
        gives=("metrics.customLabels[0].sourceAnnotationKey", INVALID),
        good=labels(label(sourceAnnotationKey="example.com/a")),
    ),
    case(
        "a custom label without a source has a name that is a label key",
        bad=labels(label("a" * 64)),
        gives=("metrics.customLabels[0].name", INVALID),
        good=labels(label("a" * 64, sourceLabelKey="a")),
    ),
    case(
        "a custom label's kind is known",
        bad=labels(label(sourceKind="Pod")),
        gives=("metrics.customLabels[0].sourceKind", UNSUPPORTED),
        good=labels(label(sourceKind="Cohort")),
    ),
    case(
        "tracked values are unique",
        bad=labels(label(trackedValues=["a", "a"])),
        gives=("metrics.customLabels[0].trackedValues[1]", DUPLICATE),
        good=labels(label(trackedValues=["a", "b"])),
    ),
    case(
        "Workload labels name the values they track",
        bad=labels(label(sourceKind="Workload")),
        gives=("metrics.customLabels[0].trackedValues", REQUIRED),
        good=labels(label(sourceKind="Workload", trackedValues=texts(12))),
    ),
    case(
        "at most 12 tracked values of Workloads",
        bad=labels(label(sourceKind="Workload", trackedValues=texts(13))),
        gives=("metrics.customLabels[0].trackedValues", INVALID),
        good=labels(label(sourceKind="Workload", trackedValues=texts(1))),
    ),
    case(
        "at most 16 tracked values of other kinds",
        bad=labels(label(trackedValues=texts(17))),
        gives=("metrics.customLabels[0].trackedValues", INVALID),
        good=labels(label(trackedValues=texts(16))),
    ),
]


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.name)
def test_a_configuration_that_breaks_the_rule_is_refused(each: Case) -> None:
    """API-137"""
    assert_refused(each)


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.name)
def test_a_configuration_that_keeps_the_rule_is_accepted(each: Case) -> None:
    """API-137"""
    accepted(v1beta2(**each.good))
