"""Resolves owner references by live reads: location, kind and UID must match.

Caches are not used. Missing owners are remembered for a while, since dependents are processed one after the other.
"""

from collections import OrderedDict

from kohort.api.meta import OwnerReference
from kohort.api.resource import Resource
from kohort.embedded.garbage_collector.gc_decisions import OwnerRefState, OwnerState
from kohort.embedded.garbage_collector.metadata_client import MetadataClient, ObjectLocation
from kohort.embedded.garbage_collector.monitors import Monitors

REMEMBERED = 1024


class OwnerError(Exception):
    """The state of an owner cannot be determined."""

    def __init__(self, reference: OwnerReference, why: str) -> None:
        super().__init__(why)
        self.reference = reference


class UnknownOwnerError(OwnerError):
    """The owner's kind is not served; its definition may return."""


class MisplacedOwnerError(OwnerError):
    """A cluster-scoped object refers to a namespaced owner."""


class Owners:
    """Resolves owners."""

    def __init__(self, metadata_client: MetadataClient, monitors: Monitors) -> None:
        self._metadata_client = metadata_client
        self._monitors = monitors
        self._absent: OrderedDict[tuple[ObjectLocation, str], None] = OrderedDict()

    async def classify(self, child: ObjectLocation, reference: OwnerReference) -> OwnerRefState:
        """The state of a reference's owner; raises OwnerError if it cannot be determined."""
        return OwnerRefState(reference, await self._owner_state(self.location(child, reference), reference.uid))

    def location(self, child: ObjectLocation, reference: OwnerReference) -> ObjectLocation:
        """The location of the owner: in the child's namespace, or cluster-scoped."""
        resource = self._resource(reference)
        if not resource.namespaced:
            return ObjectLocation(resource, "", reference.name)
        if not child.namespace:
            why = f"{child} is in no namespace and can't be owned by a {resource.kind}, which is in one"
            raise MisplacedOwnerError(reference, why)
        return ObjectLocation(resource, child.namespace, reference.name)

    def _resource(self, reference: OwnerReference) -> Resource:
        resource = self._monitors.discovered.by_kind.get((reference.api_version, reference.kind))
        if resource is None:
            raise UnknownOwnerError(reference, f"no served resource for {reference.kind} in {reference.api_version}")
        return resource

    async def _owner_state(self, location: ObjectLocation, uid: str) -> OwnerState:
        if (location, uid) in self._absent:
            return OwnerState.DANGLING
        live = await self._metadata_client.get(location)
        if live is None or live.uid != uid:
            self._remember(location, uid)
            return OwnerState.DANGLING
        return OwnerState.WAITING if live.is_waiting else OwnerState.SOLID

    def _remember(self, location: ObjectLocation, uid: str) -> None:
        """Permanently valid: a UID is never reused."""
        self._absent[location, uid] = None
        if len(self._absent) > REMEMBERED:
            self._absent.popitem(last=False)
