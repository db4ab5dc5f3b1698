"""Resolves names of the command line to a job with its Workloads.

A bare name is looked up among Jobs, then Workloads, then the other supported kinds; `kind/name` and `kind name…`
specify the kind. A Workload resolves to the jobs that own it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kohort.api.codec import JsonObject
from kohort.api.config.frameworks import KNOWN_FRAMEWORKS
from kohort.api.core.apps import Deployment, ReplicaSet, StatefulSet
from kohort.api.core.batch import CronJob, Job
from kohort.api.core.pods import Pod
from kohort.api.errors import ApiError
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, Workload
from kohort.api.resource import Resource
from kohort.jobs.keys import JOB_UID_LABEL, POD_GROUP_NAME
from kohort.jobs.objects import labels, uid
from kohort.kube.errors import StatusError
from kohort.kube.options import ListScope
from kohort.terminal.nearest import did_you_mean

if TYPE_CHECKING:
    from kohort.kube.client import Client

LOCAL_QUEUE: Final = LocalQueue.info.resource
CLUSTER_QUEUE: Final = ClusterQueue.info.resource
WORKLOAD: Final = Workload.info.resource
QUEUED: Final = (Job.resource, WORKLOAD, Deployment.resource, StatefulSet.resource, Pod.resource)
"""Kinds of a bare name, in this order."""
JOB_KINDS: Final = {
    name: resource
    for resource in (each.resource for each in KNOWN_FRAMEWORKS.values())
    for name in (resource.kind.lower(), resource.plural)
}
KINDS: Final = {
    **JOB_KINDS,
    "workload": WORKLOAD,
    "workloads": WORKLOAD,
    "kwl": WORKLOAD,
    "wl": WORKLOAD,
    "po": Pod.resource,
    "deploy": Deployment.resource,
    "sts": StatefulSet.resource,
    "rs": ReplicaSet.resource,
    "cj": CronJob.resource,
    "queue": LOCAL_QUEUE,
    "localqueue": LOCAL_QUEUE,
    "lq": LOCAL_QUEUE,
    "clusterqueue": CLUSTER_QUEUE,
    "cq": CLUSTER_QUEUE,
}


class TargetError(ApiError):
    """A name that cannot be resolved."""


@dataclass(frozen=True, slots=True)
class TargetReference:
    """A name, and the kind if specified."""

    name: str
    resource: Resource | None = None

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.name}" if self.resource else self.name


@dataclass(frozen=True, slots=True)
class TargetObject:
    """One object."""

    resource: Resource
    obj: JsonObject

    @property
    def name(self) -> str:
        """The name of the object."""
        return str(self.obj["metadata"]["name"])

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name of the object."""
        return str(self.obj["metadata"].get("namespace", "")), self.name

    def __str__(self) -> str:
        return shown(self.resource, self.name)


@dataclass(frozen=True, slots=True)
class CommandTarget:
    """A resolved name: the job and its Workloads."""

    members: tuple[TargetObject, ...]
    """The job; all pods of a pod group; the Workload itself if it has no owner."""
    workloads: tuple[Workload, ...]
    """Its Workloads, newest last."""

    @property
    def job(self) -> TargetObject:
        """The first member."""
        return self.members[0]

    @property
    def workload(self) -> Workload | None:
        """The newest Workload."""
        return self.workloads[-1] if self.workloads else None

    @property
    def namespace(self) -> str:
        """The namespace of the job."""
        return self.job.key[0]


def shown(resource: Resource, name: str) -> str:
    """The name of an object as in kubectl: `job.batch/train`."""
    kind = resource.kind.lower()
    return f"{kind}.{resource.group}/{name}" if resource.group else f"{kind}/{name}"


def references(words: Sequence[str]) -> list[TargetReference]:
    """Parse `train`, `job/train`, or a kind followed by names; raises TargetError."""
    if len(words) > 1 and "/" not in words[0] and words[0].lower() in KINDS:
        resource = KINDS[words[0].lower()]
        return [TargetReference(word, resource) for word in words[1:]]
    return [_reference(word) for word in words]


def _reference(word: str) -> TargetReference:
    kind, slash, name = word.partition("/")
    if not slash:
        return TargetReference(word)
    resource = KINDS.get(kind.lower().partition(".")[0])
    if resource is None or not name:
        raise TargetError(f"{word!r}: unknown kind {kind!r}: {did_you_mean(kind, _singular_kinds())}")
    return TargetReference(name, resource)


def _singular_kinds() -> set[str]:
    return {resource.kind.lower() for resource in KINDS.values()}


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks up objects of one namespace."""

    client: "Client"
    namespace: str

    async def find(self, reference: TargetReference) -> CommandTarget:
        """Resolve a reference; raises TargetError."""
        if reference.resource in (LOCAL_QUEUE, CLUSTER_QUEUE):
            raise TargetError(f"{reference} is a queue, not a job: specify a Job or its Workload")
        for resource in (reference.resource,) if reference.resource else QUEUED:
            found = await self.object(resource, reference.name)
            if found is not None:
                return await self._target(TargetObject(resource, found))
        raise TargetError(await self._unknown(reference))

    async def object(self, resource: Resource, name: str) -> JsonObject | None:
        """An object; None if it does not exist."""
        namespace = self.namespace if resource.namespaced else ""
        try:
            return await self.client.of(resource).get((namespace, name))
        except StatusError as error:
            if error.is_not_found and error.details.get("name"):
                return None
            raise

    async def names(self, resource: Resource) -> list[str]:
        """The names of all objects of a kind."""
        scope = ListScope(self.namespace if resource.namespaced else "")
        return [str(each["metadata"]["name"]) for each in (await self.client.of(resource).list(scope)).items]

    async def expect(self, resource: Resource, name: str) -> JsonObject:
        """An existing object; raises TargetError with a similar name."""
        found = await self.object(resource, name)
        if found is None:
            raise TargetError(self._missing(TargetReference(name, resource), await self.names(resource)))
        return found

    async def workloads_of(self, job: TargetObject) -> tuple[Workload, ...]:
        """The Workloads of a job, newest last: by label, else by owner."""
        workloads = self.client.of(Workload)
        marked = await workloads.list(ListScope(self.namespace, labels=f"{JOB_UID_LABEL}={uid(job.obj)}"))
        found: Iterable[Workload] = marked.items
        if not marked.items:
            listed = await workloads.list(ListScope(self.namespace))
            found = (each for each in listed.items if _owns(job, each))
        return tuple(sorted(found, key=_by_creation))

    async def _target(self, found: TargetObject) -> CommandTarget:
        if found.resource == WORKLOAD:
            return await self._of_workload(found)
        group = labels(found.obj).get(POD_GROUP_NAME)
        if found.resource == Pod.resource and group:
            return await self._of_group(group, found)
        return CommandTarget((found,), await self.workloads_of(found))

    async def _of_workload(self, found: TargetObject) -> CommandTarget:
        from kohort.kube.rest_mapper import RestMapper

        workload = await self.client.of(Workload).get(found.key)
        mapping = RestMapper(self.client)
        members = list[TargetObject]()
        for owner in workload.metadata.owner_references:
            resource = await mapping.resource(owner.api_version, owner.kind)
            obj = await self.object(resource, owner.name)
            if obj is not None:
                members.append(TargetObject(resource, obj))
        return CommandTarget(tuple(members) or (found,), (workload,))

    async def _of_group(self, group: str, pod: TargetObject) -> CommandTarget:
        """The pods of a group, and the Workload with the group's name."""
        scope = ListScope(self.namespace, labels=f"{POD_GROUP_NAME}={group}")
        pods = (await self.client.of(Pod.resource).list(scope)).items
        members = tuple(TargetObject(Pod.resource, each) for each in pods) or (pod,)
        workload = await self.object(WORKLOAD, group)
        found = () if workload is None else (await self.client.of(Workload).get((self.namespace, group)),)
        return CommandTarget(members, found)

    async def _unknown(self, reference: TargetReference) -> str:
        resources = (reference.resource,) if reference.resource else (Job.resource, WORKLOAD)
        return self._missing(reference, [name for each in resources for name in await self.names(each)])

    def _missing(self, reference: TargetReference, known: Sequence[str]) -> str:
        kind = reference.resource.kind if reference.resource else "Job or Workload"
        is_namespaced = reference.resource is None or reference.resource.namespaced
        where = f" in namespace {self.namespace}" if is_namespaced else ""
        hint = did_you_mean(reference.name, known)
        return f"{kind} {reference.name!r} not found{where}: {hint}"


def owner_of(pod: JsonObject) -> str:
    """Kind and name of the controller of a pod, e.g. `Job train`; empty if it has none."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((f"{each['kind']} {each['name']}" for each in owners if each.get("controller")), "")


def _owns(job: TargetObject, workload: Workload) -> bool:
    return any(owner.uid == uid(job.obj) for owner in workload.metadata.owner_references)


def _by_creation(workload: Workload) -> tuple[Any, str]:
    return workload.metadata.creation_timestamp, workload.metadata.name
