"""The permissions that the manager requires, checked at start-up.

Otherwise a missing permission would appear as a cache that never syncs, or as a write that always fails.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kohort.api.codec import decode_json, encode
from kohort.api.core.config_objects import ConfigMap, Secret
from kohort.api.core.definitions import CustomResourceDefinition
from kohort.api.core.events import Event
from kohort.api.core.leases import Lease
from kohort.api.core.namespaces import LimitRange, Namespace
from kohort.api.core.nodes import Node, PriorityClass, RuntimeClass
from kohort.api.core.pods import Pod, PodTemplate
from kohort.api.gates import Gate
from kohort.api.kinds import CustomObject
from kohort.api.kueue.v1beta2 import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ProvisioningRequestConfig,
    ResourceFlavor,
    Topology,
    Workload,
    WorkloadPriorityClass,
)
from kohort.api.resource import Resource
from kohort.checks.provisioning.names import REQUESTS
from kohort.controllers.context import ManagerSettings
from kohort.jobs.registry import FrameworkRegistry
from kohort.kube.client import Client
from kohort.kube.transport import Request
from kohort.manager.errors import StartError
from kohort.webhooks.ca_targets import API_SERVICES
from kohort.webhooks.configurations import CONFIGURATIONS

KUEUE_KINDS: Final = (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Topology,
    Workload,
    WorkloadPriorityClass,
)
WATCH: Final = ("list", "watch")
REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
MAX_CONCURRENT_REVIEWS: Final = 10
MAX_NAMED: Final = 5
"""The number of missing permissions that a message names."""

WRITES: Final[Mapping[type[CustomObject], tuple[str, ...]]] = {
    Workload: ("create", "patch", "delete"),
    ClusterQueue: ("patch",),
    ResourceFlavor: ("patch",),
    AdmissionCheck: ("patch",),
    Topology: ("patch",),
}
WATCHED_KINDS: Final = (Namespace, LimitRange, RuntimeClass, PriorityClass, CustomResourceDefinition)
STATUSES: Final = (Workload, ClusterQueue, LocalQueue, Cohort, AdmissionCheck)


@dataclass(frozen=True, slots=True)
class RequiredPermission:
    """A verb on a resource, in all namespaces or in one."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""

    @classmethod
    def on(cls, resource: Resource, verb: str, subresource: str = "", namespace: str = "") -> "RequiredPermission":
        """Permission for a verb on a resource."""
        return cls(verb, resource.group, resource.plural, subresource, namespace)

    def attributes(self) -> dict[str, str]:
        """The attributes of an access review."""
        members = ("verb", "group", "resource", "subresource", "namespace")
        return {member: value for member in members if (value := getattr(self, member))}

    def __str__(self) -> str:
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        name = f"{what}.{self.group}" if self.group else what
        return f"{self.verb} {name}" + (f" in namespace {self.namespace}" if self.namespace else "")


def queue_permissions() -> Iterator[RequiredPermission]:
    """Permissions of controllers on Kueue's own kinds."""
    for kind, verbs in WRITES.items():
        yield from (RequiredPermission.on(kind.info.resource, verb) for verb in verbs)
    yield from (RequiredPermission.on(kind.info.resource, "update", "status") for kind in STATUSES)


def watch_permissions(resources: Iterable[Resource]) -> Iterator[RequiredPermission]:
    """Permissions of an informer of each resource."""
    return (RequiredPermission.on(resource, verb) for resource in resources for verb in WATCH)


def patch_permissions(resources: Iterable[Resource]) -> Iterator[RequiredPermission]:
    """Permissions to patch objects of each resource."""
    return (RequiredPermission.on(resource, "patch") for resource in resources)


def framework_permissions(registry: FrameworkRegistry) -> Iterator[RequiredPermission]:
    """Permissions of enabled job frameworks: to suspend, start and stop jobs, and to watch what these depend on."""
    yield from watch_permissions(registry.resources())
    yield from patch_permissions(registry.patched_resources())


def certificate_permissions(namespace: str) -> Iterator[RequiredPermission]:
    """Permissions for internal certificate management: to store the certificate and to inject its CA."""
    kept = ("get", "create", "update", *WATCH)
    yield from (RequiredPermission.on(Secret.resource, verb, namespace=namespace) for verb in kept)
    yield from watch_permissions((*CONFIGURATIONS.values(), API_SERVICES))


def replica_permissions() -> Iterator[RequiredPermission]:
    """Permissions of every replica: to authenticate and authorize requests, and to record events."""
    yield RequiredPermission("create", "authorization.k8s.io", "subjectaccessreviews")
    yield RequiredPermission("create", "authentication.k8s.io", "tokenreviews")
    yield RequiredPermission.on(Event.resource, "create")


def election_permissions(namespace: str) -> Iterator[RequiredPermission]:
    """Permissions of leader election."""
    return (RequiredPermission.on(Lease.resource, verb, namespace=namespace) for verb in ("get", "create", "patch"))


def declaration_permissions(namespace: str) -> Iterator[RequiredPermission]:
    """Permissions to watch the ConfigMaps that declare job frameworks."""
    return (RequiredPermission.on(ConfigMap.resource, verb, namespace=namespace) for verb in WATCH)


def provisioning_permissions() -> Iterator[RequiredPermission]:
    """Permissions of the ProvisioningRequest check: requests for nodes with their pod templates (MK-21, MK-22)."""
    yield from watch_permissions((REQUESTS, ProvisioningRequestConfig.info.resource))
    yield from (RequiredPermission.on(REQUESTS, verb) for verb in ("create", "delete"))
    yield from (RequiredPermission.on(PodTemplate.resource, verb) for verb in ("get", "create", "patch", "delete"))


def topology_permissions() -> Iterator[RequiredPermission]:
    """Permissions for topology-aware scheduling: to watch nodes, and to ungate pods and fail stuck ones (TAS-106)."""
    yield from watch_permissions(view.resource for view in (Node, Pod))
    yield from patch_permissions((Pod.resource,))
    yield RequiredPermission.on(Pod.resource, "patch", "status")


def startup_permissions(settings: ManagerSettings) -> Iterator[RequiredPermission]:
    """All permissions of a manager, except those of job frameworks."""
    configuration, namespace = settings.configuration, settings.namespace
    yield from watch_permissions(kind.info.resource for kind in KUEUE_KINDS)
    yield from watch_permissions(view.resource for view in WATCHED_KINDS)
    yield from queue_permissions()
    yield from replica_permissions()
    yield from declaration_permissions(namespace)
    yield from provisioning_permissions()
    if settings.gates.enabled(Gate.TopologyAwareScheduling):
        yield from topology_permissions()
    if configuration.internal_cert_management.enable:
        yield from certificate_permissions(namespace)
    election = configuration.leader_election
    if election.leader_elect:
        yield from election_permissions(election.resource_namespace or namespace)


async def check_permissions(client: Client, permissions: Iterable[RequiredPermission]) -> None:
    """Review every permission; raises StartError with the missing ones."""
    wanted = list(dict.fromkeys(permissions))
    semaphore = asyncio.Semaphore(MAX_CONCURRENT_REVIEWS)

    async def check(permission: RequiredPermission) -> bool:
        async with semaphore:
            return await _has(client, permission)

    results = await asyncio.gather(*map(check, wanted))
    missing = [permission for permission, allowed in zip(wanted, results, strict=True) if not allowed]
    if missing:
        raise StartError(_message(missing))


def _message(missing: Sequence[RequiredPermission]) -> str:
    named = ", ".join(map(str, missing[:MAX_NAMED]))
    more = f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
    remedy = "grant the manager's role (printed by `kohort install`) or use another user"
    return f"missing permissions: {named}{more}: {remedy}"


async def _has(client: Client, permission: RequiredPermission) -> bool:
    spec = {"resourceAttributes": permission.attributes()}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {}, "spec": spec}
    request = Request("POST", REVIEWS, headers={"Content-Type": "application/json"}, body=encode(review))
    answer: Any = decode_json(await client.call(request, idempotent=True))
    return bool(answer.get("status", {}).get("allowed"))
