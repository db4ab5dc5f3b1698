"""Tokens of an OpenID provider, as kubeconfig's `auth-provider: oidc` keeps them: used while they last, then refreshed.

A new refresh token stays in memory. A provider that replaces it at each use would log the user's kubectl out, so such
a refresh is told: exec plugins are the way today.
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
"""Seconds before its end in which a token is not used any more."""
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
    """An ID token that is renewed with a refresh token."""

    def __init__(self, config: Mapping[str, str], file: Path, clock: Clock) -> None:
        self._config = dict(config)
        self._file = file
        self._clock = clock
        self._lock = asyncio.Lock()
        for name in ("idp-issuer-url", "client-id"):
            if not config.get(name):
                raise ConfigError(f"{file}: auth-provider oidc has no {name}: log in again to write it")

    async def login(self) -> RequestCredentials:
        """With a token that is still good."""
        async with self._lock:
            if self._is_over(self._config.get("id-token", "")):
                await self._refresh()
            return RequestCredentials(bearer(self._config["id-token"]))

    async def refused(self, login: RequestCredentials) -> bool:
        """A token that was refused in its time would be again."""
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
            raise self._problem("the token has expired and there is no refresh-token: log in again")
        try:
            tokens = await self._ask(refresh)
        except (WireError, TimeoutError, ApiError, ValueError, ssl.SSLError) as error:
            raise self._problem(f"the token can't be refreshed ({type(error).__name__}): log in again") from None
        if not tokens.id_token:
            raise self._problem("the provider gave no ID token: log in again")
        if tokens.refresh_token not in ("", refresh):
            log.warning("%s: the provider replaced the refresh token; other tools may have to log in again", self._file)
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
