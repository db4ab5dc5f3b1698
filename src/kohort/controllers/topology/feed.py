"""Feeds nodes, and the usage of pods that are not TAS pods, into the engine (TAS-19, TAS-20, TAS-24, TAS-27, TAS-28).

Nodes and pods are watched once the first flavor names a topology: without one they cost nothing. From then on nothing
is decided unless both are synced, because an unknown pod may use the capacity that a decision counts on. What takes
capacity is applied immediately. What adds some is collected for a second, because each application makes the engine
try inadmissible workloads again, and a new host makes it build its trees anew.
"""

import logging
from collections.abc import Callable
from typing import Final

from kohort.api.core.nodes import Node
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2 import ResourceFlavor
from kohort.api.meta import ObjectKey
from kohort.controllers.engine_feed import EngineFeed
from kohort.controllers.topology.node_usage import NO_CHANGE, NodeUsageTotals
from kohort.controllers.topology.nodes import NODES, is_same, is_usable
from kohort.controllers.topology.pods import PODS, SCOPE, PodRecord
from kohort.engine.events import NodeUsageChanged, ObjectDeleted, ObjectUpserted
from kohort.engine.topology.nodes import invalid_quantities
from kohort.kube.clock import Clock
from kohort.kube.controller import Controller
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

ADDED: Final = "added-capacity"
ADDED_BATCH_SECONDS: Final = 1.0
"""Seconds for which capacity of new nodes, and what pods have left, is collected (TAS-24, TAS-28)."""


class TopologyInformers:
    """The informers of nodes and pods."""

    def __init__(self, informers: SharedInformerFactory) -> None:
        self.nodes: Informer[Node] = informers.of(NODES)
        self.pods: Informer[PodRecord] = informers.of(PODS, SCOPE)


class TopologyFeed:
    """Starts the informers of nodes and pods when they are needed, and applies their changes to the engine."""

    def __init__(self, feed: EngineFeed, informers: SharedInformerFactory, clock: Clock, gates: FeatureGates) -> None:
        self._feed = feed
        self._factory = informers
        self._informers: TopologyInformers | None = None
        self._waiting: list[Callable[[TopologyInformers], None]] = []
        self._usage = NodeUsageTotals()
        self._freed: set[str] = set()
        """Nodes with freed capacity of which the engine has no event yet."""
        self._added: dict[str, Node] = {}
        """Nodes that became usable, of which the engine has no event yet."""
        self._queue: WorkQueue[str] = WorkQueue(clock, ADDED)
        self._controller = Controller(ADDED, self._queue, self._apply_added, clock)
        if gates.enabled(Gate.TopologyAwareScheduling):
            informers.of(ResourceFlavor).subscribe(self._flavor_changed)

    def when_started(self, use: Callable[[TopologyInformers], None]) -> None:
        """Call a function with the informers, now or when they are started."""
        if self._informers is None:
            self._waiting.append(use)
        else:
            use(self._informers)

    async def stop(self) -> None:
        """Apply no more changes of usage."""
        await self._controller.stop()

    def _flavor_changed(self, _old: ResourceFlavor | None, new: ResourceFlavor | None) -> None:
        if self._informers is None and new is not None and new.spec.topology_name:
            self._start()

    def _start(self) -> None:
        started = self._informers = TopologyInformers(self._factory)
        self._feed.add_source(started.nodes)
        self._feed.add_source(started.pods)
        started.nodes.subscribe(self._node_changed)
        started.pods.subscribe(self._pod_changed)
        self._controller.start()
        for use in self._waiting:
            use(started)
        self._waiting.clear()

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        """TAS-20: a heartbeat is no event for the engine."""
        if new is None:
            if old is not None:
                self._added.pop(old.metadata.name, None)
                self._feed.apply(ObjectDeleted("Node", ObjectKey("", old.metadata.name)))
        elif old is None or not is_same(old, new):
            for resource, problem in invalid_quantities(new).items():
                log.warning("node %s: status.allocatable.%s counts as none: %s", new.metadata.name, resource, problem)
            self._put_node(old, new)

    def _put_node(self, old: Node | None, new: Node) -> None:
        """Apply a node, immediately unless it is one more than the engine has; a first list is applied as it is."""
        name = new.metadata.name
        was_usable = old is not None and is_usable(old) and name not in self._added
        if was_usable or not is_usable(new) or self._informers is None or not self._informers.nodes.synced:
            self._added.pop(name, None)
            self._feed.apply(ObjectUpserted(new))
        else:
            self._added[name] = new
            self._queue.add_after(ADDED, ADDED_BATCH_SECONDS)

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        if new is not None:
            changed = self._usage.put(new)
        else:
            changed = self._usage.remove(old.identity.key) if old is not None else NO_CHANGE
        self._freed |= changed.shrunk
        if changed.shrunk:
            self._queue.add_after(ADDED, ADDED_BATCH_SECONDS)
        for node in changed.grown:
            self._apply(node)

    def _apply(self, node: str) -> None:
        """Apply the usage of a node; immediately if it grew, so that no decision counts on used capacity."""
        self._freed.discard(node)
        self._feed.apply(NodeUsageChanged(node, self._usage.of(node)))

    async def _apply_added(self, _key: str) -> None:
        added, self._added = self._added, {}
        for node in added.values():
            self._feed.apply(ObjectUpserted(node))
        for name in sorted(self._freed):
            self._apply(name)
