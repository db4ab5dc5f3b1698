"""The certificates of the manager's servers and their stepwise renewal, as a pure state machine.

No client receives a certificate that it cannot verify yet: a new CA is distributed for a while before it signs, and an
old one is trusted until it expires.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cryptography import x509

from kohort.kube.certificates import (
    AUTHORITY_LIFE,
    CertificateAuthority,
    CertificatePair,
    ForeignKeyError,
    certificate_pem,
    read_key,
)
from kohort.kube.config.secrets import KeyPair, from_base64
from kohort.kube.errors import ConfigError

TRUST_DELAY = timedelta(minutes=30)
"""How long a new CA is distributed before it signs, so that every API server has it by then."""
_MAX_HOSTS = 64
_COMMON_NAME = "kohort-webhooks"

CERTIFICATE, KEY = "tls.crt", "tls.key"
TRUSTED, AUTHORITY_KEY = "ca.crt", "ca.key"
SUCCESSOR, SUCCESSOR_KEY = "next-ca.crt", "next-ca.key"

SecretData = Mapping[str, bytes]
"""The content of a Secret, decoded."""


class CertificateError(ConfigError):
    """Certificates are invalid; the message names their origin and the remedy."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """Shared by all replicas: the signing CA, its successor, former CAs, and the serving certificate."""

    authority: CertificatePair
    serving: CertificatePair
    successor: CertificatePair | None = None
    former: tuple[x509.Certificate, ...] = ()

    @property
    def trusted(self) -> tuple[x509.Certificate, ...]:
        """Every CA that clients should trust, the signing one first."""
        successors = (self.successor.certificate,) if self.successor else ()
        return (self.authority.certificate, *successors, *self.former)

    @property
    def bundle(self) -> bytes:
        """The CA bundle in PEM."""
        return b"".join(map(certificate_pem, self.trusted))

    @property
    def key_pair(self) -> KeyPair:
        """The serving certificate and its key."""
        return KeyPair(self.serving.certificate_pem, self.serving.key_pem)


def new_certificates(hosts: Iterable[str], now: datetime) -> Certificates:
    """A new CA and serving certificate; clients that trust only former CAs cannot verify it."""
    authority = CertificateAuthority.create(now)
    return Certificates(authority.pair, authority.issue_server(_COMMON_NAME, sorted(set(hosts)), now))


def renew(found: Certificates, hosts: Iterable[str], now: datetime) -> Certificates:
    """The certificates after the next due step; unchanged if none is due."""
    if found.authority.certificate.not_valid_after_utc <= now:
        return new_certificates(hosts, now)
    found = replace(found, former=tuple(each for each in found.former if now < each.not_valid_after_utc))
    found = _succeeded(found, now)
    if found.successor is None and not found.authority.is_fresh(now):
        found = replace(found, successor=CertificateAuthority.create(now).pair)
    return _serving(found, frozenset(hosts), now)


def _succeeded(found: Certificates, now: datetime) -> Certificates:
    successor = found.successor
    if successor is None or now < successor.certificate.not_valid_after_utc - AUTHORITY_LIFE + TRUST_DELAY:
        return found
    former = (found.authority.certificate, *found.former)
    return replace(found, authority=successor, successor=None, former=former)


def _serving(found: Certificates, hosts: frozenset[str], now: datetime) -> Certificates:
    serving = found.serving
    if serving.is_fresh(now) and serving.is_signed_by(found.authority.certificate) and hosts <= serving.hosts:
        return found
    # Replicas may have different hosts during an update: each keeps those of the others.
    names = hosts | serving.hosts
    issued = CertificateAuthority(found.authority).issue_server(
        _COMMON_NAME, sorted(names if len(names) <= _MAX_HOSTS else hosts), now
    )
    return replace(found, serving=issued)


# In a Secret


def to_secret(found: Certificates) -> dict[str, bytes]:
    """The content of the Secret; the keys are those that ingress and cert-manager use."""
    data = {
        CERTIFICATE: found.serving.certificate_pem,
        KEY: found.serving.key_pem,
        TRUSTED: found.bundle,
        AUTHORITY_KEY: found.authority.key_pem,
    }
    if found.successor is None:
        return data
    return {**data, SUCCESSOR: found.successor.certificate_pem, SUCCESSOR_KEY: found.successor.key_pem}


def renewed_from_secret(data: SecretData, hosts: Iterable[str], now: datetime, origin: str) -> Certificates:
    """The certificates that a Secret should contain now, given its content; raises CertificateError.

    Certificates created by Kueue are replaced: its manager does not run beside Kohort's.
    """
    if not any(data.get(name) for name in (CERTIFICATE, KEY, TRUSTED, AUTHORITY_KEY)):
        return new_certificates(hosts, now)
    try:
        return renew(_read(data), hosts, now)
    except ForeignKeyError:
        return new_certificates(hosts, now)
    except ValueError as error:
        remedy = "empty the Secret to get new ones, or set internalCertManagement.enable=false"
        raise CertificateError(f"{origin}: invalid certificates: {error}: {remedy}") from None


def _read(data: SecretData) -> Certificates:
    missing = [name for name in (CERTIFICATE, KEY, TRUSTED, AUTHORITY_KEY) if not data.get(name)]
    if missing:
        raise ValueError(f"no {missing[0]}")
    # The key first, which identifies Kueue's: the library rejects its CA, whose serial number is 0.
    read_key(data[AUTHORITY_KEY])
    trusted = x509.load_pem_x509_certificates(data[TRUSTED])
    authority = CertificatePair.from_pem(certificate_pem(trusted[0]), data[AUTHORITY_KEY])
    successor = CertificatePair.from_pem(data[SUCCESSOR], data[SUCCESSOR_KEY]) if data.get(SUCCESSOR) else None
    serving = CertificatePair.from_pem(data[CERTIFICATE], data[KEY])
    known = {authority.certificate, *((successor.certificate,) if successor else ())}
    return Certificates(authority, serving, successor, tuple(each for each in trusted if each not in known))


def decode_secret(data: Mapping[str, str], origin: str) -> dict[str, bytes]:
    """The content of a Secret as it comes from an API server; raises ConfigError."""
    return {name: from_base64(text, f"{origin}: {name}") for name, text in data.items()}
