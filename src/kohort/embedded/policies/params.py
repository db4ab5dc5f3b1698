"""Parameters of policies: the objects that a binding refers to, one evaluation for each."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from kohort.api.codec import Json
from kohort.embedded.matching import labels_of, read_selector


class ParamError(Exception):
    """The binding does not fit the available parameters."""


class Params(Protocol):
    """Source of parameters."""

    def is_namespaced(self, api_version: str, kind: str) -> bool | None:
        """Whether the kind is namespaced; None for an unknown kind."""

    def objects(self, api_version: str, kind: str, namespace: str) -> Iterable[Mapping[str, Json]]:
        """All objects of the kind, in one namespace if it is namespaced."""


def collect_params(
    param_kind: Mapping[str, Any] | None, reference: Mapping[str, Any] | None, namespace: str, params: Params
) -> list[Mapping[str, Json] | None]:
    """The parameters of a policy; one evaluation with None if it has no paramKind."""
    if not param_kind or not reference:
        return [None]
    found = _found(param_kind, reference, namespace, params)
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ParamError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [*found]


def _found(
    param_kind: Mapping[str, Any], reference: Mapping[str, Any], namespace: str, params: Params
) -> list[Mapping[str, Json]]:
    api_version, kind = str(param_kind.get("apiVersion") or ""), str(param_kind.get("kind") or "")
    namespaced = params.is_namespaced(api_version, kind)
    if namespaced is None:
        raise ParamError(f"paramKind kind `{api_version}, Kind={kind}` not known")
    home = _namespace(reference, namespace) if namespaced else _no_namespace(reference)
    objects = params.objects(api_version, kind, home)
    if reference.get("name"):
        return [each for each in objects if each["metadata"].get("name") == reference["name"]]
    if reference.get("selector") is None:
        raise ParamError("one of name or selector must be provided")
    selector = read_selector(reference["selector"])
    return [each for each in objects if selector.matches(labels_of(each))]


def _no_namespace(reference: Mapping[str, Any]) -> str:
    if reference.get("namespace"):
        raise ParamError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    return ""


def _namespace(reference: Mapping[str, Any], namespace: str) -> str:
    home = str(reference.get("namespace") or namespace)
    if not home:
        raise ParamError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return home
