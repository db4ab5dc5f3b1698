"""Questions to the authorizer: may this user do that? Whoever evaluates brings the function that answers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from kohort.embedded.cel.overloads import method
from kohort.embedded.cel.values import Opaque


@dataclass(frozen=True, slots=True)
class Question:
    """What the authorizer is asked about; a path, or a resource and what narrows it."""

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
    """Namespace and name, where the question is not about the user of the request."""


@dataclass(frozen=True, slots=True)
class AuthorizerDecision(Opaque):
    """The answer."""

    type_name: ClassVar[str] = "kubernetes.authorization.Decision"
    allowed: bool
    reason: str = ""
    error: str = ""


Ask = Callable[[Question], AuthorizerDecision]


@dataclass(frozen=True, slots=True)
class _Asking(Opaque):
    """A question that is being put together."""

    ask: Ask
    question: Question = Question()


@dataclass(frozen=True, slots=True)
class AuthorizerValue(_Asking):
    """The value of the variable `authorizer`."""

    type_name: ClassVar[str] = "kubernetes.authorization.Authorizer"


class _Path(_Asking):
    type_name = "kubernetes.authorization.PathCheck"


class _Group(_Asking):
    type_name = "kubernetes.authorization.GroupCheck"


@dataclass(frozen=True, slots=True)
class ResourceCheck(_Asking):
    """A question about a resource, lacking only the verb."""

    type_name: ClassVar[str] = "kubernetes.authorization.ResourceCheck"


def _with(kind: type[_Asking], asking: _Asking, **parts: object) -> _Asking:
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
