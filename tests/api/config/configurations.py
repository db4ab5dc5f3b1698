"""One-line builders for configuration tests."""

from typing import Any

from kohort.api.codec import Json
from kohort.api.config import Configuration, Result, parse_configuration

V1BETA1 = "config.kueue.x-k8s.io/v1beta1"
V1BETA2 = "config.kueue.x-k8s.io/v1beta2"


def v1beta1(**settings: Any) -> Json:
    return {"apiVersion": V1BETA1, "kind": "Configuration", **settings}


def v1beta2(**settings: Any) -> Json:
    return {"apiVersion": V1BETA2, "kind": "Configuration", **settings}


def accepted(value: Json) -> Configuration:
    result = parse_configuration(value)
    assert [str(error) for error in result.errors] == []
    assert result.config
    return result.config


def verdicts(result: Result) -> list[tuple[str, str]]:
    """Path and kind of every error, in order."""
    return [(str(error.path), error.kind.value) for error in result.errors]
