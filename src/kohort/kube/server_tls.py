"""Server-side TLS of the manager: the `tls` section of the configuration, and certificate rotation.

A context uses its newest key pair for each new connection; open connections are not affected.
"""

import logging
import ssl
from pathlib import Path

from kohort.api.config.common import Tls
from kohort.kube.config.secrets import KeyPair
from kohort.kube.errors import ConfigError
from kohort.kube.tls import load_key_pair

log = logging.getLogger(__name__)

_VERSIONS = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
_CIPHERS = {
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
}
"""OpenSSL names of cipher suites by IANA name."""
_ALWAYS_ON = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
"""Cipher suites of TLS 1.3."""


def server_context(tls: Tls) -> ssl.SSLContext:
    """A server context without a certificate; raises ConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS.get(tls.min_version, ssl.TLSVersion.TLSv1_2)
    context.set_alpn_protocols(["http/1.1"])
    suites = [suite for suite in tls.cipher_suites if suite not in _ALWAYS_ON]
    if suites:
        _offer(context, suites)
    if tls.curve_preferences:
        log.warning("ignoring tls.curvePreferences: not supported by the TLS library")
    return context


def _offer(context: ssl.SSLContext, suites: list[str]) -> None:
    unknown = [suite for suite in suites if suite not in _CIPHERS]
    if unknown:
        known = ", ".join(sorted(_CIPHERS))
        raise ConfigError(f"tls.cipherSuites: unknown cipher suite {unknown[0]}, available: {known}")
    try:
        context.set_ciphers(":".join(_CIPHERS[suite] for suite in suites))
    except ssl.SSLError:
        listed = ", ".join(suites)
        raise ConfigError(f"tls.cipherSuites: the TLS library supports none of {listed}: choose others") from None


def use_key_pair(context: ssl.SSLContext, key_pair: KeyPair, origin: str) -> None:
    """Use a key pair for new connections; raises ConfigError with the origin of the pair."""
    try:
        load_key_pair(context, key_pair)
    except (ssl.SSLError, OSError, ValueError):
        raise ConfigError(f"{origin}: tls.crt and tls.key are not a matching PEM pair: replace both") from None


def verify_clients(context: ssl.SSLContext, authorities: Path) -> None:
    """Request client certificates, and verify them with a CA bundle; raises ConfigError.

    Clients without a certificate pass the handshake, because whether one is needed depends on the request.
    """
    try:
        context.load_verify_locations(cafile=authorities)
    except OSError as error:
        why = "no certificates in PEM" if isinstance(error, ssl.SSLError) else error.strerror
        raise ConfigError(f"{authorities}: {why}: use a file with the CA certificates of API servers") from None
    context.verify_mode = ssl.CERT_OPTIONAL
