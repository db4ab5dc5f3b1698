"""Authentication by client certificate or bearer token, else anonymous; and impersonation."""

import hmac
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from kohort.embedded.auth.attributes import AuthorizationAttributes, denied
from kohort.embedded.auth.jwt import MAX_TOKEN, TokenError
from kohort.embedded.auth.rbac import RbacAuthorizer
from kohort.embedded.auth.service_account_tokens import ServiceAccountTokens
from kohort.embedded.auth.users import (
    ANONYMOUS,
    ANONYMOUS_NAME,
    AUTHENTICATED,
    SERVICE_ACCOUNTS,
    UNAUTHENTICATED,
    User,
)
from kohort.kube.errors import bad_request, unauthorized

_EXTRA = "impersonate-extra-"


class Authenticator:
    """Authenticates requests."""

    def __init__(self, accounts: ServiceAccountTokens, static: Mapping[str, User], now: Callable[[], datetime]) -> None:
        self._accounts = accounts
        self._static = dict(static)
        self._now = now

    def user(self, peer: User | None, headers: CIMultiDictProxy[str]) -> User:
        """The user of a request; raises 401 for an invalid token."""
        if peer is not None and peer is not ANONYMOUS:
            return peer
        token = _bearer(headers)
        return self._by_token(token) if token else ANONYMOUS

    def _by_token(self, token: str) -> User:
        if len(token) > MAX_TOKEN:
            raise unauthorized()
        for known, user in self._static.items():
            if hmac.compare_digest(known.encode(), token.encode()):
                return user
        try:
            return self._accounts.authenticate(token, self._now())[0]
        except TokenError:
            raise unauthorized() from None


def _bearer(headers: CIMultiDictProxy[str]) -> str:
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def impersonated(user: User, headers: CIMultiDictProxy[str], authorizer: RbacAuthorizer) -> User:
    """The impersonated user, if permitted."""
    wanted = headers.get("Impersonate-User", "")
    groups = tuple(headers.getall("Impersonate-Group", ()))
    uid, extra = headers.get("Impersonate-Uid", ""), _extra(headers)
    if not wanted:
        if groups or uid or extra:
            raise bad_request("requested groups, uid or extra without impersonating a user: set Impersonate-User too")
        return user
    target = User(wanted, groups, uid, extra)
    for attributes in _questions(target):
        decision = authorizer.decide(user, attributes)
        if not decision.allowed:
            raise denied(attributes, user, decision.reason)
    return _completed(target)


def _extra(headers: CIMultiDictProxy[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, value in headers.items():
        if name.lower().startswith(_EXTRA):
            key = unquote(name[len(_EXTRA) :]).lower()
            found[key] = (*found.get(key, ()), value)
    return found


def _questions(target: User) -> Iterator[AuthorizationAttributes]:
    account = target.service_account
    if account is not None:
        yield AuthorizationAttributes("impersonate", "", "serviceaccounts", namespace=account[0], name=account[1])
    else:
        yield AuthorizationAttributes("impersonate", "", "users", name=target.name)
    for group in target.groups:
        yield AuthorizationAttributes("impersonate", "", "groups", name=group)
    for key, values in target.extra.items():
        for value in values:
            yield AuthorizationAttributes("impersonate", "authentication.k8s.io", "userextras", key, name=value)
    if target.uid:
        yield AuthorizationAttributes("impersonate", "authentication.k8s.io", "uids", name=target.uid)


def _completed(target: User) -> User:
    """The user with implied groups: authenticated or unauthenticated, and those of service accounts."""
    account = target.service_account
    groups = list(target.groups)
    if account is not None and not groups:
        groups = [SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{account[0]}"]
    own = UNAUTHENTICATED if target.name == ANONYMOUS_NAME else AUTHENTICATED
    if own not in groups:
        groups.append(own)
    return replace(target, groups=tuple(groups))
