"""Admission plugin for manifests of `kohort install` or Kueue on a cluster with a built-in manager.

Definitions and webhook configurations apply over the existing ones and keep the addresses of the built-in manager;
the Deployment of a second manager, which would manage the same queues, is rejected.
"""

from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin, is_write_of
from kohort.kube.errors import forbidden

_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_DEPLOYMENTS: Final = "deployments.apps"
_CONFIGURATIONS: Final = (
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
)
_UNCLAIMED: Final = (_DEFINITIONS, *_CONFIGURATIONS, "services")
_NOTHING: Final[JsonObject] = {"f:metadata": {}}
_GROUP: Final = "kueue.x-k8s.io"
_MANAGERS: Final = ("kohort", "kueue")
_REASON: Final = "this cluster has a built-in manager (run by kohort up), and a second one would manage the same queues"


class BuiltInManager(NoopPlugin):
    """Keeps the webhook addresses of the built-in manager, and rejects a second manager."""

    def __init__(self, user: str) -> None:
        self._user = user
        """User name of the built-in manager, which alone may change these addresses."""

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """The object with the addresses of the built-in manager."""
        new, old = attributes.object, attributes.old
        if new is not None and attributes.user.name == self._user:
            return _unclaimed(new) if attributes.resource.key in _UNCLAIMED else None
        if new is None or old is None:
            return None
        if is_write_of(attributes, _DEFINITIONS, "UPDATE"):
            return _with_conversion_of(new, old)
        if any(is_write_of(attributes, each, "UPDATE") for each in _CONFIGURATIONS):
            return _with_clients_of(new, old)
        return None

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Reject the Deployment of another manager."""
        found = attributes.object
        if found is not None and is_write_of(attributes, _DEPLOYMENTS, "CREATE", "UPDATE") and _is_manager(found):
            raise forbidden(attributes.about, _REASON)


def _unclaimed(found: JsonObject) -> JsonObject | None:
    """An object of the built-in manager without owned fields, so that an apply has no conflicts.

    The managed fields entries stay: an object without any is owned by a manager "before-first-apply".
    """
    metadata = found.get("metadata") or {}
    entries = [{**each, "fieldsV1": _NOTHING} for each in metadata.get("managedFields") or ()]
    return {**found, "metadata": {**metadata, "managedFields": entries}} if entries else None


def _with_conversion_of(new: JsonObject, old: JsonObject) -> JsonObject | None:
    """A definition with the former conversion, where that is a webhook of the built-in manager."""
    spec, former = new.get("spec") or {}, (old.get("spec") or {}).get("conversion") or {}
    client = (former.get("webhook") or {}).get("clientConfig") or {}
    if spec.get("group") != _GROUP or not client.get("url"):
        return None
    return {**new, "spec": {**spec, "conversion": former}}


def _with_clients_of(new: JsonObject, old: JsonObject) -> JsonObject | None:
    """A webhook configuration with the former addresses of those webhooks that the built-in manager serves."""
    clients = {each.get("name"): each.get("clientConfig") or {} for each in old.get("webhooks") or ()}
    kept = {name: client for name, client in clients.items() if _is_of_kueue(name) and client.get("url")}
    if not kept:
        return None
    webhooks = [
        {**each, "clientConfig": kept[each.get("name")]} if each.get("name") in kept else each
        for each in new.get("webhooks") or ()
    ]
    return {**new, "webhooks": webhooks}


def _is_of_kueue(name: Any) -> bool:
    return str(name).endswith(".kb.io")


def _is_manager(deployment: JsonObject) -> bool:
    """Whether the Deployment runs Kohort's or Kueue's manager, as their manifests and charts label it."""
    labels = (deployment.get("metadata") or {}).get("labels") or {}
    is_controller = labels.get("control-plane") == "controller-manager"
    return is_controller and labels.get("app.kubernetes.io/name") in _MANAGERS
