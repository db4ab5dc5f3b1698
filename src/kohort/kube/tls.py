"""TLS contexts from trust and key pair, made again only when one of them has changed.

Python loads key pairs from files only: an inline one stands in a private file for the moment of loading.
"""

import ssl
import tempfile
from pathlib import Path

from kohort.kube.config.client_config import ServerTrust
from kohort.kube.config.credential_files import Stamp
from kohort.kube.config.secrets import KeyPair
from kohort.kube.errors import ConfigError


class TlsContexts:
    """The context for the trust and key pair of the moment."""

    def __init__(self, trust: ServerTrust, origin: str) -> None:
        self._trust = trust
        self._origin = origin
        self._made_for: tuple[Stamp | None, KeyPair | None] | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, key_pair: KeyPair | None) -> ssl.SSLContext:
        """A context that trusts as configured and shows the key pair; raises ConfigError."""
        authority = self._trust.authority
        wanted = (authority.stamp() if authority else None, key_pair)
        if self._context is None or wanted != self._made_for:
            self._context = self._make(key_pair)
            self._made_for = wanted
        return self._context

    def _make(self, key_pair: KeyPair | None) -> ssl.SSLContext:
        context = self._trusting()
        if key_pair is not None:
            try:
                load_key_pair(context, key_pair)
            except (ssl.SSLError, OSError, ValueError):
                raise self._problem("the client certificate and key are no matching PEM pair: log in again") from None
        return context

    def _trusting(self) -> ssl.SSLContext:
        authority = self._trust.authority
        try:
            context = ssl.create_default_context(cadata=authority.read().decode() if authority else None)
        except (ssl.SSLError, ValueError):
            raise self._problem("the certificate-authority is no PEM certificate: give the cluster's CA") from None
        # API servers' own authorities are often older than the flags that newer Pythons insist on.
        context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
        if self._trust.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def _problem(self, what: str) -> ConfigError:
        return ConfigError(f"{self._origin}: {what}")


def load_key_pair(context: ssl.SSLContext, key_pair: KeyPair) -> None:
    """Let a context show this key pair from its next connection on; raises SSLError, OSError or ValueError."""
    with tempfile.TemporaryDirectory(prefix="kohort-") as folder:
        file = Path(folder) / "pair.pem"
        file.touch(mode=0o600)
        file.write_bytes(key_pair.certificate.rstrip() + b"\n" + key_pair.key)
        context.load_cert_chain(file)
