"""Tokens of an OpenID Connect provider (`auth-provider: oidc`), refreshed when they expire.

A new refresh token is kept in memory only. A provider that rotates refresh tokens then invalidates the one in the
kubeconfig, which is logged; use an exec plugin with such a provider.
"""

import asyncio
import base64
import logging
import ssl
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from kohort.api.codec import decode
from kohort.api.errors import ApiError
from kohort.kube.clock import Clock
from kohort.kube.config.client_config import RequestCredentials
from kohort.kube.config.credential_files import material
from kohort.kube.config.credentials import bearer
from kohort.kube.errors import ConfigError
from kohort.kube.http1.errors import WireError
from kohort.kube.http1.one_shot import request_once

log = logging.getLogger(__name__)

LEEWAY = 10.0
"""Seconds before its expiration from which a token is not used any more."""
TIMEOUT = 30.0
FORM = (("Content-Type", "application/x-www-form-urlencoded"),)


class _Claims(msgspec.Struct):
    exp: float = 0


class _Provider(msgspec.Struct):
    token_endpoint: str


class _Tokens(msgspec.Struct):
    id_token: str = ""
    refresh_token: str = ""


class OidcCredentials:
    """An ID token that is refreshed with a refresh token."""

    def __init__(self, config: Mapping[str, str], file: Path, clock: Clock) -> None:
        self._config = dict(config)
        self._file = file
        self._clock = clock
        self._lock = asyncio.Lock()
        for name in ("idp-issuer-url", "client-id"):
            if not config.get(name):
                raise ConfigError(f"{file}: auth-provider oidc has no {name}: log in again")

    async def login(self) -> RequestCredentials:
        """Credentials with a token that has not expired."""
        async with self._lock:
            if self._is_over(self._config.get("id-token", "")):
                await self._refresh()
            return RequestCredentials(bearer(self._config["id-token"]))

    async def refused(self, login: RequestCredentials) -> bool:
        """No retry: a token that was rejected before its expiration would be rejected again."""
        return login.headers != bearer(self._config.get("id-token", ""))

    def _is_over(self, token: str) -> bool:
        try:
            body = token.split(".")[1]
            claims = decode(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), _Claims)
        except (IndexError, ValueError, ApiError):
            return True
        return claims.exp - LEEWAY <= self._clock.wall().timestamp()

    async def _refresh(self) -> None:
        refresh = self._config.get("refresh-token")
        if not refresh:
            raise self._problem("the token has expired and no refresh-token is set: log in again")
        try:
            tokens = await self._ask(refresh)
        except (WireError, TimeoutError, ApiError, ValueError, ssl.SSLError) as error:
            raise self._problem(f"refreshing the token failed ({type(error).__name__}): log in again") from None
        if not tokens.id_token:
            raise self._problem("the provider returned no ID token: log in again")
        if tokens.refresh_token not in ("", refresh):
            log.warning("%s: provider rotated the refresh token, other clients may have to log in again", self._file)
            self._config["refresh-token"] = tokens.refresh_token
        self._config["id-token"] = tokens.id_token

    async def _ask(self, refresh: str) -> _Tokens:
        issuer = self._config["idp-issuer-url"].rstrip("/")
        form = {
            "grant_type": "refresh_token",
            "refresh_token": refresh,
            "client_id": self._config["client-id"],
            "client_secret": self._config.get("client-secret", ""),
        }
        trust = self._trust()
        found = await request_once("GET", f"{issuer}/.well-known/openid-configuration", trust, seconds=TIMEOUT)
        endpoint = decode(found, _Provider).token_endpoint
        return decode(
            await request_once("POST", endpoint, trust, FORM, urlencode(form).encode(), seconds=TIMEOUT), _Tokens
        )

    def _trust(self) -> ssl.SSLContext:
        name = "idp-certificate-authority"
        authority = material(self._config.get(f"{name}-data", ""), self._config.get(name, ""), self._file.parent, name)
        return ssl.create_default_context(cadata=authority.read().decode() if authority else None)

    def _problem(self, what: str) -> ConfigError:
        return ConfigError(f"{self._file}: auth-provider oidc: {what}")
