"""Self-signed certificates: a certificate authority, and the server and client certificates that it issues.

Keys are ECDSA P-256: generated in a millisecond, and supported by every TLS library.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE = timedelta(days=3650)
LIFE = timedelta(days=365)
RENEW_BEFORE = timedelta(days=60)
_CLOCK_SLACK = timedelta(minutes=5)
_MAX_NAME = 64


class ForeignKeyError(ValueError):
    """A private key that is not ECDSA."""


@dataclass(frozen=True)
class CertificatePair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @classmethod
    def from_pem(cls, certificate: bytes, key: bytes) -> Self:
        """Parses PEM; raises ValueError if it is invalid or the key does not match the certificate."""
        found = cls(x509.load_pem_x509_certificate(certificate), read_key(key))
        if found.certificate.public_key() != found.key.public_key():
            raise ValueError("the private key does not match the certificate")
        return found

    @property
    def certificate_pem(self) -> bytes:
        """The certificate in PEM."""
        return certificate_pem(self.certificate)

    @property
    def key_pem(self) -> bytes:
        """The private key in PEM, not encrypted."""
        return key_pem(self.key)

    @property
    def hosts(self) -> frozenset[str]:
        """The DNS names and IP addresses of a serving certificate."""
        try:
            extension = self.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return frozenset()
        addresses = map(str, extension.get_values_for_type(x509.IPAddress))
        return frozenset((*extension.get_values_for_type(x509.DNSName), *addresses))

    def is_fresh(self, now: datetime) -> bool:
        """Whether the certificate need not be renewed yet."""
        return now + RENEW_BEFORE < self.certificate.not_valid_after_utc

    def is_signed_by(self, authority: x509.Certificate) -> bool:
        """Whether this authority issued the certificate."""
        try:
            self.certificate.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True


def certificate_pem(certificate: x509.Certificate) -> bytes:
    """A certificate in PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A private key in PEM, not encrypted."""
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption())


def new_key() -> ec.EllipticCurvePrivateKey:
    """Generates a private key."""
    return ec.generate_private_key(ec.SECP256R1())


def read_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Parses a private key in PEM; raises ValueError, or ForeignKeyError for other kinds of keys."""
    try:
        key = serialization.load_pem_private_key(pem, None)
    except TypeError as error:
        raise ValueError(str(error)) from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ForeignKeyError("not an ECDSA key")
    return key


class CertificateAuthority:
    """A certificate authority."""

    def __init__(self, pair: CertificatePair) -> None:
        self.pair = pair

    @classmethod
    def create(cls, now: datetime) -> Self:
        """Creates a new authority."""
        key = new_key()
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"kohort-{x509.random_serial_number():x}"[:20])])
        builder = _builder(name, name, key, now, AUTHORITY_LIFE)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs=True), critical=True)
        return cls(CertificatePair(builder.sign(key, hashes.SHA256()), key))

    @property
    def pem(self) -> bytes:
        """The certificate of the authority in PEM."""
        return self.pair.certificate_pem

    def issue_server(self, name: str, hosts: Iterable[str], now: datetime) -> CertificatePair:
        """A serving certificate for these DNS names and IP addresses."""
        names = x509.SubjectAlternativeName([_host(each) for each in dict.fromkeys(hosts)])
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:_MAX_NAME])])
        return self._issue(subject, ExtendedKeyUsageOID.SERVER_AUTH, now, names)

    def issue_client(self, name: str, groups: Iterable[str], now: datetime) -> CertificatePair:
        """A client certificate: the common name is the user, the organizations are the groups."""
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group[:_MAX_NAME]) for group in groups]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name[:_MAX_NAME])])
        return self._issue(subject, ExtendedKeyUsageOID.CLIENT_AUTH, now, None)

    def _issue(
        self, subject: x509.Name, usage: x509.ObjectIdentifier, now: datetime, names: x509.SubjectAlternativeName | None
    ) -> CertificatePair:
        key = new_key()
        builder = _builder(subject, self.pair.certificate.subject, key, now, LIFE)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        issuer_key = self.pair.key.public_key()
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key)
        builder = builder.add_extension(identifier, critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        return CertificatePair(builder.sign(self.pair.key, hashes.SHA256()), key)


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
