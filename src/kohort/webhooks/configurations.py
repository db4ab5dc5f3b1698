"""The registration of webhooks: two webhook configurations, and the conversion of CRDs.

A manager in the cluster is reached by its Service, one outside by a URL. `install` prints the same objects.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from kohort.api.codec import Json
from kohort.api.config.common import NAMESPACE_NAME_LABEL, SYSTEM_NAMESPACE
from kohort.api.crds import CONVERSION_PATH
from kohort.api.resource import Resource
from kohort.kube.errors import ConfigError
from kohort.webhooks.conditions import match_conditions
from kohort.webhooks.registrations import AnyRegistration, WebhookType, acting

_GROUP = "admissionregistration.k8s.io"
CONFIGURATIONS = {
    WebhookType.MUTATE: Resource(
        _GROUP, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
    ),
    WebhookType.VALIDATE: Resource(
        _GROUP, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", namespaced=False
    ),
}
NAMES = {
    WebhookType.MUTATE: "kueue-mutating-webhook-configuration",
    WebhookType.VALIDATE: "kueue-validating-webhook-configuration",
}
_PORT = 443


@dataclass(frozen=True, slots=True)
class InCluster:
    """Webhooks behind a Service."""

    namespace: str
    name: str

    def client_config(self, path: str) -> Json:
        """The client config for a path."""
        return {"service": {"namespace": self.namespace, "name": self.name, "path": path, "port": _PORT}}

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that the certificate must include."""
        return service_hosts(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class AtUrl:
    """Webhooks of a manager outside the cluster; `https://127.0.0.1:9443`."""

    base: str

    def client_config(self, path: str) -> Json:
        """The client config for a path."""
        return {"url": f"{self.base}{path}"}

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host that the certificate must include."""
        return (str(urlsplit(self.base).hostname),)


WebhookLocation = InCluster | AtUrl


@dataclass(frozen=True, slots=True)
class ManagerEndpoint:
    """The location of the manager's webhooks, its namespace and its user name."""

    location: WebhookLocation
    namespace: str
    user: str = ""
    """Its user name, for skipping webhook calls for its own writes; empty skips none."""


def at_url(text: str) -> AtUrl:
    """Parse a webhook URL; raises ConfigError."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme == "https" and parts.hostname and not (parts.query or parts.fragment or parts.username)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(
            f"invalid webhook URL {text!r}: use one like https://192.0.2.7:9443 that the API server can reach"
        )
    return AtUrl(text.rstrip("/"))


def service_hosts(namespace: str, name: str) -> tuple[str, ...]:
    """The DNS names of a Service."""
    return (f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.cluster.local")


def with_ca_bundle(client_config: Json, bundle: bytes) -> Json:
    """The client config with a CA bundle; unchanged if the bundle is empty, because something else injects it."""
    return {**client_config, "caBundle": b64encode(bundle).decode()} if bundle else client_config


def configuration(
    act: WebhookType, registrations: Iterable[AnyRegistration], manager: ManagerEndpoint, bundle: bytes = b""
) -> Json:
    """One of the two webhook configurations (API-95, API-96)."""
    resource = CONFIGURATIONS[act]
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": NAMES[act]},
        "webhooks": webhooks(acting(registrations, act), manager, bundle),
    }


def webhooks(
    registrations: Sequence[AnyRegistration], manager: ManagerEndpoint, bundle: bytes = b""
) -> list[dict[str, Json]]:
    """The entries of a configuration, with all defaults of the server except those of selectors."""
    return [_webhook(each, manager, bundle) for each in registrations]


def _webhook(registration: AnyRegistration, manager: ManagerEndpoint, bundle: bytes) -> dict[str, Json]:
    conditions = match_conditions(registration, manager.user)
    return {
        "name": registration.name,
        "clientConfig": with_ca_bundle(manager.location.client_config(registration.path), bundle),
        "rules": registration.rules,
        "admissionReviewVersions": ["v1"],
        "failurePolicy": registration.failure_policy,
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        **({"namespaceSelector": _all_but_system(manager.namespace)} if registration.framework else {}),
        **({"matchConditions": conditions} if conditions else {}),
    }


def _all_but_system(namespace: str) -> Json:
    """Excludes system jobs and the manager's own pods, which must start without the manager (API-96, JOB-76)."""
    values = [SYSTEM_NAMESPACE, namespace]
    return {"matchExpressions": [{"key": NAMESPACE_NAME_LABEL, "operator": "NotIn", "values": values}]}


def conversion_config(location: WebhookLocation, bundle: bytes = b"") -> Json:
    """The client config of the conversion webhook."""
    return with_ca_bundle(location.client_config(CONVERSION_PATH), bundle)
