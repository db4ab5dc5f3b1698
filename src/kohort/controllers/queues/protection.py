"""ResourceFlavors, AdmissionChecks and Topologies: each stays as long as somebody names it (API-46, API-116, API-117).

One controller for all three kinds: they differ in who names them.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from kohort.api.kinds import CustomObject
from kohort.api.kueue.v1beta2 import AdmissionCheck, ClusterQueue, ResourceFlavor, Topology
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues import references
from kohort.controllers.queues.finalizers import with_finalizers
from kohort.controllers.queues.reconciler import QueueReconciler, key
from kohort.controllers.queues.status_writer import write_finalizers
from kohort.kube.controller import RequeueAfter
from kohort.kube.informer import Informer

T = TypeVar("T", bound=CustomObject)
U = TypeVar("U", bound=CustomObject)


class InUseProtection(QueueReconciler[T], Generic[T, U]):
    """Marks objects as in use, and lets go of those that were deleted and that nobody names."""

    def __init__(
        self,
        context: ControllerContext,
        guarded: Informer[T],
        users: Informer[U],
        index: str,
        named_by: Callable[[U], Iterable[str]],
    ) -> None:
        super().__init__(context, guarded, users)
        self._users = users
        self._index = index
        self._named_by = named_by

    def subscribe(self) -> None:
        """Its own events, and users that name an object no longer."""
        named: Callable[[U], Iterable[Hashable]] = self._named_by
        self._users.index(self._index, named)
        self._users.subscribe(self._user_changed)
        self.informer.subscribe(self.wake_itself)

    def _user_changed(self, old: U | None, new: U | None) -> None:
        before = set(self._named_by(old)) if old is not None else set()
        after = set(self._named_by(new)) if new is not None else set()
        self.wake(key(name) for name in sorted(before - after))

    async def keep(self, found: T, wanted: T) -> RequeueAfter | None:
        """API-40, API-42, API-46, API-116, API-117."""
        await write_finalizers(self.informer.objects, found, wanted.metadata.finalizers)
        return None

    def judge(self, found: T) -> T:
        """The object with the finalizers that it should have."""
        in_use = bool(self._users.cache.find(self._index, found.metadata.name))
        return with_finalizers(found, in_use=in_use)


def flavor_guard(context: ControllerContext) -> InUseProtection[ResourceFlavor, ClusterQueue]:
    """ResourceFlavors stay while a ClusterQueue lists them (API-116)."""
    return InUseProtection(context, context.flavors, context.cluster_queues, references.FLAVOR, references.flavors_of)


def check_guard(context: ControllerContext) -> InUseProtection[AdmissionCheck, ClusterQueue]:
    """AdmissionChecks stay while a ClusterQueue lists them; who answers one sets its Active (API-117, API-42)."""
    return InUseProtection(context, context.checks, context.cluster_queues, references.CHECK, references.checks_of)


def topology_guard(context: ControllerContext) -> InUseProtection[Topology, ResourceFlavor]:
    """Topologies stay while a flavor names them (API-46)."""
    return InUseProtection(context, context.topologies, context.flavors, references.TOPOLOGY, references.topologies_of)
