"""Authentication and authorization reviews, which are not stored.

The client posts the spec; the response has the status.
"""

from typing import Any, ClassVar

import msgspec

from kohort.api.core.objects import ObjectView
from kohort.api.resource import Resource
from kohort.api.struct import View

_AUTHORIZATION = "authorization.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"


class ResourceAttributes(View):
    """An action on a resource; `*` means all."""

    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    field_selector: Any = None
    label_selector: Any = None


class NonResourceAttributes(View):
    """An action on a path such as /healthz."""

    path: str = ""
    verb: str = ""


class SelfSubjectAccessReviewSpec(View):
    """The access to review."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None


class SubjectAccessReviewSpec(SelfSubjectAccessReviewSpec):
    """The access and the user to review."""

    user: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}
    uid: str = ""


class AccessReviewStatus(View):
    """Whether it is allowed, and why."""

    allowed: bool = False
    denied: bool = False
    reason: str = ""
    evaluation_error: str = ""


class SubjectAccessReview(ObjectView):
    """Reviews the access of a user."""

    resource: ClassVar = Resource(_AUTHORIZATION, "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False)

    spec: SubjectAccessReviewSpec = SubjectAccessReviewSpec()
    status: AccessReviewStatus = AccessReviewStatus()


class SelfSubjectAccessReview(ObjectView):
    """Reviews the access of the user of the request."""

    resource: ClassVar = Resource(
        _AUTHORIZATION, "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
    )

    spec: SelfSubjectAccessReviewSpec = SelfSubjectAccessReviewSpec()
    status: AccessReviewStatus = AccessReviewStatus()


class SelfSubjectRulesReviewSpec(View):
    """The namespace to review."""

    namespace: str = ""


class ResourceRule(View):
    """Actions allowed on resources."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()


class NonResourceRule(View):
    """Actions allowed on paths."""

    verbs: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")


class SelfSubjectRulesReviewStatus(View):
    """Permissions of the user in a namespace."""

    resource_rules: tuple[ResourceRule, ...] = ()
    non_resource_rules: tuple[NonResourceRule, ...] = ()
    incomplete: bool = False
    evaluation_error: str = ""


class SelfSubjectRulesReview(ObjectView):
    """Lists permissions of the user of the request in a namespace."""

    resource: ClassVar = Resource(
        _AUTHORIZATION, "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", namespaced=False
    )

    spec: SelfSubjectRulesReviewSpec = SelfSubjectRulesReviewSpec()
    status: SelfSubjectRulesReviewStatus = SelfSubjectRulesReviewStatus()


class UserInfo(View):
    """Information about a user."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class SelfSubjectReviewStatus(View):
    """The user of the request."""

    user_info: UserInfo = UserInfo()


class SelfSubjectReview(ObjectView):
    """Returns the user of the request."""

    resource: ClassVar = Resource(_AUTHENTICATION, "v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False)

    status: SelfSubjectReviewStatus = SelfSubjectReviewStatus()


class TokenReviewSpec(View):
    """The token to review; hidden in its repr."""

    token: str = ""
    audiences: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"TokenReviewSpec(audiences={self.audiences!r})"


class TokenReviewStatus(View):
    """Whether the token is valid, and its user."""

    authenticated: bool = False
    user: UserInfo = UserInfo()
    audiences: tuple[str, ...] = ()
    error: str = ""


class TokenReview(ObjectView):
    """Reviews a token."""

    resource: ClassVar = Resource(_AUTHENTICATION, "v1", "TokenReview", "tokenreviews", namespaced=False)

    spec: TokenReviewSpec = TokenReviewSpec()
    status: TokenReviewStatus = TokenReviewStatus()
