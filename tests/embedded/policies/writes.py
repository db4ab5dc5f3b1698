"""Builders of writes, policies and bindings."""

from collections.abc import Iterable, Mapping
from typing import Any

from kohort.embedded.admission.attributes import AdmissionAttributes, Verb
from kohort.embedded.auth.users import User
from kohort.embedded.cel.library.authorization import AuthorizationCheck, AuthorizerDecision
from kohort.embedded.policies import PolicyContext
from kohort.embedded.resources import ServedResource, Subresource

Json = Any

DEPLOYMENTS = ServedResource(
    "apps",
    "v1",
    "deployments",
    "Deployment",
    namespaced=True,
    subresources=(Subresource("scale", "Scale", ("get", "update"), "autoscaling", "v1"),),
)
OLD_DEPLOYMENTS = ServedResource("apps", "v1beta1", "deployments", "Deployment", namespaced=True)
NODES = ServedResource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = ServedResource("", "v1", "namespaces", "Namespace", namespaced=False)


def labelled(**labels: str) -> Json:
    return {"metadata": {"name": "web", "labels": labels}}


def deployment(replicas: int = 1, **labels: str) -> Json:
    return {**labelled(**labels), "apiVersion": "apps/v1", "spec": {"replicas": replicas}}


def write(
    obj: Json = None,
    verb: Verb = "CREATE",
    resource: ServedResource = DEPLOYMENTS,
    namespace: str = "team",
    **more: Any,
) -> AdmissionAttributes:
    return AdmissionAttributes(verb, resource, namespace, "web", User("ada", ("staff",)), object=obj, **more)


def rule(*resources: str, operations: Iterable[str] = ("*",), groups: Iterable[str] = ("*",), **more: Json) -> Json:
    named = {"operations": list(operations), "apiGroups": list(groups), "apiVersions": ["*"]}
    return {**named, "resources": list(resources) or ["*"], **more}


def policy(*expressions: str | Json, name: str = "small", **spec: Json) -> Json:
    validations = [{"expression": each} if isinstance(each, str) else each for each in expressions]
    constraints = {"resourceRules": [rule("deployments")]}
    return {"metadata": {"name": name}, "spec": {"matchConstraints": constraints, "validations": validations, **spec}}


def binding(policy_name: str = "small", **spec: Json) -> Json:
    return {"metadata": {"name": "everywhere"}, "spec": {"policyName": policy_name, **spec}}


class ParameterStore:
    """Parameters by kind: ConfigMaps are namespaced, Limits are not."""

    def __init__(self, *objects: Json) -> None:
        self.all = objects

    def is_namespaced(self, api_version: str, kind: str) -> bool | None:
        return {"ConfigMap": True, "Limits": False}.get(kind)

    def objects(self, api_version: str, kind: str, namespace: str) -> Iterable[Mapping[str, Json]]:
        return [
            each for each in self.all if each["kind"] == kind and each["metadata"].get("namespace", "") == namespace
        ]


def param(kind: str, name: str, namespace: str = "", **more: Json) -> Json:
    return {"kind": kind, "metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, **more}


async def converted(obj: Mapping[str, Json], resource: ServedResource) -> Mapping[str, Json]:
    return {**obj, "apiVersion": resource.api_version}


def may_get_only(question: AuthorizationCheck) -> AuthorizerDecision:
    return AuthorizerDecision(allowed=question.verb == "get", reason="" if question.verb == "get" else "no grant")


def harness(*params: Json, namespaces: Json = None, versions: tuple[ServedResource, ...] = ()) -> PolicyContext:
    known = {"team": labelled(stage="test"), **(namespaces or {})}
    return PolicyContext(
        known.get, ParameterStore(*params), may_get_only, lambda resource: versions or (resource,), converted
    )
