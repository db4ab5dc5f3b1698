"""Matching of webhooks and policies to requests: rules, scope, selectors and match conditions.

Reads the configuration as JSON; storage and authorizer are passed as functions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from kohort.api.codec import Json, from_json
from kohort.api.meta import LabelSelector
from kohort.api.selectors import EVERYTHING, Selector, compile_selector
from kohort.embedded.admission.attributes import AdmissionAttributes
from kohort.embedded.cel import CelError, CostBudget, compile_expression
from kohort.embedded.cel.library.authorization import Ask, AuthorizationCheck, AuthorizerValue, ResourceCheck
from kohort.embedded.resources import ServedResource

CONFIGURATION_GROUP = "admissionregistration.k8s.io"

LabelsOfNamespace = Callable[[str], Mapping[str, str] | None]
"""The labels of a stored namespace; None if it does not exist."""


def is_exempt(write: AdmissionAttributes) -> bool:
    """Whether admission is skipped: the configuration of admission itself must stay repairable."""
    return write.resource.group == CONFIGURATION_GROUP


def _is_about_namespace(write: AdmissionAttributes) -> bool:
    return write.resource.key == "namespaces"


# The request as webhooks and CEL see it


def admission_request(write: AdmissionAttributes, resource: ServedResource) -> dict[str, Json]:
    """The request of an AdmissionReview (without uid and objects) and of CEL, in the version of the matching rule."""
    texts = {"name": write.name, "namespace": write.namespace}
    texts |= dict.fromkeys(("subResource", "requestSubResource"), write.subresource)
    return {
        "kind": _kind(resource, write.subresource),
        "resource": _name(resource),
        "requestKind": _kind(write.resource, write.subresource),
        "requestResource": _name(write.resource),
        **{name: text for name, text in texts.items() if text},
        "operation": write.verb,
        "userInfo": write.user.to_user_info(),
        "dryRun": write.dry_run,
        "options": write.options or None,
    }


def _kind(resource: ServedResource, subresource: str) -> dict[str, Json]:
    below = resource.subresource(subresource) if subresource else None
    if below is not None and below.version:
        return {"group": below.group, "version": below.version, "kind": below.kind}
    return {"group": resource.group, "version": resource.version, "kind": below.kind if below else resource.kind}


def _name(resource: ServedResource) -> dict[str, Json]:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


# Rules


def matched_version(
    rules: Sequence[Mapping[str, Any]],
    match_policy: str,
    write: AdmissionAttributes,
    versions: Iterable[ServedResource],
) -> ServedResource | None:
    """The version of the resource that a rule matches: the request's own, or with `Equivalent` another one."""
    others = [each for each in versions if each.version != write.resource.version] if match_policy != "Exact" else []
    for resource in (write.resource, *others):
        if any(applies(rule, write, resource) for rule in rules):
            return resource
    return None


def applies(rule: Mapping[str, Any], write: AdmissionAttributes, resource: ServedResource) -> bool:
    """Whether a rule matches this operation on this version of the resource."""
    return (
        _lists(rule.get("operations"), write.verb)
        and _lists(rule.get("apiGroups"), resource.group)
        and _lists(rule.get("apiVersions"), resource.version)
        and any(_names_resource(each, resource.plural, write.subresource) for each in rule.get("resources") or ())
        and _has_scope(str(rule.get("scope") or "*"), write)
        and (not rule.get("resourceNames") or write.name in rule["resourceNames"])
    )


def _lists(values: Iterable[str] | None, wanted: str) -> bool:
    listed = tuple(values or ())
    return "*" in listed or wanted in listed


def _names_resource(pattern: str, plural: str, subresource: str) -> bool:
    resource, _, below = pattern.partition("/")
    return resource in ("*", plural) and below in ("*", subresource)


def _has_scope(scope: str, write: AdmissionAttributes) -> bool:
    is_namespaced = bool(write.namespace) and not _is_about_namespace(write)
    return scope == "*" or is_namespaced == (scope == "Namespaced")


# Selectors


def is_selected(
    constraints: Mapping[str, Any], write: AdmissionAttributes, namespace_labels: LabelsOfNamespace
) -> bool:
    """Whether namespace and object match the selectors; raises `SelectorError` for an invalid one."""
    in_namespace = read_selector(constraints.get("namespaceSelector"))
    on_object = read_selector(constraints.get("objectSelector"))
    if in_namespace is not EVERYTHING and not _selects_namespace(in_namespace, write, namespace_labels):
        return False
    return on_object is EVERYTHING or any(_selects(on_object, each) for each in (write.object, write.old))


def _selects_namespace(selector: Selector, write: AdmissionAttributes, namespace_labels: LabelsOfNamespace) -> bool:
    if _is_about_namespace(write):
        # A namespace in creation or update is matched by its new labels, which are not stored yet.
        labels = namespace_labels(write.name) if write.verb == "DELETE" else labels_of(write.object)
        return selector.matches(labels or {})
    return not write.namespace or selector.matches(namespace_labels(write.namespace) or {})


def _selects(selector: Selector, obj: Mapping[str, Any] | None) -> bool:
    return obj is not None and selector.matches(labels_of(obj))


def labels_of(obj: Mapping[str, Any] | None) -> Mapping[str, str]:
    """The labels of an object, tolerating any missing field."""
    labels: Mapping[str, str] = ((obj or {}).get("metadata") or {}).get("labels") or {}
    return labels


def read_selector(raw: Mapping[str, Any] | None) -> Selector:
    """The selector of a configuration; absent and empty match everything."""
    return _compiled(msgspec.json.encode(raw, order="sorted")) if raw else EVERYTHING


@lru_cache(maxsize=512)
def _compiled(raw: bytes) -> Selector:
    selector = compile_selector(from_json(msgspec.json.decode(raw), LabelSelector))
    return selector if selector.requirements else EVERYTHING


# Conditions

CONDITION_VARIABLES = ("object", "oldObject", "request", "authorizer", "authorizer.requestResource")


def meets_conditions(
    conditions: Sequence[Mapping[str, Any]], write: AdmissionAttributes, request: Mapping[str, Json], ask: Ask
) -> bool:
    """Whether all match conditions hold.

    A false condition decides, even if another fails; a failure raises `CelError` for the failure policy.
    """
    authorizer = AuthorizerValue(ask)
    values = (write.object, write.old, request, authorizer, request_resource(ask, write))
    budget = CostBudget()
    return all_hold(conditions, lambda text: compile_expression(text, CONDITION_VARIABLES).evaluate(budget, *values))


def all_hold(conditions: Iterable[Mapping[str, Any]], evaluate: Callable[[str], Json]) -> bool:
    """Whether every condition is true; a false one takes precedence over an error, which is raised otherwise."""
    failure: CelError | None = None
    for condition in conditions:
        try:
            if evaluate(str(condition.get("expression") or "")) is not True:
                return False
        except CelError as error:
            failure = failure or error
    if failure:
        raise failure
    return True


def request_resource(ask: Ask, write: AdmissionAttributes) -> ResourceCheck:
    """`authorizer.requestResource`: an authorization check of the request's resource."""
    resource = write.resource
    question = AuthorizationCheck(
        group=resource.group,
        resource=resource.plural,
        subresource=write.subresource,
        namespace=write.namespace,
        name=write.name,
    )
    return ResourceCheck(ask, question)
