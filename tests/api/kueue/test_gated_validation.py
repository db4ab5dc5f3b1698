"""Validation that feature gates switch on, as observed with them on (API-26, API-65)."""

from collections import Counter
from typing import Any

import pytest

from kit.golden.recordings import api_recording_with_times
from kohort.api.fields import ROOT
from kohort.api.gates import from_settings
from kohort.api.kueue.admission import ObjectWrite, admit

GATES = from_settings({"ConcurrentAdmission": True, "PriorityBoost": True}, ROOT).gates
STEPS = next(case["steps"] for case in api_recording_with_times("lifecycle-gated") if case["id"] == "G4")


@pytest.mark.parametrize("step", [pytest.param(step, id=step["object"]["metadata"]["name"]) for step in STEPS])
def test_a_gated_rule_has_the_same_result(step: Any) -> None:
    verdict = admit(ObjectWrite(step["object"]), GATES)
    assert verdict.code == step["code"], [str(error) for error in verdict.errors]
    assert Counter((str(error.path), error.kind.value) for error in verdict.errors) == Counter(
        (error["field"], error["kind"]) for error in step.get("errors", ())
    )
