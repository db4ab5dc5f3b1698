"""All keys of a server in one folder: its authority, its serving certificate, the key that signs tokens."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from kohort.embedded.auth.certificates import Authority, read_key, read_pair
from kohort.embedded.auth.files import write_private
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.auth.users import User
from kohort.kube.certificates import Pair, key_pem, new_key

SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


class Keyring:
    """Keys that are made when they are first needed, kept, and renewed in time."""

    def __init__(self, folder: Path, now: datetime) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self.authority = Authority.at(folder, now)

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
        if self.certificate.exists() and self.key.exists():
            pair = read_pair(self.certificate, self.key)
            if self._is_ours(pair) and pair.is_fresh(now) and wanted <= pair.hosts:
                return
        pair = self.authority.server(sorted(wanted), now)
        write_private(self.key, pair.key_pem)
        write_private(self.certificate, pair.certificate_pem)

    def _is_ours(self, pair: Pair) -> bool:
        return pair.certificate.issuer == self.authority.pair.certificate.subject

    def signer(self) -> Signer:
        """The signer of service account tokens."""
        path = self._folder / "accounts.key"
        if not path.exists():
            write_private(path, key_pem(new_key()))
        return Signer(read_key(path))

    def client(self, user: User, now: datetime) -> Pair:
        """A client certificate for a user; not kept here."""
        return self.authority.client(user, now)
