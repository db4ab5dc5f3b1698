"""Reviews, which are not stored: SelfSubjectReview, SubjectAccessReview, SelfSubjectRulesReview, TokenReview …"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from kohort.api.codec import JsonObject
from kohort.api.fields import ROOT
from kohort.api.fields import invalid as field_invalid
from kohort.api.times import format_time
from kohort.embedded.auth.attributes import AuthorizationAttributes
from kohort.embedded.auth.jwt import TokenError
from kohort.embedded.auth.rbac import RbacAuthorizer
from kohort.embedded.auth.service_account_tokens import ServiceAccountTokens
from kohort.embedded.auth.users import User
from kohort.kube.errors import ErrorSubject, bad_request, invalid

_EXACTLY_ONE = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_Answer = Callable[[JsonObject, User, str], JsonObject]


class ReviewHandlers:
    """Handlers of review kinds."""

    def __init__(self, authorizer: RbacAuthorizer, accounts: ServiceAccountTokens, now: Callable[[], datetime]) -> None:
        self._authorizer = authorizer
        self._accounts = accounts
        self._now = now
        self._handlers: dict[str, _Answer] = {
            "SelfSubjectAccessReview": self._own_access,
            "SubjectAccessReview": self._access,
            "LocalSubjectAccessReview": self._local_access,
            "SelfSubjectRulesReview": self._rules,
            "SelfSubjectReview": self._self,
            "TokenReview": self._token,
        }

    def handles(self, kind: str) -> bool:
        """Whether this kind is handled here."""
        return kind in self._handlers

    def handle(self, review: JsonObject, user: User, namespace: str) -> JsonObject:
        """The review with its status."""
        status = self._handlers[review["kind"]](review, user, namespace)
        metadata = {name: value for name, value in (review.get("metadata") or {}).items() if value is not None}
        if review["kind"] == "SelfSubjectReview":
            metadata["creationTimestamp"] = format_time(self._now())
        return {**review, "metadata": metadata, "status": status}

    def _own_access(self, review: JsonObject, user: User, _: str) -> JsonObject:
        return self._decided(user, _attributes(review.get("spec") or {}))

    def _access(self, review: JsonObject, _: User, namespace: str) -> JsonObject:
        spec = review.get("spec") or {}
        if not spec.get("user") and not spec.get("groups"):
            raise bad_request("spec.user: Required value: at least one of user or group must be specified")
        groups = tuple(map(str, spec.get("groups") or ()))
        attributes = _attributes(spec)
        if namespace and attributes.namespace != namespace:
            raise bad_request("spec.resourceAttributes.namespace: Invalid value: must match metadata.namespace")
        return self._decided(User(str(spec.get("user") or ""), groups), attributes)

    def _local_access(self, review: JsonObject, user: User, namespace: str) -> JsonObject:
        return self._access(review, user, namespace)

    def _decided(self, user: User, attributes: AuthorizationAttributes) -> JsonObject:
        decision = self._authorizer.decide(user, attributes)
        status: JsonObject = {"allowed": decision.allowed}
        if decision.reason:
            status["reason"] = decision.reason
        return status

    def _rules(self, review: JsonObject, user: User, _: str) -> JsonObject:
        namespace = (review.get("spec") or {}).get("namespace")
        if not namespace:
            raise bad_request("no namespace on request")
        rules = [rule.to_json() for rule in self._authorizer.rules_of(user, namespace)]
        return {
            "resourceRules": [_resource_part(rule) for rule in rules if "resources" in rule],
            "nonResourceRules": [_path_part(rule) for rule in rules if "nonResourceURLs" in rule],
            "incomplete": False,
        }

    def _self(self, _: JsonObject, user: User, __: str) -> JsonObject:
        return {"userInfo": user.to_user_info()}

    def _token(self, review: JsonObject, _: User, __: str) -> JsonObject:
        spec = review.get("spec") or {}
        audiences = tuple(map(str, spec.get("audiences") or ()))
        try:
            user, common = self._accounts.authenticate(str(spec.get("token") or ""), self._now(), audiences)
        except TokenError as error:
            return {"user": {}, "error": f"invalid bearer token: {error}"}
        return {"authenticated": True, "user": user.to_user_info(), "audiences": list(common)}


def _attributes(spec: Mapping[str, Any]) -> AuthorizationAttributes:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (path is None):
        problem = field_invalid(ROOT / "spec", None, _EXACTLY_ONE)
        raise invalid(ErrorSubject("", "authorization.k8s.io"), [problem])
    if path is not None:
        return AuthorizationAttributes(str(path.get("verb") or ""), path=str(path.get("path") or ""))
    resource = resource or {}
    attributes = {
        name: str(resource.get(name) or "") for name in ("group", "resource", "subresource", "namespace", "name")
    }
    return AuthorizationAttributes(str(resource.get("verb") or ""), **attributes)


def _resource_part(rule: JsonObject) -> JsonObject:
    return {name: value for name, value in rule.items() if name != "nonResourceURLs"}


def _path_part(rule: JsonObject) -> JsonObject:
    return {"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]}
