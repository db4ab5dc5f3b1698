"""Evaluates all policies that match a request.

policy matches? ─► for each binding: matches? ─► parameters ─► for each: match conditions ─► validations
                                                                                 │
                                            Deny: denial   Warn: warning   Audit: annotation
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from kohort.api.codec import Json, JsonMapping
from kohort.api.selectors import SelectorError
from kohort.embedded.admission.attributes import AdmissionAttributes
from kohort.embedded.cel.library.authorization import Ask
from kohort.embedded.matching import (
    applies,
    is_exempt,
    is_selected,
    labels_of,
    matched_version,
)
from kohort.embedded.policies.params import ParamError, Params, collect_params
from kohort.embedded.policies.policy_evaluator import FailedValidation, PolicyEvaluator, PolicyInput
from kohort.embedded.resources import ServedResource
from kohort.kube.errors import StatusError, forbidden

_CODES = {"Unauthorized": 401, "Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}

_Convert = Callable[[JsonMapping, ServedResource], Awaitable[JsonMapping]]


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """What policies need besides the request."""

    namespace: Callable[[str], JsonMapping | None]
    """A stored namespace."""
    params: Params
    ask: Ask
    """Authorizer of the request's user."""
    versions: Callable[[ServedResource], Iterable[ServedResource]]
    """All served versions of a resource."""
    convert: _Convert
    """An object in another version."""

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """The labels of a namespace."""
        found = self.namespace(name)
        return None if found is None else labels_of(found)


@dataclass(frozen=True, slots=True)
class Denial:
    """A denial by a policy."""

    policy: str
    binding: str
    message: str
    reason: str = "Invalid"

    def __str__(self) -> str:
        bound = f" with binding '{self.binding}'" if self.binding else ""
        return f"ValidatingAdmissionPolicy '{self.policy}'{bound} denied request: {self.message}"


@dataclass
class PolicyResult:
    """Denials, warnings and audit annotations of all policies."""

    denials: list[Denial] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    """Audit annotations by key."""


async def evaluate(
    policies: Iterable[JsonMapping], bindings: Iterable[JsonMapping], write: AdmissionAttributes, world: PolicyContext
) -> PolicyResult:
    """Evaluates the policies for a request."""
    outcome = PolicyResult()
    if is_exempt(write):
        return outcome
    bound: dict[str, list[JsonMapping]] = {}
    for binding in bindings:
        bound.setdefault(str((binding.get("spec") or {}).get("policyName")), []).append(binding)
    for policy in policies:
        for binding in bound.get(policy["metadata"]["name"], ()):
            await _apply(policy, binding, write, world, outcome)
    return outcome


def refusal(outcome: PolicyResult, write: AdmissionAttributes) -> StatusError | None:
    """The error of a denied request; the first denial is returned."""
    if not outcome.denials:
        return None
    first = outcome.denials[0]
    refused = forbidden(write.about, str(first))
    details = {**refused.details, "causes": [{"message": str(first)}]}
    return StatusError(_CODES.get(first.reason, 422), first.reason, refused.message, details)


async def _apply(
    policy: JsonMapping, binding: JsonMapping, write: AdmissionAttributes, world: PolicyContext, outcome: PolicyResult
) -> None:
    names = (str(policy["metadata"]["name"]), str(binding["metadata"]["name"]))
    try:
        resource = _concerned(policy, binding, write, world)
        if resource is None:
            return
        params = collect_params(
            (policy.get("spec") or {}).get("paramKind"),
            (binding.get("spec") or {}).get("paramRef"),
            write.namespace,
            world.params,
        )
        converted = await _in_version(write, resource, world)
    except (SelectorError, ParamError) as error:
        if (policy.get("spec") or {}).get("failurePolicy") != "Ignore":
            outcome.denials.append(Denial(*names, f"failed to configure binding: {error}"))
        return
    namespace = world.namespace(write.namespace) if write.namespace else None
    for each in params:
        judge = PolicyEvaluator(policy.get("spec") or {}, PolicyInput(converted, resource, each, namespace, world.ask))
        _record(list(judge.findings()), binding, names, outcome)
        outcome.annotations |= {f"{names[0]}/{key}": text for key, text in judge.annotations()}


def _concerned(
    policy: JsonMapping, binding: JsonMapping, write: AdmissionAttributes, world: PolicyContext
) -> ServedResource | None:
    """The matching version of the object, or None if policy or binding does not match."""
    found = _matched((policy.get("spec") or {}).get("matchConstraints") or {}, write, world)
    narrower = (binding.get("spec") or {}).get("matchResources")
    if found is None or narrower is None:
        return found
    return found if _is_narrowed(narrower, write, world) else None


def _matched(constraints: JsonMapping, write: AdmissionAttributes, world: PolicyContext) -> ServedResource | None:
    versions = list(world.versions(write.resource))
    match_policy = str(constraints.get("matchPolicy") or "Equivalent")
    found = matched_version(constraints.get("resourceRules") or (), match_policy, write, versions)
    if found is None or _is_excluded(constraints, write, match_policy, versions):
        return None
    return found if is_selected(constraints, write, world.namespace_labels) else None


def _is_excluded(
    constraints: JsonMapping, write: AdmissionAttributes, match_policy: str, versions: list[ServedResource]
) -> bool:
    excluded = constraints.get("excludeResourceRules") or ()
    return matched_version(excluded, match_policy, write, versions) is not None


def _is_narrowed(constraints: JsonMapping, write: AdmissionAttributes, world: PolicyContext) -> bool:
    if constraints.get("resourceRules"):
        return _matched(constraints, write, world) is not None
    excluded = any(applies(rule, write, write.resource) for rule in constraints.get("excludeResourceRules") or ())
    return not excluded and is_selected(constraints, write, world.namespace_labels)


async def _in_version(
    write: AdmissionAttributes, resource: ServedResource, world: PolicyContext
) -> AdmissionAttributes:
    if resource is write.resource:
        return write
    new = None if write.object is None else dict(await world.convert(write.object, resource))
    old = None if write.old is None else dict(await world.convert(write.old, resource))
    return replace(write, object=new, old=old)


def _record(
    findings: list[FailedValidation], binding: JsonMapping, names: tuple[str, str], outcome: PolicyResult
) -> None:
    actions = (binding.get("spec") or {}).get("validationActions") or ("Deny",)
    for finding in findings:
        if "Deny" in actions:
            outcome.denials.append(Denial(*names, finding.message, finding.reason))
        if "Warn" in actions:
            text = f"Validation failed for ValidatingAdmissionPolicy '{names[0]}' with binding '{names[1]}'"
            outcome.warnings.append(f"{text}: {finding.message}")
        if "Audit" in actions:
            _annotate(finding, names, actions, outcome)


AUDIT_KEY = "validation.policy.admission.k8s.io/validation_failure"


def _annotate(finding: FailedValidation, names: tuple[str, str], actions: Iterable[str], outcome: PolicyResult) -> None:
    failure = {
        "message": finding.message,
        "policy": names[0],
        "binding": names[1],
        "expressionIndex": finding.index,
        "validationActions": list(actions),
    }
    former: list[Json] = json.loads(outcome.annotations.get(AUDIT_KEY, "[]"))
    outcome.annotations[AUDIT_KEY] = json.dumps([*former, failure])
