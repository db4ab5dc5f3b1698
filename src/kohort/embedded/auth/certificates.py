"""The server's own certificate authority, kept in files, and the users whom it knows by certificate."""

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
    """A certificate or key file that can't be used; the text says which, and what to do."""


def read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """A private key from its file."""
    try:
        return certificates.read_key(path.read_bytes())
    except ValueError as error:
        raise CertificateFileError(f"{path}: not a private key: {error}: delete it to get a new one") from None


def read_pair(certificate: Path, key: Path) -> CertificatePair:
    """A certificate and its key from their files."""
    try:
        return CertificatePair(x509.load_pem_x509_certificate(certificate.read_bytes()), read_key(key))
    except ValueError as error:
        message = f"{certificate}: not a certificate: {error}: delete it to get a new one"
        raise CertificateFileError(message) from None


def holds(pair: CertificatePair, now: datetime) -> bool:
    """Whether a certificate is good for a while; one made under a clock that was ahead is not good yet."""
    return pair.certificate.not_valid_before_utc <= now and pair.is_fresh(now)


class FileCertificateAuthority(certificates.CertificateAuthority):
    """The server's authority."""

    @classmethod
    def at(cls, directory: Path, now: datetime, name: str = "ca") -> Self:
        """The authority kept in a directory, made there when there is none or it does not hold."""
        certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
        if certificate.exists() and key.exists():
            pair = read_pair(certificate, key)
            if holds(pair, now):
                return cls(pair)
        authority = cls.create(now)
        write_private(key, authority.pair.key_pem)
        write_private(certificate, authority.pair.certificate_pem)
        return authority

    def server(self, hosts: Iterable[str], now: datetime) -> CertificatePair:
        """The serving certificate of an API server or of a node's agent."""
        return self.issue_server("kube-apiserver", hosts, now)

    def client(self, user: User, now: datetime) -> CertificatePair:
        """A user's certificate."""
        return self.issue_client(user.name, (group for group in user.groups if group != AUTHENTICATED), now)


@lru_cache(maxsize=1024)
def _credential(certificate: bytes) -> str:
    return f"X509SHA256={sha256(certificate).hexdigest()}"


def certificate_user(peer: dict[str, object], certificate: bytes = b"") -> User | None:
    """The user that a verified client certificate names, in the form that the ssl module tells it, and its bytes."""
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
