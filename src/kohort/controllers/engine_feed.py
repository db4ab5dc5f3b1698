"""What is known, told to the engine: in every replica, so that whoever comes to lead has it warm.

Of Workloads the engine knows what we wrote ourselves as soon as that is answered, so that it never decides on less than
its own controllers know.
"""

from collections.abc import Callable
from typing import Any

from kohort.api.core.namespaces import LimitRange, Namespace
from kohort.api.core.nodes import RuntimeClass
from kohort.api.kueue.v1beta2 import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Topology,
    Workload,
)
from kohort.api.meta import ObjectKey
from kohort.controllers.workloads.assume_cache import WorkloadAssumeCache
from kohort.controllers.workloads.variants import becomes_parent
from kohort.engine.engine import Engine
from kohort.engine.events import EngineObject, Event, ObjectDeleted, ObjectUpserted
from kohort.engine.lifecycle.conditions import is_finished
from kohort.kube.clock import Clock
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.notifying_store import Handler

FED: tuple[type[Any], ...] = (
    Namespace,
    RuntimeClass,
    LimitRange,
    ResourceFlavor,
    AdmissionCheck,
    Topology,
    Cohort,
    ClusterQueue,
    LocalQueue,
)
"""What decisions depend on besides Workloads; an engine takes it in any order."""


class EngineFeed:
    """The way of objects into an engine, and who wants to know that something came."""

    def __init__(
        self, engine: Engine, informers: SharedInformerFactory, known: WorkloadAssumeCache, clock: Clock
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._listeners: list[Callable[[], None]] = []
        self._local_queues = informers.of(LocalQueue)
        self._cluster_queues = informers.of(ClusterQueue)
        self._informers = [informers.of(Workload), *(informers.of(kind) for kind in FED)]
        for kind in FED:
            informers.of(kind).subscribe(self._handler(kind.__name__))
        known.follow(self._take_workload)

    @property
    def is_live(self) -> bool:
        """Whether the engine knows the server as it is now; decisions on anything less may be wrong."""
        return all(informer.synced for informer in self._informers)

    async def wait_live(self) -> None:
        """Return when all watches are open at once."""
        while not self.is_live:
            for informer in self._informers:
                await informer.wait_live()

    def listen(self, listener: Callable[[], None]) -> None:
        """Have a function called whenever the engine was told something; quick, since it is called often."""
        self._listeners.append(listener)

    def tell(self, event: Event) -> None:
        """Let the engine know of something."""
        self._engine.apply(event, self._clock.wall())
        for listener in self._listeners:
            listener()

    def _take_workload(self, key: ObjectKey, workload: Workload | None) -> None:
        """Tell of a Workload, unless there is nothing to decide about it any more, or yet.

        One that has finished may be kept for long, and figures must not cost more for all that was. One that is about
        to become a parent must not be admitted before it says so (SCH-1110).
        """
        if workload is None or is_finished(workload) or self._becomes_parent(workload):
            self.tell(ObjectDeleted("Workload", ObjectKey(*key)))
        else:
            self.tell(ObjectUpserted(workload))

    def _becomes_parent(self, workload: Workload) -> bool:
        return becomes_parent(workload, self._queue_of(workload), self._engine.settings.gates)

    def _queue_of(self, workload: Workload) -> ClusterQueue | None:
        local = self._local_queues.cache.get((workload.metadata.namespace, workload.spec.queue_name or ""))
        return self._cluster_queues.cache.get(("", local.spec.cluster_queue or "")) if local else None

    def _handler(self, kind: str) -> Handler[Any]:
        def tell(old: EngineObject | None, new: EngineObject | None) -> None:
            if new is not None:
                self.tell(ObjectUpserted(new))
            elif old is not None:
                self.tell(ObjectDeleted(kind, ObjectKey(old.metadata.namespace, old.metadata.name)))

        return tell
