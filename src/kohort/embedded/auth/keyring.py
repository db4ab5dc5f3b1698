"""All keys of a server in one folder: its authority, its serving certificate, the key that signs tokens.

What it shows to servers behind APIServices is signed by an authority of its own: nobody else can show the like.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from kohort.embedded.auth.certificates import FileCertificateAuthority, holds, read_key, read_pair
from kohort.embedded.auth.files import write_private
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.auth.users import User
from kohort.kube.certificates import CertificatePair, key_pem, new_key

FRONT_PROXY = "front-proxy-client"
"""The name on the certificate for servers behind APIServices."""
SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


class Keyring:
    """Keys that are made when they are first needed, kept, and renewed in time."""

    def __init__(self, folder: Path, now: datetime) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self.authority = FileCertificateAuthority.at(folder, now)
        self.front_proxy_authority = FileCertificateAuthority.at(folder, now, "front-proxy-ca")

    @property
    def certificate(self) -> Path:
        """The file of the serving certificate."""
        return self._folder / "server.crt"

    @property
    def key(self) -> Path:
        """The file of the serving key."""
        return self._folder / "server.key"

    def serve(self, hosts: Iterable[str], now: datetime) -> None:
        """Have a fresh serving certificate for these names in its files."""
        wanted = {*hosts, *SERVICE_NAMES}

        def will_do(pair: CertificatePair) -> bool:
            return _holds(pair, self.authority, now) and wanted <= pair.hosts

        _keep(self.certificate, self.key, will_do, lambda: self.authority.server(sorted(wanted), now))

    @property
    def front_proxy_certificate(self) -> Path:
        """The file of the certificate that servers behind APIServices get to see."""
        return self._folder / f"{FRONT_PROXY}.crt"

    @property
    def front_proxy_key(self) -> Path:
        """The file of its key."""
        return self._folder / f"{FRONT_PROXY}.key"

    def introduce(self, now: datetime) -> None:
        """Have a fresh certificate for servers behind APIServices in its files."""
        authority = self.front_proxy_authority
        _keep(
            self.front_proxy_certificate,
            self.front_proxy_key,
            lambda pair: _holds(pair, authority, now),
            lambda: authority.client(User(FRONT_PROXY), now),
        )

    def signer(self) -> Signer:
        """The signer of service account tokens."""
        path = self._folder / "accounts.key"
        if not path.exists():
            write_private(path, key_pem(new_key()))
        return Signer(read_key(path))

    def client(self, user: User, now: datetime) -> CertificatePair:
        """A client certificate for a user; not kept here."""
        return self.authority.client(user, now)


def _holds(pair: CertificatePair, authority: FileCertificateAuthority, now: datetime) -> bool:
    return pair.is_signed_by(authority.pair.certificate) and holds(pair, now)


def _keep(
    certificate: Path, key: Path, will_do: Callable[[CertificatePair], bool], make: Callable[[], CertificatePair]
) -> None:
    """Leave the pair in its files as long as it will do; else put a new one there."""
    if certificate.exists() and key.exists() and will_do(read_pair(certificate, key)):
        return
    pair = make()
    write_private(key, pair.key_pem)
    write_private(certificate, pair.certificate_pem)
