"""Every recorded Configuration file of the reference gets the same result here."""

from typing import Any

import pytest

from kit.golden.recordings import api_recording
from kohort.api.codec import Json, without_nulls
from kohort.api.config.parsing import effective, parse_configuration
from kohort.api.config.v1beta2 import Configuration
from kohort.api.fields import FieldError
from kohort.api.gates import DEFAULT_GATES

CASES: dict[str, Any] = {case["id"]: case for case in api_recording("configuration")}


def accepted(case: str) -> Configuration:
    result = parse_configuration(CASES[case]["input"])
    assert not result.errors
    assert result.config
    return result.config


def summary(error: FieldError) -> tuple[str, str]:
    kind = "UnknownField" if error.detail.startswith("unknown field") else error.kind.value
    return str(error.path), kind


def recorded(case: Json) -> list[tuple[str, str]]:
    return [(error["field"], error["kind"]) for error in case.get("errors", ())]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_verdict_is_the_recorded_one(case: Json) -> None:
    """API-137"""
    errors = parse_configuration(case["input"]).errors

    assert sorted(map(summary, errors)) == sorted(recorded(case))
    assert ("reject" if errors else "accept") == case["observed"]


@pytest.mark.parametrize("case", [case for case in CASES.values() if "effective" in case], ids=lambda case: case["id"])
def test_the_effective_configuration_is_the_recorded_one(case: Json) -> None:
    """API-137; upstream writes an absent list as null."""
    config = parse_configuration(case["input"]).config

    assert config
    assert effective(config) == without_nulls(case["effective"])


def test_v53_an_empty_v1beta2_file_waits_for_pods_with_the_new_defaults() -> None:
    """API-140"""
    config = accepted("V53")

    assert config.waits_for_pods_ready(DEFAULT_GATES)
    assert config.wait_for_pods_ready
    assert config.wait_for_pods_ready.timeout == "30m0s"
    assert not config.wait_for_pods_ready.block_admission


def test_v54_a_v1beta1_file_waits_for_pods_only_if_it_specifies_it() -> None:
    """API-140"""
    silent, enabled = accepted("V54-empty"), accepted("V54-enable")

    assert not silent.waits_for_pods_ready(DEFAULT_GATES)
    assert enabled.waits_for_pods_ready(DEFAULT_GATES)
    assert enabled.wait_for_pods_ready
    assert enabled.wait_for_pods_ready.timeout == "5m0s"
    assert enabled.wait_for_pods_ready.block_admission


def test_v55_preemption_strategies_in_the_wrong_order_are_refused() -> None:
    """API-137"""
    (error,) = parse_configuration(CASES["V55"]["input"]).errors

    assert summary(error) == ("fairSharing.preemptionStrategies", "Unsupported value")
