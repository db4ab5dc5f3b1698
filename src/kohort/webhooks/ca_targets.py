"""The patch that each object which refers to the manager's servers needs to trust their certificates: pure functions.

In a cluster the manager owns only the CA bundle. A manager outside the cluster owns whole entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kohort.api.codec import Json, JsonObject
from kohort.api.core.definitions import CustomResourceDefinition
from kohort.api.kueue.conversion import converts_by_webhook
from kohort.api.kueue.group import GROUP
from kohort.api.resource import Resource
from kohort.kube.resource_types import Data, UnstructuredResource
from kohort.webhooks.configurations import (
    CONFIGURATIONS,
    NAMES,
    AtUrl,
    InCluster,
    ManagerEndpoint,
    configuration,
    conversion_config,
    webhooks,
    with_ca_bundle,
)
from kohort.webhooks.registrations import AnyRegistration, WebhookType, acting

DEFINITIONS = CustomResourceDefinition.resource
API_SERVICES = Resource("apiregistration.k8s.io", "v1", "APIService", "apiservices", namespaced=False)


@dataclass(frozen=True, slots=True)
class WebhookTrust:
    """The location of the webhooks, their registrations, and the CA bundle."""

    manager: ManagerEndpoint
    registrations: Sequence[AnyRegistration]
    bundle: bytes


@dataclass(frozen=True)
class SchemalessCrdResource(UnstructuredResource):
    """CustomResourceDefinitions without their schemas, which are large and not needed."""

    def read(self, data: Data) -> JsonObject:
        """Keep the fields that concern conversion."""
        found = super().read(data)
        metadata = {name: value for name, value in found.get("metadata", {}).items() if name != "managedFields"}
        spec = found.get("spec", {})
        kept = {name: spec.get(name) for name in ("group", "names", "conversion")}
        return {**found, "metadata": metadata, "spec": kept, "status": {}}


def configuration_patch(act: WebhookType, found: JsonObject, trust: WebhookTrust) -> JsonObject | None:
    """The patch for a webhook configuration, or None."""
    entries = found.get("webhooks") or []
    location = trust.manager.location
    if isinstance(location, AtUrl):
        ours = webhooks(acting(trust.registrations, act), trust.manager, trust.bundle)
        is_ours = found["metadata"]["name"] == NAMES[act]
        return {"webhooks": ours} if is_ours and not _contains(entries, ours) else None
    patched = [_with_bundle(each, location, trust.bundle) for each in entries]
    return {"webhooks": patched} if patched != entries else None


def _contains(found: Sequence[JsonObject], wanted: Sequence[JsonObject]) -> bool:
    """Whether the entries have the wanted fields; defaults added by a server are ignored."""
    by_name = {each.get("name"): each for each in found}
    if len(by_name) != len(wanted):
        return False
    return all({**by_name.get(each["name"], {}), **each} == by_name.get(each["name"]) for each in wanted)


def _with_bundle(entry: JsonObject, location: InCluster, bundle: bytes) -> JsonObject:
    client_config = entry.get("clientConfig") or {}
    if not _refers_to(client_config, location):
        return entry
    return {**entry, "clientConfig": with_ca_bundle(client_config, bundle)}


def _refers_to(holder: JsonObject, location: InCluster) -> bool:
    service = holder.get("service") or {}
    return (service.get("namespace"), service.get("name")) == (location.namespace, location.name)


def missing_configurations(names: frozenset[str], trust: WebhookTrust) -> list[tuple[WebhookType, JsonObject]]:
    """The missing configurations, which a manager outside the cluster creates."""
    if not isinstance(trust.manager.location, AtUrl):
        return []
    return [
        (act, configuration(act, trust.registrations, trust.manager, trust.bundle))
        for act in CONFIGURATIONS
        if NAMES[act] not in names
    ]


def definition_patch(found: JsonObject, trust: WebhookTrust) -> JsonObject | None:
    """The patch for the conversion of a CRD, or None."""
    conversion = found["spec"].get("conversion") or {}
    client_config = (conversion.get("webhook") or {}).get("clientConfig") or {}
    location = trust.manager.location
    if isinstance(location, AtUrl):
        return _url_patch(found, client_config, conversion_config(location, trust.bundle))
    if not _refers_to(client_config, location):
        return None
    wanted = with_ca_bundle(client_config, trust.bundle)
    return _conversion(wanted) if wanted != client_config else None


def _url_patch(found: JsonObject, client_config: JsonObject, wanted: Json) -> JsonObject | None:
    spec = found["spec"]
    converts = spec.get("group") == GROUP and converts_by_webhook((spec.get("names") or {}).get("kind", ""))
    if not converts or client_config == wanted:
        return None
    # API servers reject a client config with both a service and a URL.
    return _conversion({"service": None, **wanted})


def _conversion(client_config: Json) -> JsonObject:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client_config}
    return {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}


def api_service_patch(found: JsonObject, service: InCluster, bundle: bytes) -> JsonObject | None:
    """The patch for an APIService of the manager, or None; one with insecureSkipTLSVerify is left unchanged."""
    spec = found.get("spec") or {}
    if not _refers_to(spec, service) or spec.get("insecureSkipTLSVerify"):
        return None
    wanted = with_ca_bundle(spec, bundle)
    return {"spec": {"caBundle": wanted["caBundle"]}} if wanted != spec else None
