"""Questions to an API server that are answered and never stored: may this user do that, whose token is this?

The asker posts the spec; the answer comes back in the status.
"""

from typing import Any, ClassVar

import msgspec

from kohort.api.core.objects import ObjectView
from kohort.api.resource import Resource
from kohort.api.struct import View

_AUTHORIZATION = "authorization.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"


class ResourceAttributes(View):
    """An action on a resource; `*` stands for all."""

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
    """What the asker wants to do."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None


class SubjectAccessReviewSpec(SelfSubjectAccessReviewSpec):
    """What somebody wants to do, and who that is."""

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
    """May this user do that?"""

    resource: ClassVar = Resource(_AUTHORIZATION, "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False)

    spec: SubjectAccessReviewSpec = SubjectAccessReviewSpec()
    status: AccessReviewStatus = AccessReviewStatus()


class SelfSubjectAccessReview(ObjectView):
    """May I do that?"""

    resource: ClassVar = Resource(
        _AUTHORIZATION, "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
    )

    spec: SelfSubjectAccessReviewSpec = SelfSubjectAccessReviewSpec()
    status: AccessReviewStatus = AccessReviewStatus()


class SelfSubjectRulesReviewSpec(View):
    """Where the asker wants to act."""

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
    """All that the asker may do there."""

    resource_rules: tuple[ResourceRule, ...] = ()
    non_resource_rules: tuple[NonResourceRule, ...] = ()
    incomplete: bool = False
    evaluation_error: str = ""


class SelfSubjectRulesReview(ObjectView):
    """What may I do here?"""

    resource: ClassVar = Resource(
        _AUTHORIZATION, "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", namespaced=False
    )

    spec: SelfSubjectRulesReviewSpec = SelfSubjectRulesReviewSpec()
    status: SelfSubjectRulesReviewStatus = SelfSubjectRulesReviewStatus()


class UserInfo(View):
    """Who somebody is."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class SelfSubjectReviewStatus(View):
    """Who the asker is."""

    user_info: UserInfo = UserInfo()


class SelfSubjectReview(ObjectView):
    """Who am I?"""

    resource: ClassVar = Resource(_AUTHENTICATION, "v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False)

    status: SelfSubjectReviewStatus = SelfSubjectReviewStatus()


class TokenReviewSpec(View):
    """The token to be judged; never shown when printed."""

    token: str = ""
    audiences: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"TokenReviewSpec(audiences={self.audiences!r})"


class TokenReviewStatus(View):
    """Whether the token is good, and whose it is."""

    authenticated: bool = False
    user: UserInfo = UserInfo()
    audiences: tuple[str, ...] = ()
    error: str = ""


class TokenReview(ObjectView):
    """Whose token is this?"""

    resource: ClassVar = Resource(_AUTHENTICATION, "v1", "TokenReview", "tokenreviews", namespaced=False)

    spec: TokenReviewSpec = TokenReviewSpec()
    status: TokenReviewStatus = TokenReviewStatus()
