"""ServiceAccount admission: sets the service account of pods, by default `default`, and requires it to exist."""

from kohort.api.codec import JsonObject
from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin, is_write_of
from kohort.embedded.storage import StorageKey, Store
from kohort.kube.errors import forbidden

DEFAULT = "default"


class ServiceAccountPlugin(NoopPlugin):
    """Sets and checks the service account of pods."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """Sets the service account and its image pull secrets."""
        pod = attributes.object
        if pod is None or not is_write_of(attributes, "pods", "CREATE"):
            return None
        spec = dict(pod.get("spec") or {})
        name = spec.get("serviceAccountName") or DEFAULT
        account = self._account(attributes, name)
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = account["imagePullSecrets"]
        return {**pod, "spec": spec}

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Requires the service account to exist."""
        if attributes.object is not None and is_write_of(attributes, "pods", "CREATE"):
            self._account(attributes, (attributes.object.get("spec") or {}).get("serviceAccountName") or DEFAULT)

    def _account(self, attributes: AdmissionAttributes, name: str) -> JsonObject:
        found = self._store.get(StorageKey("serviceaccounts", attributes.namespace, name))
        if found is None:
            place = f"{attributes.namespace}/{name}"
            why = f'error looking up service account {place}: serviceaccount "{name}" not found'
            raise forbidden(attributes.about, why)
        return found.object
