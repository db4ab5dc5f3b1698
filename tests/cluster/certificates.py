"""Certificates of a test cluster: an authority that signs servers and users, in memory.

Elliptic keys, because a cluster needs ten of them and an RSA key takes longer than the rest of the start.
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
class Pair:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes = field(repr=False)

    @property
    def encoded_certificate(self) -> str:
        """The certificate as it stands in manifests."""
        return base64.b64encode(self.certificate).decode()

    @property
    def encoded_key(self) -> str:
        """The key as it stands in manifests."""
        return base64.b64encode(self.key).decode()

    def load_into(self, context: ssl.SSLContext) -> None:
        """Let a TLS context show this certificate; Python reads it from files only."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(self.certificate + self.key)
            file.flush()
            context.load_cert_chain(file.name)


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs certificates that all trust who trust `certificate`."""

    certificate: x509.Certificate
    key: PrivateKey = field(repr=False)

    @classmethod
    def named(cls, name: str, key: PrivateKey | None = None) -> Self:
        """A fresh authority, signed by itself; Kueue knows one by the name that it is good for."""
        key, subject = key or new_key(), _subject(name, ())
        builder = _builder(subject, subject, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(x509.SubjectAlternativeName([_general(name)]), critical=False)
        return cls(builder.add_extension(_SIGNING, critical=True).sign(key, hashes.SHA256()), key)

    @property
    def pair(self) -> Pair:
        """Its own certificate and key."""
        return Pair(self.certificate.public_bytes(serialization.Encoding.PEM), key_pem(self.key))

    def client(self, user: str, groups: tuple[str, ...] = ()) -> Pair:
        """What lets a client speak as this user, member of these groups."""
        return self._signed(_subject(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, ())

    def server(self, *names: str) -> Pair:
        """What a server shows to clients that know it by one of these host names or addresses."""
        return self._signed(_subject(names[0], ()), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def _signed(self, subject: x509.Name, usage: x509.ObjectIdentifier, names: tuple[str, ...]) -> Pair:
        key = new_key()
        builder = _builder(subject, self.certificate.subject, key.public_key())
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName([*map(_general, names)]), critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        return Pair(certificate.public_bytes(serialization.Encoding.PEM), key_pem(key))


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
    """A fresh private key."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: PrivateKey) -> bytes:
    """The private key in the form that Go reads."""
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
