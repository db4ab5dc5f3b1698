"""ValidatingAdmissionPolicies judge writes as a real API server does."""

import json
from typing import Any

import pytest

from embedded.policies.writes import (
    DEPLOYMENTS,
    NODES,
    OLD_DEPLOYMENTS,
    binding,
    deployment,
    harness,
    param,
    policy,
    rule,
    write,
)
from kohort.embedded.admission.attributes import AdmissionAttributes
from kohort.embedded.policies import PolicyContext, PolicyResult, evaluate, policy_problems, refusal

Json = Any
FEW = "object.spec.replicas <= 5"


async def judged(
    a_policy: Json,
    a_binding: Json = None,
    a_write: AdmissionAttributes | None = None,
    a_world: PolicyContext | None = None,
) -> PolicyResult:
    return await evaluate([a_policy], [a_binding or binding()], a_write or write(deployment(9)), a_world or harness())


async def texts(*arguments: Any) -> list[str]:
    return [each.message for each in (await judged(*arguments)).denials]


async def test_a_write_that_fulfills_a_policy_passes() -> None:
    outcome = await judged(policy(FEW), None, write(deployment(5)))
    assert (outcome.denials, outcome.warnings) == ([], [])


async def test_a_refusal_reads_as_on_the_real_server() -> None:
    outcome = await judged(policy(FEW))
    refused = refusal(outcome, write(deployment(9)))
    assert refused is not None
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert refused.message == (
        "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'small' with binding 'everywhere' "
        "denied request: failed expression: object.spec.replicas <= 5"
    )


async def test_a_policy_returns_its_configured_reason() -> None:
    refused = refusal(await judged(policy({"expression": FEW, "reason": "Forbidden"})), write())
    assert refused is not None
    assert (refused.code, refused.reason) == (403, "Forbidden")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, f"failed expression: {FEW}"),
        ({"message": " too many "}, "too many"),
        ({"messageExpression": "'has ' + string(object.spec.replicas)"}, "has 9"),
        ({"messageExpression": "object.missing", "message": "too many"}, "too many"),
        ({"messageExpression": "'a\\nb'", "message": "too many"}, "too many"),
    ],
)
async def test_the_message_is_computed_or_given_or_the_expression(fields: Json, expected: str) -> None:
    assert await texts(policy({"expression": FEW, **fields})) == [expected]


async def test_every_validation_that_does_not_hold_is_reported() -> None:
    assert len(await texts(policy(FEW, "true", "false"))) == 2


async def test_only_bound_policies_count() -> None:
    assert await texts(policy(FEW, name="other")) == []


async def test_a_failure_denies_unless_the_policy_ignores_failures() -> None:
    assert await texts(policy("object.missing == 1")) == [
        "expression 'object.missing == 1' resulted in error: no such key: missing"
    ]
    assert await texts(policy("object.missing == 1", failurePolicy="Ignore")) == []


async def test_warn_and_audit_accept_the_write() -> None:
    outcome = await judged(policy(FEW), binding(validationActions=["Warn", "Audit"]))
    assert outcome.denials == []
    assert outcome.warnings == [
        f"Validation failed for ValidatingAdmissionPolicy 'small' with binding 'everywhere': failed expression: {FEW}"
    ]
    (failure,) = json.loads(outcome.annotations["validation.policy.admission.k8s.io/validation_failure"])
    assert (failure["policy"], failure["expressionIndex"]) == ("small", 0)


async def test_variables_are_computed_once_and_only_when_used() -> None:
    variables = [
        {"name": "count", "expression": "object.spec.replicas"},
        {"name": "twice", "expression": "variables.count * 2"},
        {"name": "broken", "expression": "object.missing"},
    ]
    assert await texts(policy("variables.twice == 18", variables=variables)) == []
    assert await texts(policy("variables.broken == 1 || variables.count == 9", variables=variables)) == []


async def test_conditions_narrow_a_policy() -> None:
    assert await texts(policy("false", matchConditions=[{"name": "a", "expression": "has(object.status)"}])) == []
    assert await texts(policy("false", matchConditions=[{"name": "a", "expression": "object.status == 1"}])) == [
        "no such key: status"
    ]


async def test_constraints_choose_what_a_policy_concerns() -> None:
    excluded = {"resourceRules": [rule()], "excludeResourceRules": [rule("deployments", operations=["CREATE"])]}
    assert await texts(policy("false", matchConstraints=excluded)) == []
    assert await texts(policy("false", matchConstraints={"resourceRules": [rule("pods")]})) == []


async def test_a_binding_narrows_further() -> None:
    for_prod = binding(matchResources={"namespaceSelector": {"matchLabels": {"stage": "prod"}}})
    for_test = binding(matchResources={"namespaceSelector": {"matchLabels": {"stage": "test"}}})
    assert await texts(policy("false"), for_prod) == []
    assert len(await texts(policy("false"), for_test)) == 1


async def test_a_policy_sees_the_version_that_it_names() -> None:
    constraints = {"resourceRules": [rule("deployments", apiVersions=["v1beta1"])]}
    a_world = harness(versions=(DEPLOYMENTS, OLD_DEPLOYMENTS))
    old_only = policy("object.apiVersion == 'apps/v1beta1'", matchConstraints=constraints)
    assert await texts(old_only, None, None, a_world) == []


async def test_a_deletion_has_no_object_but_a_former_one() -> None:
    a_write = write(None, "DELETE", old=deployment(1))
    assert await texts(policy("object == null && oldObject.spec.replicas == 1"), None, a_write) == []


async def test_namespace_request_and_authorizer_are_available() -> None:
    asked = policy(
        "namespaceObject.metadata.labels.stage == 'test'",
        "request.userInfo.username == 'ada' && 'staff' in request.userInfo.groups",
        "!authorizer.requestResource.check('update').allowed()",
        "authorizer.requestResource.check('update').reason() == 'no grant'",
    )
    assert await texts(asked) == []


# Parameters

WITH_LIMIT: dict[str, Json] = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}


async def test_a_policy_is_evaluated_with_every_parameter_that_its_binding_selects() -> None:
    limits = [param("ConfigMap", name, "team", data={"max": most}) for name, most in (("a", "3"), ("b", "20"))]
    bounded = policy("object.spec.replicas <= int(params.data.max)", **WITH_LIMIT)
    assert len(await texts(bounded, binding(paramRef={"name": "a"}), None, harness(*limits))) == 1
    assert await texts(bounded, binding(paramRef={"name": "b"}), None, harness(*limits)) == []
    assert len(await texts(bounded, binding(paramRef={"selector": {}}), None, harness(*limits))) == 1


async def test_parameters_that_are_not_there_deny_where_the_binding_specifies_it() -> None:
    no_match = {"name": "z"}
    assert await texts(policy("false", **WITH_LIMIT), binding(paramRef=no_match)) == []
    denied = await texts(
        policy("true", **WITH_LIMIT), binding(paramRef={**no_match, "parameterNotFoundAction": "Deny"})
    )
    assert denied == [
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    ]


async def test_a_policy_whose_binding_names_no_parameter_sees_null() -> None:
    assert await texts(policy("params == null", **WITH_LIMIT)) == []


@pytest.mark.parametrize(
    ("kind", "reference", "problem"),
    [
        ("Nothing", {"name": "a"}, "not known"),
        ("Limits", {"name": "a", "namespace": "team"}, "must not be provided"),
        ("ConfigMap", {"name": "a"}, "cluster-scoped resources"),
        ("Limits", {}, "one of name or selector"),
    ],
)
async def test_parameters_that_make_no_sense_deny(kind: str, reference: Json, problem: str) -> None:
    a_policy = policy(
        "true", paramKind={"apiVersion": "v1", "kind": kind}, matchConstraints={"resourceRules": [rule()]}
    )
    found = await texts(a_policy, binding(paramRef={"x": 1, **reference}), write(resource=NODES, namespace=""))
    assert len(found) == 1
    assert problem in found[0]


# Policies themselves


def test_a_policy_that_compiles_can_be_stored() -> None:
    assert policy_problems(policy(FEW)) == []


def test_invalid_expressions_are_rejected_with_their_path() -> None:
    found = policy_problems(policy("object.spec.replicas <=", {"expression": "true", "messageExpression": "missing"}))
    assert [str(each.path) for each in found] == [
        "spec.validations[0].expression",
        "spec.validations[1].messageExpression",
    ]
    assert "undeclared reference to 'missing'" in found[1].detail


async def test_a_policy_or_binding_without_content_concerns_nothing() -> None:
    empty = {"metadata": {"name": "small"}}
    assert await texts(empty) == []
    assert await texts(policy("false"), {"metadata": {"name": "everywhere"}}) == []


async def test_expressions_that_are_missing_deny_as_failures_do() -> None:
    assert len(await texts(policy({"message": "x"}))) == 1
