"""Certificates by cert-manager: what asks for them, and what has their authority written where API servers look.

An authority of our own signs unless somebody else does. It outlives what it signs, so a renewed certificate is trusted
before a replica shows it; one that signed itself would be refused until every replica has it.
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


def issued(options: Options) -> list[Json]:
    """What cert-manager is asked for; nothing where certificates come from elsewhere."""
    if options.issuer is None:
        return []
    return [*(_authority(options) if options.issuer == Issuer() else []), _serving(options, options.issuer)]


def injected(found: Json, options: Options) -> Json:
    """The same object; cert-manager, where it is used, writes into it by whom our servers are verified."""
    if options.issuer is None:
        return found
    annotations = {_INJECT: f"{options.namespace}/{_SERVING}"}
    return {**found, "metadata": {**found["metadata"], "annotations": annotations}}


def _authority(options: Options) -> list[Json]:
    """A certificate that signs itself, and the issuer that signs with it."""
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
    """One certificate for all servers of the manager, since they all show the same."""
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
