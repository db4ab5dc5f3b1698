"""What v1beta1 does otherwise (docs/spec, section 10.2)."""

import pytest

from api.config.configurations import accepted, v1beta1, v1beta2, verdicts
from kohort.api.codec import Json
from kohort.api.config.parsing import effective, parse_configuration

BOTH_STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
ONLY_V1BETA2 = ("waitForPodsReady", "visibilityServer")


def test_both_versions_come_to_the_same_but_for_what_is_new() -> None:
    """API-137"""
    new = effective(accepted(v1beta2()))

    assert effective(accepted(v1beta1())) == {name: new[name] for name in new if name not in ONLY_V1BETA2}


@pytest.mark.parametrize("settings", [{}, {"enable": False}, {"timeout": "1m"}, {"enable": False, "timeout": "-1m"}])
def test_waiting_for_pods_is_off_unless_enabled(settings: Json) -> None:
    """API-140: what is switched off is not looked at."""
    assert accepted(v1beta1(waitForPodsReady=settings)).wait_for_pods_ready is None


def test_waiting_for_pods_keeps_what_is_set() -> None:
    """API-140"""
    config = accepted(v1beta1(waitForPodsReady={"enable": True, "timeout": "90s", "blockAdmission": False}))

    assert config.wait_for_pods_ready
    assert config.wait_for_pods_ready.timeout == config.wait_for_pods_ready.recovery_timeout == "1m30s"
    assert not config.wait_for_pods_ready.block_admission


def test_an_explicit_timeout_of_zero_is_refused() -> None:
    """API-140: in v1beta1 an explicit zero differs from an absent value, and has no effect."""
    result = parse_configuration(v1beta1(waitForPodsReady={"enable": True, "timeout": "0s"}))

    assert verdicts(result) == [("waitForPodsReady.timeout", "Required value")]


@pytest.mark.parametrize("settings", [{}, {"enable": False, "preemptionStrategies": ["Whatever"]}])
def test_fair_sharing_is_off_unless_enabled(settings: Json) -> None:
    """API-137"""
    assert accepted(v1beta1(fairSharing=settings)).fair_sharing is None


@pytest.mark.parametrize(
    ("settings", "strategies"),
    [
        ({}, BOTH_STRATEGIES),
        ({"preemptionStrategies": []}, BOTH_STRATEGIES),
        ({"preemptionStrategies": ["LessThanInitialShare"]}, ("LessThanInitialShare",)),
    ],
)
def test_fair_sharing_has_strategies_by_default(settings: Json, strategies: tuple[str, ...]) -> None:
    """API-137"""
    config = accepted(v1beta1(fairSharing={"enable": True, **settings}))

    assert config.fair_sharing
    assert config.fair_sharing.preemption_strategies == strategies


def test_an_enabled_section_is_checked() -> None:
    """API-137"""
    value = v1beta1(
        fairSharing={"enable": True, "preemptionStrategies": ["Whatever"]},
        waitForPodsReady={"enable": True, "requeuingStrategy": {"backoffLimitCount": -1}},
    )

    assert sorted(verdicts(parse_configuration(value))) == [
        ("fairSharing.preemptionStrategies", "Unsupported value"),
        ("waitForPodsReady.requeuingStrategy.backoffLimitCount", "Invalid value"),
    ]


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (v1beta1(visibilityServer={}), "visibilityServer"),
        (v1beta1(multiKueue={"clusterProfile": {}}), "multiKueue.clusterProfile"),
        (v1beta1(multiKueue={"incrementalDispatcherConfig": {}}), "multiKueue.incrementalDispatcherConfig"),
        (v1beta1(resources={"quotaCheckStrategy": "BlockUndeclared"}), "resources.quotaCheckStrategy"),
        (
            v1beta1(resources={"deviceClassMappings": [{"name": "a", "deviceClassNames": ["b"], "sources": []}]}),
            "resources.deviceClassMappings[0].sources",
        ),
        (
            v1beta1(metrics={"customLabels": [{"name": "a", "sourceKind": "Cohort"}]}),
            "metrics.customLabels[0].sourceKind",
        ),
        (
            v1beta1(metrics={"customLabels": [{"name": "a", "trackedValues": []}]}),
            "metrics.customLabels[0].trackedValues",
        ),
        (v1beta2(queueVisibility={}), "queueVisibility"),
        (v1beta2(integrations={"podOptions": {}}), "integrations.podOptions"),
        (v1beta2(waitForPodsReady={"enable": True}), "waitForPodsReady.enable"),
        (
            v1beta2(fairSharing={"enable": True, "preemptionStrategies": list(BOTH_STRATEGIES)}),
            "fairSharing.enable",
        ),
    ],
)
def test_a_field_of_the_other_version_is_unknown(value: Json, field: str) -> None:
    """API-137"""
    assert verdicts(parse_configuration(value)) == [(field, "Forbidden")]


def test_former_settings_are_accepted_and_gone() -> None:
    """API-137"""
    value = v1beta1(
        queueVisibility={"clusterQueues": {"maxCount": 3}, "updateIntervalSeconds": 7},
        integrations={"podOptions": {"namespaceSelector": {}, "podSelector": {}}},
    )

    assert accepted(value) == accepted(v1beta1())
