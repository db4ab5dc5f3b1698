"""What the manager must be allowed to do, asked before it starts.

Without this a missing right shows as a cache that never becomes live, or as a write that fails for ever.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kohort.api.codec import decode_json, encode
from kohort.api.config.v1beta2 import Configuration
from kohort.api.core.config_objects import Secret
from kohort.api.core.events import Event
from kohort.api.core.leases import Lease
from kohort.api.core.namespaces import LimitRange, Namespace
from kohort.api.core.nodes import PriorityClass, RuntimeClass
from kohort.api.kinds import CustomObject
from kohort.api.kueue.v1beta2 import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Topology,
    Workload,
    WorkloadPriorityClass,
)
from kohort.api.resource import Resource
from kohort.kube.client import Client
from kohort.kube.transport import Request
from kohort.manager.errors import StartError
from kohort.webhooks.ca_targets import API_SERVICES, DEFINITIONS
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
FOLLOW: Final = ("list", "watch")
REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
AT_ONCE: Final = 10
TOLD: Final = 5
"""How many missing rights a message names."""

WRITES: Final[Mapping[type[CustomObject], tuple[str, ...]]] = {
    Workload: ("create", "patch", "delete"),
    ClusterQueue: ("patch",),
    ResourceFlavor: ("patch",),
    AdmissionCheck: ("patch",),
    Topology: ("patch",),
}
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
        """The right to a verb on a kind."""
        return cls(verb, resource.group, resource.plural, subresource, namespace)

    def attributes(self) -> dict[str, str]:
        """As a review asks for it."""
        members = ("verb", "group", "resource", "subresource", "namespace")
        return {member: value for member in members if (value := getattr(self, member))}

    def __str__(self) -> str:
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        name = f"{what}.{self.group}" if self.group else what
        return f"{self.verb} {name}" + (f" in namespace {self.namespace}" if self.namespace else "")


def rights_on_queues() -> Iterator[RequiredPermission]:
    """What controllers do with Kueue's own kinds."""
    for kind, verbs in WRITES.items():
        yield from (RequiredPermission.on(kind.info.resource, verb) for verb in verbs)
    yield from (RequiredPermission.on(kind.info.resource, "update", "status") for kind in STATUSES)


def rights_to_follow(resources: Iterable[Resource]) -> Iterator[RequiredPermission]:
    """What a cache of each kind needs."""
    return (RequiredPermission.on(resource, verb) for resource in resources for verb in FOLLOW)


def rights_to_change(resources: Iterable[Resource]) -> Iterator[RequiredPermission]:
    """What job frameworks need: to suspend, start and stop jobs of their kinds."""
    return (RequiredPermission.on(resource, "patch") for resource in resources)


def rights_on_certificates(namespace: str) -> Iterator[RequiredPermission]:
    """What a replica needs that makes its certificate itself: to keep it, and to tell of it."""
    kept = ("get", "create", "update", *FOLLOW)
    yield from (RequiredPermission.on(Secret.resource, verb, namespace=namespace) for verb in kept)
    yield from rights_to_follow((*CONFIGURATIONS.values(), DEFINITIONS, API_SERVICES))


def rights_of_a_replica() -> Iterator[RequiredPermission]:
    """What every replica needs besides: to review those who ask its servers, and to tell what happens."""
    yield RequiredPermission("create", "authorization.k8s.io", "subjectaccessreviews")
    yield RequiredPermission("create", "authentication.k8s.io", "tokenreviews")
    yield RequiredPermission.on(Event.resource, "create")


def rights_to_lead(namespace: str) -> Iterator[RequiredPermission]:
    """What leader election needs."""
    return (RequiredPermission.on(Lease.resource, verb, namespace=namespace) for verb in ("get", "create", "patch"))


def rights_at_start(configuration: Configuration, namespace: str) -> Iterator[RequiredPermission]:
    """Everything that a manager needs under a Configuration, without the kinds of its job frameworks."""
    yield from rights_to_follow(kind.info.resource for kind in KUEUE_KINDS)
    yield from rights_to_follow(view.resource for view in (Namespace, LimitRange, RuntimeClass, PriorityClass))
    yield from rights_on_queues()
    yield from rights_of_a_replica()
    if configuration.internal_cert_management.enable:
        yield from rights_on_certificates(namespace)
    election = configuration.leader_election
    if election.leader_elect:
        yield from rights_to_lead(election.resource_namespace or namespace)


async def check_permissions(client: Client, rights: Iterable[RequiredPermission]) -> None:
    """Ask for every right; raises StartError that names those that are missing."""
    wanted = list(dict.fromkeys(rights))
    at_once = asyncio.Semaphore(AT_ONCE)

    async def ask(right: RequiredPermission) -> bool:
        async with at_once:
            return await _has(client, right)

    answers = await asyncio.gather(*map(ask, wanted))
    missing = [right for right, allowed in zip(wanted, answers, strict=True) if not allowed]
    if missing:
        raise StartError(_told(missing))


def _told(missing: Sequence[RequiredPermission]) -> str:
    named = ", ".join(map(str, missing[:TOLD]))
    more = f" and {len(missing) - TOLD} more" if len(missing) > TOLD else ""
    return (
        f"this user may not {named}{more}: grant it the manager's role (kohort install prints it), or use another user"
    )


async def _has(client: Client, right: RequiredPermission) -> bool:
    spec = {"resourceAttributes": right.attributes()}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {}, "spec": spec}
    request = Request("POST", REVIEWS, headers={"Content-Type": "application/json"}, body=encode(review))
    answer: Any = decode_json(await client.call(request, idempotent=True))
    return bool(answer.get("status", {}).get("allowed"))
