"""Collects cluster events between two cycles and reactivates only the unschedulable pods they may help."""

from kohort.embedded.scheduler.cache import SchedulerCache
from kohort.embedded.scheduler.diagnosis import NO_CAUSE, UnschedulableCause
from kohort.embedded.scheduler.filters import filter_by_spec, filter_by_usage
from kohort.embedded.scheduler.requirements import PodRequirements
from kohort.embedded.scheduler.scheduling_queue import SchedulingQueue

_ON_NODES = UnschedulableCause.NODE | UnschedulableCause.RESOURCES


class ClusterEvents:
    """Collects cluster events and passes them to the scheduling queue."""

    def __init__(self, cache: SchedulerCache, queue: SchedulingQueue) -> None:
        self._cache = cache
        self._queue = queue
        self._nodes: dict[str, None] = {}
        self._causes = NO_CAUSE

    def node(self, name: str) -> None:
        """Records that a node was added, changed or has more free capacity."""
        self._nodes[name] = None

    def any_node(self, cause: UnschedulableCause) -> None:
        """Records a change that is not limited to one node."""
        self._causes |= cause

    def reactivate(self, now: float) -> None:
        """Reactivates the pods that the collected events may help."""
        names, causes = self._nodes, self._causes
        self._nodes, self._causes = {}, NO_CAUSE
        if causes:
            for requirements in self._queue.unschedulable_requirements(causes):
                self._queue.reactivate(requirements, now)
        if names:
            for requirements in self._queue.unschedulable_requirements(_ON_NODES):
                if any(self._takes(name, requirements) for name in names):
                    self._queue.reactivate(requirements, now)
            for uid in [uid for name in names for uid in self._nominated(name)]:
                self._queue.reactivate_pod(uid, now)

    def _takes(self, name: str, requirements: PodRequirements) -> bool:
        node = self._cache.nodes.get(name)
        return node is not None and not filter_by_spec(requirements, node) and not filter_by_usage(requirements, node)

    def _nominated(self, name: str) -> list[str]:
        node = self._cache.nodes.get(name)
        return list(node.nominated) if node is not None else []
