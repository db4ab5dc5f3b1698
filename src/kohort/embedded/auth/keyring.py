"""Keys of a server in one directory: CA, serving certificate, front-proxy certificate, token signing key.

The front-proxy certificate has its own CA, so that no other client certificate passes for it.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from kohort.embedded.auth.certificates import FileCertificateAuthority, is_valid_at, read_key, read_pair
from kohort.embedded.auth.files import write_private
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.auth.users import User
from kohort.kube.certificates import CertificatePair, key_pem, new_key

FRONT_PROXY = "front-proxy-client"
"""Common name of the front-proxy certificate."""
SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


class Keyring:
    """Creates keys on first use, and renews them."""

    def __init__(self, folder: Path, now: datetime) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self.authority = FileCertificateAuthority.at(folder, now)
        self.front_proxy_authority = FileCertificateAuthority.at(folder, now, "front-proxy-ca")

    @property
    def certificate(self) -> Path:
        """Path of the serving certificate."""
        return self._folder / "server.crt"

    @property
    def key(self) -> Path:
        """Path of the serving key."""
        return self._folder / "server.key"

    def ensure_serving(self, hosts: Iterable[str], now: datetime) -> None:
        """Writes a new serving certificate for these names, unless the present one is valid."""
        wanted = {*hosts, *SERVICE_NAMES}

        def is_valid(pair: CertificatePair) -> bool:
            return _is_valid_at(pair, self.authority, now) and wanted <= pair.hosts

        _ensure_pair(self.certificate, self.key, is_valid, lambda: self.authority.server(sorted(wanted), now))

    @property
    def front_proxy_certificate(self) -> Path:
        """Path of the front-proxy certificate."""
        return self._folder / f"{FRONT_PROXY}.crt"

    @property
    def front_proxy_key(self) -> Path:
        """Path of the front-proxy key."""
        return self._folder / f"{FRONT_PROXY}.key"

    def ensure_front_proxy(self, now: datetime) -> None:
        """Writes a new front-proxy certificate, unless the present one is valid."""
        authority = self.front_proxy_authority
        _ensure_pair(
            self.front_proxy_certificate,
            self.front_proxy_key,
            lambda pair: _is_valid_at(pair, authority, now),
            lambda: authority.client(User(FRONT_PROXY), now),
        )

    def signer(self) -> Signer:
        """The signer of service account tokens."""
        path = self._folder / "accounts.key"
        if not path.exists():
            write_private(path, key_pem(new_key()))
        return Signer(read_key(path))

    def client(self, user: User, now: datetime) -> CertificatePair:
        """Issues a client certificate for a user; it is not stored."""
        return self.authority.client(user, now)


def _is_valid_at(pair: CertificatePair, authority: FileCertificateAuthority, now: datetime) -> bool:
    return pair.is_signed_by(authority.pair.certificate) and is_valid_at(pair, now)


def _ensure_pair(
    certificate: Path, key: Path, is_valid: Callable[[CertificatePair], bool], make: Callable[[], CertificatePair]
) -> None:
    """Keeps a valid pair in its files; else writes a new one."""
    if certificate.exists() and key.exists() and is_valid(read_pair(certificate, key)):
        return
    pair = make()
    write_private(key, pair.key_pem)
    write_private(certificate, pair.certificate_pem)
