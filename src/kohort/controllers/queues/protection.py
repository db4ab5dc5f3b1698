"""In-use protection of ResourceFlavors, AdmissionChecks and Topologies by a finalizer (API-46, API-116, API-117).

One controller class for all three kinds: they differ in what references them.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from kohort.api.kinds import CustomObject
from kohort.api.kueue.v1beta2 import AdmissionCheck, ClusterQueue, ResourceFlavor, Topology
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues import references
from kohort.controllers.queues.reconciler import QueueReconciler, object_key
from kohort.controllers.queues.status_writer import with_finalizers, write_finalizers
from kohort.kube.controller import RequeueAfter
from kohort.kube.informer import Informer

T = TypeVar("T", bound=CustomObject)
U = TypeVar("U", bound=CustomObject)


class InUseProtection(QueueReconciler[T], Generic[T, U]):
    """Sets the in-use finalizer, and removes it from deleted objects that are not referenced."""

    def __init__(
        self,
        context: ControllerContext,
        protected: Informer[T],
        users: Informer[U],
        index: str,
        references_of: Callable[[U], Iterable[str]],
    ) -> None:
        super().__init__(context, protected, users)
        self._users = users
        self._index = index
        self._references_of = references_of

    def subscribe(self) -> None:
        """Subscribe to the objects, and to referrers that drop a reference."""
        named: Callable[[U], Iterable[Hashable]] = self._references_of
        self._users.index(self._index, named)
        self._users.subscribe(self._user_changed)
        self.informer.subscribe(self.enqueue_changed)

    def _user_changed(self, old: U | None, new: U | None) -> None:
        before = set(self._references_of(old)) if old is not None else set()
        after = set(self._references_of(new)) if new is not None else set()
        self.enqueue(object_key(name) for name in sorted(before - after))

    async def write(self, found: T, wanted: T) -> RequeueAfter | None:
        """API-40, API-42, API-46, API-116, API-117."""
        await write_finalizers(self.informer.objects, found, wanted.metadata.finalizers)
        return None

    def desired(self, found: T) -> T:
        """The object with its desired finalizers."""
        in_use = bool(self._users.cache.find(self._index, found.metadata.name))
        return with_finalizers(found, in_use=in_use)


def flavor_protection(context: ControllerContext) -> InUseProtection[ResourceFlavor, ClusterQueue]:
    """Protects ResourceFlavors that a ClusterQueue lists (API-116)."""
    return InUseProtection(context, context.flavors, context.cluster_queues, references.FLAVOR, references.flavors_of)


def check_protection(context: ControllerContext) -> InUseProtection[AdmissionCheck, ClusterQueue]:
    """Protects AdmissionChecks that a ClusterQueue lists; their controllers set Active (API-117, API-42)."""
    return InUseProtection(context, context.checks, context.cluster_queues, references.CHECK, references.checks_of)


def topology_protection(context: ControllerContext) -> InUseProtection[Topology, ResourceFlavor]:
    """Protects Topologies that a flavor references (API-46, TAS-3)."""
    return InUseProtection(context, context.topologies, context.flavors, references.TOPOLOGY, references.topologies_of)
