"""The certificate authority of the server, stored in files, and users of client certificates."""

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from kohort.embedded.auth.files import write_private
from kohort.embedded.auth.users import AUTHENTICATED, CREDENTIAL, User
from kohort.kube import certificates
from kohort.kube.certificates import CertificatePair


class CertificateFileError(Exception):
    """A certificate or key file is unusable; the message has path and remedy."""


def read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Reads a private key."""
    try:
        return certificates.read_key(path.read_bytes())
    except ValueError as error:
        raise CertificateFileError(f"{path}: not a private key: {error}: delete it to get a new one") from None


def read_pair(certificate: Path, key: Path) -> CertificatePair:
    """Reads a certificate and its key."""
    try:
        return CertificatePair(x509.load_pem_x509_certificate(certificate.read_bytes()), read_key(key))
    except ValueError as error:
        message = f"{certificate}: not a certificate: {error}: delete it to get a new one"
        raise CertificateFileError(message) from None


def is_valid_at(pair: CertificatePair, now: datetime) -> bool:
    """Whether a certificate is valid now and for a while; one from a clock ahead of ours is not valid yet."""
    return pair.certificate.not_valid_before_utc <= now and pair.is_fresh(now)


class FileCertificateAuthority(certificates.CertificateAuthority):
    """Certificate authority stored in a directory."""

    @classmethod
    def at(cls, directory: Path, now: datetime, name: str = "ca") -> Self:
        """The authority in a directory, created if it is missing or expired."""
        certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
        if certificate.exists() and key.exists():
            pair = read_pair(certificate, key)
            if is_valid_at(pair, now):
                return cls(pair)
        authority = cls.create(now)
        write_private(key, authority.pair.key_pem)
        write_private(certificate, authority.pair.certificate_pem)
        return authority

    def server(self, hosts: Iterable[str], now: datetime) -> CertificatePair:
        """Issues a serving certificate of an API server or a node agent."""
        return self.issue_server("kube-apiserver", hosts, now)

    def client(self, user: User, now: datetime) -> CertificatePair:
        """Issues a client certificate."""
        return self.issue_client(user.name, (group for group in user.groups if group != AUTHENTICATED), now)


@lru_cache(maxsize=1024)
def _credential(certificate: bytes) -> str:
    return f"X509SHA256={sha256(certificate).hexdigest()}"


def certificate_user(peer: dict[str, object], certificate: bytes = b"") -> User | None:
    """The user of a verified client certificate, from the ssl module's dict and the DER bytes."""
    names: list[str] = []
    groups: list[str] = []
    subject = peer.get("subject")
    for relative in subject if isinstance(subject, tuple) else ():
        for kind, value in relative:
            if kind == "commonName":
                names.append(value)
            elif kind == "organizationName":
                groups.append(value)
    if not names:
        return None
    extra = {CREDENTIAL: (_credential(certificate),)} if certificate else {}
    return User(names[-1], tuple(dict.fromkeys((*groups, AUTHENTICATED))), extra=extra)
