"""Client TLS contexts, recreated only when the CA bundle or key pair changes.

Python loads key pairs only from files: an inline one is written to a private temporary file while it is loaded.
"""

import ssl
import tempfile
from pathlib import Path

from kohort.kube.config.client_config import ServerTrust
from kohort.kube.config.credential_files import Stamp
from kohort.kube.config.secrets import KeyPair
from kohort.kube.errors import ConfigError


class TlsContexts:
    """The TLS context for the current CA bundle and key pair."""

    def __init__(self, trust: ServerTrust, origin: str) -> None:
        self._trust = trust
        self._origin = origin
        self._made_for: tuple[Stamp | None, KeyPair | None] | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, key_pair: KeyPair | None) -> ssl.SSLContext:
        """A context with the configured trust and this client certificate; raises ConfigError."""
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
                raise self._problem("client certificate and key are not a matching PEM pair: log in again") from None
        return context

    def _trusting(self) -> ssl.SSLContext:
        authority = self._trust.authority
        try:
            context = ssl.create_default_context(cadata=authority.read().decode() if authority else None)
        except (ssl.SSLError, ValueError):
            raise self._problem("certificate-authority is not a PEM certificate: use the CA of the cluster") from None
        # CA certificates of clusters often predate the strict flags of newer Python versions.
        context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
        if self._trust.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def _problem(self, what: str) -> ConfigError:
        return ConfigError(f"{self._origin}: {what}")


def load_key_pair(context: ssl.SSLContext, key_pair: KeyPair) -> None:
    """Use a key pair for new connections of a context; raises SSLError, OSError or ValueError."""
    with tempfile.TemporaryDirectory(prefix="kohort-") as folder:
        file = Path(folder) / "pair.pem"
        file.touch(mode=0o600)
        file.write_bytes(key_pair.certificate.rstrip() + b"\n" + key_pair.key)
        context.load_cert_chain(file)
