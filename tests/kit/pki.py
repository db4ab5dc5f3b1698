"""A certificate authority in memory, which signs certificates of servers and users.

Keys are elliptic, because a cluster needs ten of them and an RSA key takes longer than the rest of the start.
"""

import base64
import ipaddress
import ssl
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

_LIFETIME = timedelta(days=200)
"""Kueue replaces certificates that end within 90 days."""
_CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes = field(repr=False)

    @property
    def pem(self) -> bytes:
        """Certificate and key in one file."""
        return self.certificate + self.key

    @property
    def encoded_certificate(self) -> str:
        """The certificate as manifests contain it."""
        return base64.b64encode(self.certificate).decode()

    @property
    def encoded_key(self) -> str:
        """The key as manifests contain it."""
        return base64.b64encode(self.key).decode()

    def load_into(self, context: ssl.SSLContext) -> None:
        """Use this certificate in a TLS context; Python reads it from files only."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(self.pem)
            file.flush()
            context.load_cert_chain(file.name)


@dataclass(frozen=True, slots=True)
class ThrowawayCa:
    """Signs certificates that are valid for every client with `certificate_pem`."""

    certificate: x509.Certificate
    key: PrivateKey = field(repr=False)

    @classmethod
    def create(cls, name: str, key: PrivateKey | None = None) -> Self:
        """A new, self-signed authority; Kueue requires its name among the subject alternative names."""
        key, subject = key or new_key(), _subject(name, ())
        builder = _builder(subject, subject, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(x509.SubjectAlternativeName([_general(name)]), critical=False)
        return cls(builder.add_extension(_SIGNING, critical=True).sign(key, hashes.SHA256()), key)

    @property
    def certificate_pem(self) -> bytes:
        """The CA bundle of clients."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def pair(self) -> KeyPair:
        """Its own certificate and key."""
        return KeyPair(self.certificate_pem, key_pem(self.key))

    def client(self, user: str, groups: tuple[str, ...] = ()) -> KeyPair:
        """A client certificate of this user, member of these groups."""
        return self._signed(_subject(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, ())

    def server(self, *names: str) -> KeyPair:
        """A server certificate for these host names or addresses."""
        return self._signed(_subject(names[0], ()), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def _signed(self, subject: x509.Name, usage: x509.ObjectIdentifier, names: tuple[str, ...]) -> KeyPair:
        key = new_key()
        builder = _builder(subject, self.certificate.subject, key.public_key())
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName([*map(_general, names)]), critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), key_pem(key))


_SIGNING = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


def new_key() -> ec.EllipticCurvePrivateKey:
    """A new private key."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: PrivateKey) -> bytes:
    """The private key in the format that Go reads."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _subject(name: str, groups: tuple[str, ...]) -> x509.Name:
    """Kubernetes reads the user from the common name and the groups from the organizations."""
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
