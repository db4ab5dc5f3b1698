"""cert-manager objects: issuers, certificates, and the annotation that injects their CA into objects of API servers.

Unless the user names an issuer, the serving certificate is signed by a CA that lives longer than it, so that a renewed
certificate is trusted before a replica uses it; a self-signed one would be rejected until every replica has it.
"""

from kohort.api.codec import Json
from kohort.install.options import Issuer, Options
from kohort.install.workload import head
from kohort.webhooks.configurations import service_hosts
from kohort.webhooks.startup import METRICS_SERVICE, VISIBILITY_SERVICE

_API = "cert-manager.io/v1"
_INJECT = "cert-manager.io/inject-ca-from"
_SELF_SIGNED = Issuer("kueue-selfsigned-issuer")
_AUTHORITY, _SERVING = "kueue-ca-cert", "kueue-serving-cert"
_TEN_YEARS = "87600h"


def cert_manager_objects(options: Options) -> list[Json]:
    """Issuers and certificates; none if cert-manager is not used."""
    if options.issuer is None:
        return []
    return [*(_authority(options) if options.issuer == Issuer() else []), _serving(options, options.issuer)]


def with_ca_injection(found: Json, options: Options) -> Json:
    """The object with the annotation by which cert-manager injects the CA bundle, if cert-manager is used."""
    if options.issuer is None:
        return found
    annotations = {_INJECT: f"{options.namespace}/{_SERVING}"}
    return {**found, "metadata": {**found["metadata"], "annotations": annotations}}


def _authority(options: Options) -> list[Json]:
    """A self-signed CA certificate, and the issuer that signs with it."""
    spec = {
        "isCA": True,
        "commonName": _AUTHORITY,
        "secretName": _AUTHORITY,
        "duration": _TEN_YEARS,
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "issuerRef": _reference(_SELF_SIGNED),
    }
    return [
        {**_head("Issuer", _SELF_SIGNED.name, options), "spec": {"selfSigned": {}}},
        {**_head("Certificate", _AUTHORITY, options), "spec": spec},
        {**_head("Issuer", Issuer().name, options), "spec": {"ca": {"secretName": _AUTHORITY}}},
    ]


def _serving(options: Options, issuer: Issuer) -> Json:
    """The certificate of all servers of the manager."""
    services = (options.service, VISIBILITY_SERVICE, METRICS_SERVICE)
    spec = {
        "secretName": options.secret,
        "dnsNames": [host for each in services for host in service_hosts(options.namespace, each)],
        "usages": ["digital signature", "key encipherment", "server auth"],
        "privateKey": {"rotationPolicy": "Always"},
        "issuerRef": _reference(issuer),
    }
    return {**_head("Certificate", _SERVING, options), "spec": spec}


def _reference(issuer: Issuer) -> Json:
    return {"group": "cert-manager.io", "kind": issuer.kind, "name": issuer.name}


def _head(kind: str, name: str, options: Options) -> Json:
    return head(_API, kind, name, options, "certificates")
