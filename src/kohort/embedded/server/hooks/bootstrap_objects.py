"""Objects of every new cluster: namespaces, roles, priority classes, the `kubernetes` Service."""

from collections.abc import Iterator

from kohort.api.codec import JsonObject
from kohort.embedded.auth.bootstrap import bootstrap_objects
from kohort.embedded.auth.users import LOOPBACK
from kohort.embedded.server.handlers.write_pipeline import WritePipeline
from kohort.embedded.server.registry.resource_catalog import ResourceCatalog
from kohort.embedded.server.requests.options import WriteRequestOptions
from kohort.embedded.server.requests.write_operation import WriteOperation
from kohort.embedded.storage import StorageEvent, StorageKey, Store
from kohort.kube.clock import Clock
from kohort.kube.errors import StatusError
from kohort.kube.watch_events import WatchEventType

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_MANAGER = WriteRequestOptions(manager="kube-apiserver")
_TRUST = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


def _namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _priority(name: str, value: int, purpose: str) -> JsonObject:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
    return {**head, "value": value, "description": purpose}


def _service() -> JsonObject:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    metadata = {"name": "kubernetes", "namespace": "default", "labels": labels}
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}
    spec = {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [port]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def initial_objects() -> Iterator[JsonObject]:
    """All bootstrap objects, in order of creation."""
    for name in NAMESPACES:
        yield _namespace(name)
    yield from bootstrap_objects()
    critical = "must not be moved from their current node"
    yield _priority("system-node-critical", 2000001000, f"Used for system critical pods that {critical}.")
    yield _priority(
        "system-cluster-critical", 2000000000, "Used for system critical pods that must run in the cluster."
    )
    yield _service()


class BootstrapObjects:
    """Creates missing bootstrap objects."""

    def __init__(
        self, store: Store, catalog: ResourceCatalog, writer: WritePipeline, clock: Clock, authority: bytes
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._writer = writer
        self._clock = clock
        self._authority = authority

    async def ensure(self) -> None:
        """Creates what is missing; existing objects are not changed."""
        for found in initial_objects():
            await self._ensure(found)
        for entry in self._store.list("namespaces").entries:
            await self.ensure_namespace_objects(entry.key.name)

    async def on_namespace(self, change: StorageEvent) -> None:
        """Creates the default objects of a new namespace."""
        if change.kind is WatchEventType.ADDED:
            await self.ensure_namespace_objects(change.entry.key.name)

    async def ensure_namespace_objects(self, namespace: str) -> None:
        """Creates the default ServiceAccount and the ConfigMap of the root CA in a namespace."""
        account: JsonObject = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        trust: JsonObject = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kube-root-ca.crt", "annotations": {"kubernetes.io/description": _TRUST}},
            "data": {"ca.crt": self._authority.decode()},
        }
        for found in (account, trust):
            await self._ensure({**found, "metadata": {**found["metadata"], "namespace": namespace}})

    async def _ensure(self, found: JsonObject) -> None:
        resource = self._catalog.find_kind(found["apiVersion"], found["kind"])
        if resource is None:
            return
        metadata = found["metadata"]
        namespace = metadata.get("namespace", "")
        if self._store.get(StorageKey(resource.key, namespace, metadata["name"])) is not None:
            return
        operation = WriteOperation("create", resource, namespace, "", LOOPBACK, self._clock.wall(), _MANAGER)
        try:
            await self._writer.create(operation, found)
        except StatusError as error:
            if not error.is_already_exists and error.reason != "Forbidden":
                raise
