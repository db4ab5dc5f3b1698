"""NamespaceLifecycle: denies creation in missing or terminating namespaces, and deletion of system namespaces."""

from kohort.api.codec import JsonObject
from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin
from kohort.embedded.storage import StorageKey, Store
from kohort.kube.errors import ErrorSubject, StatusError, forbidden, not_found

_SYSTEM_NAMESPACES = frozenset(("default", "kube-public", "kube-system"))


class NamespaceLifecycle(NoopPlugin):
    """The NamespaceLifecycle plugin."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """Denies early, before other plugins do work."""
        self.confirm(attributes)
        return None

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Denies the deletion of system namespaces."""
        if (
            attributes.verb == "DELETE"
            and attributes.resource.key == "namespaces"
            and attributes.name in _SYSTEM_NAMESPACES
        ):
            raise forbidden(attributes.about, "this namespace may not be deleted")

    def confirm(self, attributes: AdmissionAttributes) -> None:
        """Denies creation if the namespace was deleted while a webhook was called."""
        if attributes.verb == "CREATE" and attributes.resource.namespaced and not attributes.subresource:
            self._check_active(attributes)

    def _check_active(self, attributes: AdmissionAttributes) -> None:
        found = self._store.get(StorageKey("namespaces", "", attributes.namespace))
        if found is None:
            raise not_found(ErrorSubject("namespaces", name=attributes.namespace))
        if found.object["metadata"].get("deletionTimestamp"):
            raise _terminating(attributes)


def _terminating(attributes: AdmissionAttributes) -> StatusError:
    namespace = attributes.namespace
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    refused = forbidden(attributes.about, why)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    return StatusError(refused.code, refused.reason, refused.message, {**refused.details, "causes": [cause]})
