"""Service account tokens: issuing, and verification against the stored account."""

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.auth.jwt import Signer, TokenError
from kohort.embedded.auth.users import CREDENTIAL, User, account_user
from kohort.embedded.storage import StorageKey, Store

DEFAULT_AUDIENCE = "https://kubernetes.default.svc"
ISSUER = DEFAULT_AUDIENCE
_SHORTEST, _LONGEST = 600, 2**32
_CLAIM = "kubernetes.io"
_BOUND = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class ServiceAccountTokens:
    """Issues and verifies service account tokens."""

    def __init__(self, store: Store, signer: Signer) -> None:
        self._store = store
        self._signer = signer

    def issue(
        self,
        account: Mapping[str, Any],
        now: datetime,
        seconds: int,
        audiences: tuple[str, ...] = (),
        bound: Mapping[str, str] | None = None,
    ) -> tuple[str, datetime]:
        """Issues a token, optionally bound to an object; returns it with its expiration."""
        metadata = account["metadata"]
        end = now + timedelta(seconds=min(max(seconds, _SHORTEST), _LONGEST))
        identity: dict[str, Json] = {
            "namespace": metadata["namespace"],
            "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
        }
        if bound:
            identity[bound["kind"].lower()] = {"name": bound["name"], "uid": bound["uid"]}
        claims = {
            "iss": ISSUER,
            "aud": list(audiences or (DEFAULT_AUDIENCE,)),
            "sub": account_user(metadata["namespace"], metadata["name"]).name,
            "iat": int(now.timestamp()),
            "nbf": int(now.timestamp()),
            "exp": int(end.timestamp()),
            "jti": str(uuid.uuid4()),
            _CLAIM: identity,
        }
        return self._signer.sign(claims), end

    def authenticate(self, token: str, now: datetime, audiences: tuple[str, ...] = ()) -> tuple[User, tuple[str, ...]]:
        """The user of a token, and the audiences it is valid for."""
        claims = self._signer.verify(token)
        common = _checked_claims(claims, now, audiences or (DEFAULT_AUDIENCE,))
        identity = claims[_CLAIM]
        namespace, account = identity["namespace"], identity["serviceaccount"]
        found = self._store.get(StorageKey("serviceaccounts", namespace, account["name"]))
        if found is None or found.object["metadata"]["uid"] != account["uid"]:
            raise TokenError("the service account of the token is gone")
        extra: dict[str, tuple[str, ...]] = {CREDENTIAL: (f"JTI={claims.get('jti', '')}",)}
        for kind, resource in _BOUND.items():
            if kind.lower() in identity:
                extra |= self._bound(resource, "" if kind == "Node" else namespace, identity[kind.lower()], kind)
        return account_user(namespace, account["name"], account["uid"], extra), common

    def _bound(self, resource: str, namespace: str, claim: Mapping[str, str], kind: str) -> dict[str, tuple[str, ...]]:
        found = self._store.get(StorageKey(resource, namespace, claim["name"]))
        if found is None or found.object["metadata"]["uid"] != claim["uid"]:
            raise TokenError(f"the {kind} that the token is bound to is gone")
        prefix = f"authentication.kubernetes.io/{kind.lower()}"
        return {f"{prefix}-name": (claim["name"],), f"{prefix}-uid": (claim["uid"],)}


def _checked_claims(claims: Mapping[str, Any], now: datetime, audiences: tuple[str, ...]) -> tuple[str, ...]:
    moment = now.timestamp()
    if claims.get("iss") != ISSUER or not isinstance(claims.get(_CLAIM), dict):
        raise TokenError("the token is not from here")
    if not claims.get("nbf", moment) <= moment + 1 < claims.get("exp", 0) + 1:
        raise TokenError("the token has expired")
    common = tuple(each for each in claims.get("aud") or () if each in audiences)
    if not common:
        raise TokenError("the token is meant for another audience")
    return common
