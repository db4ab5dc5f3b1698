"""One-line builders for configuration tests."""

from dataclasses import dataclass
from typing import Any

from kohort.api.codec import Json
from kohort.api.config.parsing import ParsedConfiguration, parse_configuration
from kohort.api.config.v1beta2 import Configuration

INVALID = "Invalid value"
REQUIRED = "Required value"
UNSUPPORTED = "Unsupported value"
DUPLICATE = "Duplicate value"
FORBIDDEN = "Forbidden"
TOO_LONG = "Too long"
TOO_MANY = "Too many"
TYPE = "Invalid type"

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


def verdicts(result: ParsedConfiguration) -> list[tuple[str, str]]:
    """Path and kind of every error, in order."""
    return [(str(error.path), error.kind.value) for error in result.errors]


@dataclass(frozen=True)
class Case:
    """Settings that break a rule, the errors they give, and settings that keep it."""

    name: str
    bad: Json
    errors: tuple[tuple[str, str], ...]
    good: Json


def case(name: str, *, bad: Json, gives: tuple[str, str] | list[tuple[str, str]], good: Json) -> Case:
    return Case(name, bad, tuple(gives) if isinstance(gives, list) else (gives,), good)


def assert_refused(each: Case) -> None:
    assert sorted(verdicts(parse_configuration(v1beta2(**each.bad)))) == sorted(each.errors)


def texts(count: int) -> list[str]:
    return [f"v{index}" for index in range(count)]
