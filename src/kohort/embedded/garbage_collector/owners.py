"""Whether an owner is really there: found at the place that a reference names, with the uid that it names.

Caches are not asked. That an owner is gone is remembered for a while, since its dependents ask one after the other.
"""

from collections import OrderedDict

from kohort.api.meta import OwnerReference
from kohort.api.resource import Resource
from kohort.embedded.garbage_collector.gc_decisions import OwnerRefState, OwnerState
from kohort.embedded.garbage_collector.metadata_client import MetadataClient, ObjectLocation
from kohort.embedded.garbage_collector.monitors import Monitors

REMEMBERED = 1024


class OwnerError(Exception):
    """A reference of which nothing can be said."""

    def __init__(self, reference: OwnerReference, why: str) -> None:
        super().__init__(why)
        self.reference = reference


class UnknownOwnerError(OwnerError):
    """Nobody serves the owner's kind now; its definition may come back."""


class MisplacedOwnerError(OwnerError):
    """A cluster-scoped object names a namespaced owner, which no place belongs to."""


class Owners:
    """Looks owners up."""

    def __init__(self, partials: MetadataClient, monitors: Monitors) -> None:
        self._partials = partials
        self._monitors = monitors
        self._absent: OrderedDict[tuple[ObjectLocation, str], None] = OrderedDict()

    async def classify(self, child: ObjectLocation, reference: OwnerReference) -> OwnerRefState:
        """What a child's reference is worth; raises OwnerError where nobody can tell."""
        return OwnerRefState(reference, await self._hold(self.place(child, reference), reference.uid))

    def place(self, child: ObjectLocation, reference: OwnerReference) -> ObjectLocation:
        """Where the owner has to be: in the child's namespace, or in none."""
        resource = self._resource(reference)
        if not resource.namespaced:
            return ObjectLocation(resource, "", reference.name)
        if not child.namespace:
            why = f"{child} is in no namespace and can't be owned by a {resource.kind}, which is in one"
            raise MisplacedOwnerError(reference, why)
        return ObjectLocation(resource, child.namespace, reference.name)

    def _resource(self, reference: OwnerReference) -> Resource:
        resource = self._monitors.surface.by_kind.get((reference.api_version, reference.kind))
        if resource is None:
            raise UnknownOwnerError(reference, f"nobody serves {reference.kind} in {reference.api_version}")
        return resource

    async def _hold(self, place: ObjectLocation, uid: str) -> OwnerState:
        if (place, uid) in self._absent:
            return OwnerState.DANGLING
        live = await self._partials.get(place)
        if live is None or live.uid != uid:
            self._remember(place, uid)
            return OwnerState.DANGLING
        return OwnerState.WAITING if live.is_waiting else OwnerState.SOLID

    def _remember(self, place: ObjectLocation, uid: str) -> None:
        """For good: a uid never comes back, and what is here now has another one."""
        self._absent[place, uid] = None
        if len(self._absent) > REMEMBERED:
            self._absent.popitem(last=False)
