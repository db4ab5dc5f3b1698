"""Static credentials: tokens, passwords and client certificates, inline or in files."""

import base64
from dataclasses import dataclass

from kohort.kube.config.client_config import RequestCredentials
from kohort.kube.config.credential_files import Material
from kohort.kube.config.secrets import KeyPair, SecretValue
from kohort.kube.errors import ConfigError
from kohort.kube.http1.headers import Headers


def bearer(token: str) -> Headers:
    """The Authorization header with a bearer token."""
    return (("Authorization", f"Bearer {token}"),)


@dataclass(frozen=True, slots=True)
class StaticCredentials:
    """Credentials of a kubeconfig user; files are checked for changes at each request."""

    token: Material | None = None
    fallback_token: SecretValue | None = None
    """Used if the token file cannot be read."""
    username: str = ""
    password: SecretValue | None = None
    certificate: Material | None = None
    key: Material | None = None

    async def login(self) -> RequestCredentials:
        """The credentials from the current content of the files."""
        return RequestCredentials(self._headers(), self._key_pair())

    async def refused(self, login: RequestCredentials) -> bool:
        """Retries if a file has changed since."""
        return await self.login() != login

    def _headers(self) -> Headers:
        token = self._token()
        if token:
            return bearer(token)
        if self.username and self.password is not None:
            pair = base64.b64encode(f"{self.username}:{self.password.value}".encode()).decode()
            return (("Authorization", f"Basic {pair}"),)
        return ()

    def _token(self) -> str:
        if self.token is None:
            return self.fallback_token.value if self.fallback_token else ""
        try:
            return self.token.read().decode().strip()
        except ConfigError:
            if not self.fallback_token:
                raise
            return self.fallback_token.value

    def _key_pair(self) -> KeyPair | None:
        if self.certificate is None or self.key is None:
            return None
        return KeyPair(self.certificate.read(), self.key.read())
