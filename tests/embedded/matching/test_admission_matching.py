"""Which writes a rule, selector or condition of a webhook or policy concerns."""

from typing import Any

import pytest

from embedded.policies.writes import (
    DEPLOYMENTS,
    NAMESPACES,
    NODES,
    OLD_DEPLOYMENTS,
    labelled,
    may_get_only,
    rule,
    write,
)
from kohort.api.selectors import SelectorError
from kohort.embedded.admission.attributes import AdmissionAttributes
from kohort.embedded.cel import CelError
from kohort.embedded.matching import (
    admission_request,
    is_exempt,
    is_selected,
    matched_version,
    meets_conditions,
)
from kohort.embedded.resources import ServedResource


def matches(a_rule: Any, a_write: AdmissionAttributes) -> bool:
    return matched_version([a_rule], "Exact", a_write, ()) is not None


@pytest.mark.parametrize(
    ("pattern", "subresource", "expected"),
    [
        ("*", "", True),
        ("*", "scale", False),
        ("*/*", "", True),
        ("*/*", "scale", True),
        ("deployments", "", True),
        ("deployments", "scale", False),
        ("deployments/*", "scale", True),
        ("deployments/*", "", True),
        ("deployments/scale", "scale", True),
        ("deployments/scale", "status", False),
        ("*/scale", "scale", True),
        ("pods", "", False),
    ],
)
def test_resources_are_named_with_their_subresources(pattern: str, subresource: str, expected: bool) -> None:
    assert matches(rule(pattern), write(subresource=subresource)) == expected


def test_operations_groups_and_versions_are_named_or_starred() -> None:
    assert matches(rule(operations=["CREATE"], groups=["apps"]), write())
    assert not matches(rule(operations=["DELETE"]), write())
    assert not matches(rule(groups=["batch"]), write())
    assert not matches(rule(apiVersions=["v2"]), write())


@pytest.mark.parametrize(
    ("resource", "namespace", "scope"),
    [(DEPLOYMENTS, "team", "Namespaced"), (NODES, "", "Cluster"), (NAMESPACES, "team", "Cluster")],
)
def test_the_scope_of_a_rule_matches_the_scope_of_the_object(
    resource: ServedResource, namespace: str, scope: str
) -> None:
    a_write = write(resource=resource, namespace=namespace)
    fitting = [each for each in ("Namespaced", "Cluster") if matches(rule(scope=each), a_write)]
    assert fitting == [scope]


def test_rules_of_policies_may_name_objects() -> None:
    assert matches(rule(resourceNames=["web"]), write())
    assert not matches(rule(resourceNames=["db"]), write())


def test_an_equivalent_version_matches_unless_the_rule_requires_exact_matches() -> None:
    old_only, versions = [rule(apiVersions=["v1beta1"])], (DEPLOYMENTS, OLD_DEPLOYMENTS)
    assert matched_version(old_only, "Equivalent", write(), versions) is OLD_DEPLOYMENTS
    assert matched_version(old_only, "Exact", write(), versions) is None


def test_the_version_of_the_request_is_preferred() -> None:
    assert matched_version([rule()], "Equivalent", write(), (OLD_DEPLOYMENTS, DEPLOYMENTS)) is DEPLOYMENTS


def nothing(_name: str) -> None:
    """No namespace is there."""


def in_test_stage(a_write: AdmissionAttributes) -> bool:
    selector = {"namespaceSelector": {"matchLabels": {"stage": "test"}}}
    return is_selected(selector, a_write, {"team": {"stage": "test"}, "prod": {}}.get)


def test_namespaces_are_selected_by_their_labels() -> None:
    assert in_test_stage(write())
    assert not in_test_stage(write(namespace="prod"))


def test_cluster_scoped_objects_match_any_namespace_selector() -> None:
    assert in_test_stage(write(resource=NODES, namespace=""))


def test_a_namespace_is_selected_by_its_own_labels_to_be() -> None:
    assert in_test_stage(write(labelled(stage="test"), resource=NAMESPACES, namespace="web"))
    assert not in_test_stage(write(labelled(stage="prod"), resource=NAMESPACES, namespace="web"))
    assert not in_test_stage(write(None, "DELETE", NAMESPACES, "web"))


def test_an_object_is_selected_by_its_labels_before_or_after() -> None:
    selector = {"objectSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}
    assert is_selected(selector, write(labelled(app="a")), nothing)
    assert is_selected(selector, write(labelled(), "UPDATE", old=labelled(app="a")), nothing)
    assert not is_selected(selector, write(labelled()), nothing)


def test_a_selector_without_sense_is_an_error() -> None:
    with pytest.raises(SelectorError):
        is_selected({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}, write(), nothing)


def conditions(*expressions: str) -> bool:
    a_write = write(labelled(app="a"), "UPDATE", old=labelled())
    listed = [{"name": "c", "expression": each} for each in expressions]
    return meets_conditions(listed, a_write, admission_request(a_write, a_write.resource), may_get_only)


def test_all_conditions_must_hold() -> None:
    assert conditions()
    assert conditions("object.metadata.labels.app == 'a'", "request.operation == 'UPDATE'")
    assert not conditions("true", "'app' in oldObject.metadata.labels")


def test_conditions_may_check_the_permissions_of_the_user() -> None:
    assert conditions("authorizer.group('apps').resource('deployments').check('get').allowed()")
    assert not conditions("authorizer.requestResource.check('delete').allowed()")


def test_a_false_condition_decides_even_if_another_one_fails() -> None:
    assert not conditions("object.missing == 1", "false")
    with pytest.raises(CelError, match="no such key: missing"):
        conditions("object.missing == 1", "true")


def test_the_configuration_of_admission_is_exempt() -> None:
    hooks = ServedResource(
        "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "X", namespaced=False
    )
    assert is_exempt(write(resource=hooks))
    assert not is_exempt(write())


def test_a_request_names_kind_resource_and_user() -> None:
    request = admission_request(write(subresource="scale", dry_run=True), OLD_DEPLOYMENTS)
    assert request["requestKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert request["resource"] == {"group": "apps", "version": "v1beta1", "resource": "deployments"}
    assert request["userInfo"] == {"username": "ada", "groups": ["staff"]}
    assert (request["operation"], request["dryRun"], request["subResource"]) == ("CREATE", True, "scale")
