"""What the watches show, told to the engine: in every replica, so that whoever comes to lead has it warm."""

from collections.abc import Callable
from typing import Any

from kohort.api.core.namespaces import LimitRange, Namespace
from kohort.api.core.nodes import RuntimeClass
from kohort.api.kueue.v1beta2 import AdmissionCheck, ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload
from kohort.engine.engine import Engine
from kohort.engine.events import Gone, Object, Put
from kohort.engine.records import Key
from kohort.kube.clock import Clock
from kohort.kube.informer import Informers
from kohort.kube.mirror import Handler

FED: tuple[type[Any], ...] = (
    Namespace,
    RuntimeClass,
    LimitRange,
    ResourceFlavor,
    AdmissionCheck,
    Cohort,
    ClusterQueue,
    LocalQueue,
    Workload,
)
"""What decisions depend on; an engine takes it in any order."""


class Feed:
    """The way of objects into an engine, and who wants to know that something came."""

    def __init__(self, engine: Engine, informers: Informers, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._listeners: list[Callable[[], None]] = []
        self._informers = [informers.of(kind) for kind in FED]
        for kind, informer in zip(FED, self._informers, strict=True):
            informer.subscribe(self._handler(kind))

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

    def _handler(self, kind: type[Any]) -> Handler[Any]:
        name = kind.__name__

        def tell(old: Object | None, new: Object | None) -> None:
            if new is not None:
                self._engine.apply(Put(new), self._clock.wall())
            elif old is not None:
                gone = Gone(name, Key(old.metadata.namespace, old.metadata.name))
                self._engine.apply(gone, self._clock.wall())
            for listener in self._listeners:
                listener()

        return tell
