"""Verifies front proxy requests: headers count only with a client certificate signed by the proxy's CA.

The API server publishes that CA and the header names in a ConfigMap, which is watched, so that a rotated CA is trusted
and a withdrawn one is not.
"""

import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from multidict import CIMultiDictProxy

from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey
from kohort.kube.access_reviews import AuthenticatedUser

log = logging.getLogger(__name__)

CONFIG_MAP: Final = ObjectKey("kube-system", "extension-apiserver-authentication")
_NAMES = msgspec.json.Decoder(list[str])


class FrontProxyError(ApiError):
    """The ConfigMap of the API server is invalid."""


@dataclass(frozen=True, slots=True)
class FrontProxyVerifier:
    """The front proxy's CAs and header names."""

    authorities: tuple[x509.Certificate, ...]
    allowed_names: tuple[str, ...] = ()
    """Allowed common names of client certificates; empty allows all."""
    user_headers: tuple[str, ...] = ("X-Remote-User",)
    group_headers: tuple[str, ...] = ("X-Remote-Group",)
    extra_prefixes: tuple[str, ...] = ("X-Remote-Extra-",)

    def trusts(self, certificate: bytes) -> bool:
        """Whether a client certificate (in DER) is the proxy's."""
        found = x509.load_der_x509_certificate(certificate)
        if not any(_issued(found, authority) for authority in self.authorities):
            return False
        names = {str(each.value) for each in found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)}
        return not self.allowed_names or bool(names & set(self.allowed_names))

    def user_in(self, headers: CIMultiDictProxy[str]) -> AuthenticatedUser | None:
        """The user in the headers, or None."""
        name = next((value for header in self.user_headers if (value := headers.get(header))), "")
        if not name:
            return None
        groups = tuple(value for header in self.group_headers for value in headers.getall(header, ()))
        return AuthenticatedUser(name, groups, tuple(sorted(self._extra(headers).items())))

    def _extra(self, headers: CIMultiDictProxy[str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for header in dict.fromkeys(headers):
            for prefix in self.extra_prefixes:
                if header.lower().startswith(prefix.lower()):
                    found[unquote(header[len(prefix) :].lower())] = tuple(headers.getall(header))
        return found


NO_PROXY: Final = FrontProxyVerifier(())


def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def front_proxy(data: Mapping[str, str]) -> FrontProxyVerifier:
    """Parse the ConfigMap; raises FrontProxyError."""
    bundle = data.get("requestheader-client-ca-file", "")
    if not bundle:
        raise FrontProxyError(f"ConfigMap {CONFIG_MAP} has no requestheader-client-ca-file")
    try:
        return FrontProxyVerifier(
            tuple(x509.load_pem_x509_certificates(bundle.encode())),
            _listed(data, "requestheader-allowed-names"),
            _listed(data, "requestheader-username-headers"),
            _listed(data, "requestheader-group-headers"),
            _listed(data, "requestheader-extra-headers-prefix"),
        )
    except (ValueError, msgspec.DecodeError) as error:
        raise FrontProxyError(f"cannot read ConfigMap {CONFIG_MAP}: {error}") from None


def _listed(data: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(_NAMES.decode(data.get(key) or "[]"))


def load_proxy_authorities(context: ssl.SSLContext, proxy: FrontProxyVerifier) -> None:
    """Accept client certificates of these CAs in TLS handshakes; `FrontProxyVerifier.trusts` decides."""
    context.verify_mode = ssl.CERT_OPTIONAL
    for authority in proxy.authorities:
        context.load_verify_locations(cadata=authority.public_bytes(Encoding.DER))
