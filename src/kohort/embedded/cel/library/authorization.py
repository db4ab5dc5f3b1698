"""The authorizer library; the evaluation provides the authorization function."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from kohort.embedded.cel.overloads import method
from kohort.embedded.cel.values import Opaque


@dataclass(frozen=True, slots=True)
class AuthorizationCheck:
    """An authorization check: a path, or a resource and its attributes."""

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""
    service_account: tuple[str, str] | None = None
    """Namespace and name of the service account to check instead of the request's user."""


@dataclass(frozen=True, slots=True)
class AuthorizerDecision(Opaque):
    """The result of a check."""

    type_name: ClassVar[str] = "kubernetes.authorization.Decision"
    allowed: bool
    reason: str = ""
    error: str = ""


Ask = Callable[[AuthorizationCheck], AuthorizerDecision]


@dataclass(frozen=True, slots=True)
class _CheckBuilder(Opaque):
    """A check under construction."""

    ask: Ask
    question: AuthorizationCheck = AuthorizationCheck()


@dataclass(frozen=True, slots=True)
class AuthorizerValue(_CheckBuilder):
    """The value of the variable `authorizer`."""

    type_name: ClassVar[str] = "kubernetes.authorization.Authorizer"


class _Path(_CheckBuilder):
    type_name = "kubernetes.authorization.PathCheck"


class _Group(_CheckBuilder):
    type_name = "kubernetes.authorization.GroupCheck"


@dataclass(frozen=True, slots=True)
class ResourceCheck(_CheckBuilder):
    """A resource check without its verb."""

    type_name: ClassVar[str] = "kubernetes.authorization.ResourceCheck"


def _with(kind: type[_CheckBuilder], asking: _CheckBuilder, **parts: object) -> _CheckBuilder:
    return kind(asking.ask, replace(asking.question, **parts))  # type: ignore[arg-type]


method("path", AuthorizerValue, str)(lambda asking, path: _with(_Path, asking, path=path))
method("group", AuthorizerValue, str)(lambda asking, group: _with(_Group, asking, group=group))
method("serviceAccount", AuthorizerValue, str, str)(
    lambda asking, namespace, name: _with(AuthorizerValue, asking, service_account=(namespace, name))
)
method("resource", _Group, str)(lambda asking, resource: _with(ResourceCheck, asking, resource=resource))
method("subresource", ResourceCheck, str)(lambda asking, name: _with(ResourceCheck, asking, subresource=name))
method("namespace", ResourceCheck, str)(lambda asking, name: _with(ResourceCheck, asking, namespace=name))
method("name", ResourceCheck, str)(lambda asking, name: _with(ResourceCheck, asking, name=name))
method("fieldSelector", ResourceCheck, str)(lambda asking, text: _with(ResourceCheck, asking, field_selector=text))
method("labelSelector", ResourceCheck, str)(lambda asking, text: _with(ResourceCheck, asking, label_selector=text))

for _kind in (_Path, ResourceCheck):
    method("check", _kind, str)(lambda asking, verb: asking.ask(replace(asking.question, verb=verb)))

method("allowed", AuthorizerDecision)(lambda decision: decision.allowed)
method("reason", AuthorizerDecision)(lambda decision: decision.reason)
method("errored", AuthorizerDecision)(lambda decision: bool(decision.error))
method("error", AuthorizerDecision)(lambda decision: decision.error)
