"""Validation of ValidatingAdmissionPolicies."""

from collections.abc import Iterator, Mapping
from typing import Any

from kohort.api.fields import ROOT, FieldError, Path, invalid, required
from kohort.embedded.cel import CompileError, compile_expression

VARIABLES = (
    "object",
    "oldObject",
    "request",
    "params",
    "namespaceObject",
    "authorizer",
    "authorizer.requestResource",
    "variables",
)
"""CEL variables of policy expressions."""

_EXPRESSIONS = (
    ("variables", "expression"),
    ("matchConditions", "expression"),
    ("validations", "expression"),
    ("validations", "messageExpression"),
    ("auditAnnotations", "valueExpression"),
)


def policy_problems(policy: Mapping[str, Any]) -> list[FieldError]:
    """Validation errors of a policy: missing or invalid expressions."""
    spec = policy.get("spec") or {}
    path = ROOT / "spec"
    problems = [problem for part, field in _EXPRESSIONS for problem in _part_problems(spec, path, part, field)]
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        problems.append(required(path / "validations", "validations or auditAnnotations must be non-empty"))
    if not (spec.get("matchConstraints") or {}).get("resourceRules"):
        problems.append(required(path / "matchConstraints" / "resourceRules", ""))
    return problems


def _part_problems(spec: Mapping[str, Any], path: Path, part: str, field: str) -> Iterator[FieldError]:
    for index, each in enumerate(spec.get(part) or ()):
        place, text = (path / part)[index] / field, str(each.get(field) or "").strip()
        if not text:
            if field != "messageExpression":
                yield required(place, f"{field} is not specified")
            continue
        try:
            compile_expression(text, VARIABLES)
        except CompileError as error:
            yield invalid(place, text, f"compilation failed: {error}")
