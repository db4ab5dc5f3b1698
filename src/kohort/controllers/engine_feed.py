"""Feeds objects into the engine, in every replica, so that a new leader is up to date.

Own writes of Workloads reach the engine with their response, so that it never decides on older state than its own
controllers.
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
from kohort.engine.events import EngineEvent, EngineObject, ObjectDeleted, ObjectUpserted
from kohort.engine.lifecycle.conditions import is_finished
from kohort.kube.clock import Clock
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.notifying_store import EventHandler

FED_KINDS: tuple[type[Any], ...] = (
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
"""Kinds besides Workload that decisions depend on; the engine accepts them in any order."""


class EngineFeed:
    """Applies watch events to the engine and notifies subscribers."""

    def __init__(
        self, engine: Engine, informers: SharedInformerFactory, known: WorkloadAssumeCache, clock: Clock
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._listeners: list[Callable[[], None]] = []
        self._local_queues = informers.of(LocalQueue)
        self._cluster_queues = informers.of(ClusterQueue)
        self._informers: list[Informer[Any]] = [informers.of(Workload), *(informers.of(kind) for kind in FED_KINDS)]
        for kind in FED_KINDS:
            informers.of(kind).subscribe(self._handler(kind.__name__))
        known.follow(self._apply_workload)

    def add_source(self, informer: Informer[Any]) -> None:
        """Decide nothing from now on unless this informer is synced too."""
        self._informers.append(informer)

    @property
    def is_synced(self) -> bool:
        """Whether all informers are synced; decisions on stale state may be wrong."""
        return all(informer.synced for informer in self._informers)

    async def wait_synced(self) -> None:
        """Return when all informers are synced at the same time."""
        while not self.is_synced:
            for informer in tuple(self._informers):
                await informer.wait_for_sync()

    def subscribe_changes(self, listener: Callable[[], None]) -> None:
        """Call a function after each event; it must be cheap, because it is called often."""
        self._listeners.append(listener)

    def apply(self, event: EngineEvent) -> None:
        """Apply an event to the engine."""
        self._engine.apply(event, self._clock.wall())
        for listener in self._listeners:
            listener()

    def _apply_workload(self, key: ObjectKey, workload: Workload | None) -> None:
        """Apply a Workload, or its deletion if there is nothing to decide about it.

        A finished Workload may be kept for long and must not slow down status computation. One about to become a
        parent must not be admitted before it has its label (SCH-1110).
        """
        if workload is None or is_finished(workload) or self._becomes_parent(workload):
            self.apply(ObjectDeleted("Workload", ObjectKey(*key)))
        else:
            self.apply(ObjectUpserted(workload))

    def _becomes_parent(self, workload: Workload) -> bool:
        return becomes_parent(workload, self._queue_of(workload), self._engine.settings.gates)

    def _queue_of(self, workload: Workload) -> ClusterQueue | None:
        local = self._local_queues.cache.get((workload.metadata.namespace, workload.spec.queue_name or ""))
        return self._cluster_queues.cache.get(("", local.spec.cluster_queue or "")) if local else None

    def _handler(self, kind: str) -> EventHandler[Any]:
        def handle(old: EngineObject | None, new: EngineObject | None) -> None:
            if new is not None:
                self.apply(ObjectUpserted(new))
            elif old is not None:
                self.apply(ObjectDeleted(kind, ObjectKey(old.metadata.namespace, old.metadata.name)))

        return handle
