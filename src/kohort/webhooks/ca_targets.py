"""Objects that name our servers, and the change each of them needs to trust our certificates: pure functions.

In a cluster only the bundle is ours, the rest is the administrator's. A manager outside owns the whole of its entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kohort.api.codec import Json, JsonObject
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
    trusting,
    webhooks,
)
from kohort.webhooks.registrations import AnyRegistration, WebhookType, acting

Patch = dict[str, Json]

DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
API_SERVICES = Resource("apiregistration.k8s.io", "v1", "APIService", "apiservices", namespaced=False)


@dataclass(frozen=True, slots=True)
class WebhookTrust:
    """Where our webhooks are, which there are, and by what they are verified."""

    manager: ManagerEndpoint
    registrations: Sequence[AnyRegistration]
    bundle: bytes


@dataclass(frozen=True)
class LeanKind(UnstructuredResource):
    """Definitions without their schemas, which are large and none of our concern here."""

    def read(self, data: Data) -> JsonObject:
        """Keep what tells how objects are converted."""
        found = super().read(data)
        metadata = {name: value for name, value in found.get("metadata", {}).items() if name != "managedFields"}
        spec = found.get("spec", {})
        kept = {name: spec.get(name) for name in ("group", "names", "conversion")}
        return {**found, "metadata": metadata, "spec": kept, "status": {}}


def configuration_patch(act: WebhookType, found: JsonObject, trust: WebhookTrust) -> Patch | None:
    """What a webhook configuration lacks; None where nothing."""
    entries = found.get("webhooks") or []
    place = trust.manager.place
    if isinstance(place, AtUrl):
        ours = webhooks(acting(trust.registrations, act), trust.manager, trust.bundle)
        is_ours = found["metadata"]["name"] == NAMES[act]
        return {"webhooks": ours} if is_ours and not _states(entries, ours) else None
    mended = [_mended(each, place, trust.bundle) for each in entries]
    return {"webhooks": mended} if mended != entries else None


def _states(found: Sequence[JsonObject], wanted: Sequence[JsonObject]) -> bool:
    """Whether the entries say what they should; what a server added as a default is no matter."""
    by_name = {each.get("name"): each for each in found}
    if len(by_name) != len(wanted):
        return False
    return all({**by_name.get(each["name"], {}), **each} == by_name.get(each["name"]) for each in wanted)


def _mended(entry: JsonObject, place: InCluster, bundle: bytes) -> JsonObject:
    client_config = entry.get("clientConfig") or {}
    if not _leads_to(client_config, place):
        return entry
    return {**entry, "clientConfig": trusting(client_config, bundle)}


def _leads_to(holder: JsonObject, place: InCluster) -> bool:
    service = holder.get("service") or {}
    return (service.get("namespace"), service.get("name")) == (place.namespace, place.name)


def missing_configurations(names: frozenset[str], trust: WebhookTrust) -> list[tuple[WebhookType, JsonObject]]:
    """The configurations that a manager outside has to create, given those that are there."""
    if not isinstance(trust.manager.place, AtUrl):
        return []
    return [
        (act, configuration(act, trust.registrations, trust.manager, trust.bundle))
        for act in CONFIGURATIONS
        if NAMES[act] not in names
    ]


def definition_patch(found: JsonObject, trust: WebhookTrust) -> Patch | None:
    """What the conversion of a definition lacks; None where nothing."""
    conversion = found["spec"].get("conversion") or {}
    client_config = (conversion.get("webhook") or {}).get("clientConfig") or {}
    place = trust.manager.place
    if isinstance(place, AtUrl):
        return _pointed_patch(found, client_config, conversion_config(place, trust.bundle))
    if not _leads_to(client_config, place):
        return None
    wanted = trusting(client_config, trust.bundle)
    return _conversion(wanted) if wanted != client_config else None


def _pointed_patch(found: JsonObject, client_config: JsonObject, wanted: Json) -> Patch | None:
    spec = found["spec"]
    converts = spec.get("group") == GROUP and converts_by_webhook((spec.get("names") or {}).get("kind", ""))
    if not converts or client_config == wanted:
        return None
    # A server refuses a place that is both a service and a URL.
    return _conversion({"service": None, **wanted})


def _conversion(client_config: Json) -> Patch:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client_config}
    return {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}


def api_service_patch(found: JsonObject, service: InCluster, bundle: bytes) -> Patch | None:
    """What an aggregated API of ours lacks; one that is not to be verified is left alone."""
    spec = found.get("spec") or {}
    if not _leads_to(spec, service) or spec.get("insecureSkipTLSVerify"):
        return None
    wanted = trusting(spec, bundle)
    return {"spec": {"caBundle": wanted["caBundle"]}} if wanted != spec else None
