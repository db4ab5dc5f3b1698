"""Results of Kubernetes' own validation library (apiextensions 0.36) for generated schemas and objects.

A case has a schema, an object, and perhaps the object before; recorded are the object in shape, what the schema
refuses, and the rules that are broken. Two sorts of cases are left out, because ours differ: expressions whose
types don't fit (reported beforehand there, when they run here), and rules about texts that were ill-formed before.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from kohort.api.fields import FieldError
from kohort.embedded.crds import shape, validate
from kohort.embedded.crds.objects import RULES_UNCHECKED
from kohort.embedded.resources import ServedResource

Json = Any
CASES = json.loads((Path(__file__).parent / "recorded_answers.json").read_text())


def resource(schema: Json) -> ServedResource:
    definition = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    return ServedResource("example.com", "v1", "things", "Thing", namespaced=True, definition=definition)


def parts(errors: list[FieldError]) -> list[list[str]]:
    return sorted([str(error.path), error.kind.cause, error.detail] for error in errors)


@pytest.mark.parametrize("case", CASES, ids=map(str, range(len(CASES))))
def test_a_generated_case_gets_the_recorded_response(case: Json) -> None:
    kind = resource(case["schema"])
    shaped = shape(kind, case["obj"]).object
    assert shaped == case["shaped"]
    old = shape(kind, case["old"]).object if "old" in case else None
    errors = validate(kind, shaped, old).errors
    assert parts([error for error in errors if error.source == "schema" and error != RULES_UNCHECKED]) == case["errors"]
    if RULES_UNCHECKED not in errors:
        assert parts([error for error in errors if error.source == "cel"]) == case["broken"]
