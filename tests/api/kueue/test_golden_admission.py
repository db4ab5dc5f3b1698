"""Every admission, defaulting and conversion case observed on the real API server and webhooks."""

from collections import Counter
from typing import Any

import pytest

from kit.golden.admission import FILES, MERGED_ERRORS, AdmissionStep, replay

Json = Any
Errors = Counter[tuple[str, str, str]]

WRITES = ("create", "update", "update-status")

DEVIATIONS = {
    "WPC-big": Counter({("schema", "value", "FieldValueInvalid"): 1}),
    **MERGED_ERRORS,
}
"""Refusals that we word otherwise on purpose, with our errors (docs/deviations.md)."""

RECONCILED = ("AdmissionCheck", "Topology")
"""Kinds whose finalizer comes from a controller, some time after the create."""


def answers(*ops: str, showing_object: bool | None = None) -> list[Any]:
    """The steps of all transcripts with these operations, as test parameters."""
    return [
        pytest.param(answer, id=f"{answer.case}-{answer.step['op']}-{index}")
        for name in FILES
        for index, answer in enumerate(replay(name))
        if answer.step["op"] in ops and (showing_object is None or showing_object == ("object" in answer.expected))
    ]


def our_errors(answer: AdmissionStep) -> Errors:
    assert answer.verdict is not None
    return Counter(
        (error.source, str(error.path), error.kind.value if error.source == "webhook" else error.kind.cause)
        for error in answer.verdict.errors
    )


def their_errors(answer: AdmissionStep) -> Errors:
    return Counter((error["source"], error["field"], error["kind"]) for error in answer.expected.get("errors", ()))


@pytest.mark.parametrize("answer", answers(*WRITES))
def test_a_write_gets_the_same_response(answer: AdmissionStep) -> None:
    assert answer.verdict is not None
    assert answer.verdict.code == answer.expected["code"], [str(error) for error in answer.verdict.errors]
    if answer.expected["code"] != 400:
        assert our_errors(answer) == DEVIATIONS.get(answer.case, their_errors(answer))


@pytest.mark.parametrize("answer", answers(*WRITES))
def test_a_write_gets_as_many_warnings(answer: AdmissionStep) -> None:
    assert answer.verdict is not None
    assert len(answer.verdict.warnings) == answer.expected.get("warnings", 0)


@pytest.mark.parametrize("answer", answers(*WRITES, "read-other-version", showing_object=True))
def test_an_accepted_object_is_the_same(answer: AdmissionStep) -> None:
    assert shown(answer.seen) == shown(answer.expected["object"])


@pytest.mark.parametrize("answer", answers("create", "update-status", showing_object=True))
def test_a_written_status_is_the_same(answer: AdmissionStep) -> None:
    assert answer.seen.get("status") == answer.expected["object"].get("status")


def shown(value: Json) -> Json:
    """The object without fields that only a live server or a controller sets, and without those left as written."""
    kept = ("name", "namespace", "labels", "annotations", *(() if value["kind"] in RECONCILED else ("finalizers",)))
    metadata = {name: value["metadata"][name] for name in kept if name in value["metadata"]}
    return _as_written({**{name: member for name, member in value.items() if name != "status"}, "metadata": metadata})


def _as_written(value: Json) -> Json:
    """Empty lists and empty template metadata mean the same as absent ones, and so does a plus sign."""
    if isinstance(value, dict):
        members = {name: _as_written(member) for name, member in value.items()}
        if "template" in members and members["template"].get("metadata") == {}:
            del members["template"]["metadata"]
        return {name: member for name, member in members.items() if member != []}
    if isinstance(value, list):
        return [_as_written(item) for item in value]
    return value.removeprefix("+") if isinstance(value, str) else value
