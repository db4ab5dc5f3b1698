"""The server's own certificate authority: it signs the server, and the users whom it knows by certificate.

Keys are elliptic (P-256): made in a millisecond, and every TLS stack reads them.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kohort.embedded.auth.files import write_private
from kohort.embedded.auth.users import AUTHENTICATED, CREDENTIAL, User

_AUTHORITY_LIFE = timedelta(days=3650)
_LIFE = timedelta(days=365)
_RENEW_BEFORE = timedelta(days=60)
_CLOCK_SLACK = timedelta(minutes=5)
_MAX_NAME = 64


class CertificateFileError(Exception):
    """A certificate or key file that can't be used; the text says which, and what to do."""


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as files and kubeconfigs carry it."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The key, not encrypted."""
        return key_pem(self.key)

    def is_fresh(self, now: datetime) -> bool:
        """Whether it will hold for a good while."""
        return now + _RENEW_BEFORE < self.certificate.not_valid_after_utc


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A private key as a file carries it, not encrypted."""
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption())


def new_key() -> ec.EllipticCurvePrivateKey:
    """A fresh private key."""
    return ec.generate_private_key(ec.SECP256R1())


def read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """A private key from its file."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), None)
    except (ValueError, TypeError) as error:
        raise CertificateFileError(f"{path}: not a private key: {error}: delete it to get a new one") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise CertificateFileError(f"{path}: not an elliptic key: delete it to get a new one")
    return key


def read_pair(certificate: Path, key: Path) -> Pair:
    """A certificate and its key from their files."""
    try:
        return Pair(x509.load_pem_x509_certificate(certificate.read_bytes()), read_key(key))
    except ValueError as error:
        message = f"{certificate}: not a certificate: {error}: delete it to get a new one"
        raise CertificateFileError(message) from None


class Authority:
    """A certificate authority, and what it signs."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    @classmethod
    def create(cls, now: datetime) -> "Authority":
        """A new authority, known to nobody yet."""
        key = new_key()
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"kohort-{x509.random_serial_number():x}"[:20])])
        builder = _builder(name, name, key, now, _AUTHORITY_LIFE)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs=True), critical=True)
        return cls(Pair(builder.sign(key, hashes.SHA256()), key))

    @classmethod
    def at(cls, directory: Path, now: datetime) -> "Authority":
        """The authority kept in a directory, made there when there is none or it is about to expire."""
        certificate, key = directory / "ca.crt", directory / "ca.key"
        if certificate.exists() and key.exists():
            pair = read_pair(certificate, key)
            if pair.is_fresh(now):
                return cls(pair)
        authority = cls.create(now)
        write_private(key, authority.pair.key_pem)
        write_private(certificate, authority.pair.certificate_pem)
        return authority

    @property
    def pem(self) -> bytes:
        """The certificate that others verify by."""
        return self.pair.certificate_pem

    def server(self, hosts: Iterable[str], now: datetime) -> Pair:
        """A serving certificate for these names and addresses."""
        names = x509.SubjectAlternativeName([_host(each) for each in dict.fromkeys(hosts)])
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
        return self._issue(subject, ExtendedKeyUsageOID.SERVER_AUTH, now, names)

    def client(self, user: User, now: datetime) -> Pair:
        """A client certificate: the name is the user, the organizations are the groups."""
        groups = (group for group in user.groups if group != AUTHENTICATED)
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group[:_MAX_NAME]) for group in groups]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, user.name[:_MAX_NAME])])
        return self._issue(subject, ExtendedKeyUsageOID.CLIENT_AUTH, now, None)

    def _issue(
        self, subject: x509.Name, usage: x509.ObjectIdentifier, now: datetime, names: x509.SubjectAlternativeName | None
    ) -> Pair:
        key = new_key()
        builder = _builder(subject, self.pair.certificate.subject, key, now, _LIFE)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        issuer_key = self.pair.key.public_key()
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key)
        builder = builder.add_extension(identifier, critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        return Pair(builder.sign(self.pair.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - _CLOCK_SLACK).not_valid_after(now + life)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


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
