"""What happened since the last look, and whom of those that rest it may help: nobody else is woken."""

from kohort.embedded.scheduler.cache import SchedulerCache
from kohort.embedded.scheduler.diagnosis import NO_CAUSE, UnschedulableCause
from kohort.embedded.scheduler.filters import refused_by_kind, refused_by_load
from kohort.embedded.scheduler.requirements import PodRequirements
from kohort.embedded.scheduler.scheduling_queue import SchedulingQueue

_ON_NODES = UnschedulableCause.NODE | UnschedulableCause.RESOURCES


class ClusterEvents:
    """Gathers events and hands them to the queue at once."""

    def __init__(self, cluster: SchedulerCache, queue: SchedulingQueue) -> None:
        self._cluster = cluster
        self._queue = queue
        self._nodes: dict[str, None] = {}
        self._causes = NO_CAUSE

    def node(self, name: str) -> None:
        """A node came, changed, or has more room."""
        self._nodes[name] = None

    def everywhere(self, cause: UnschedulableCause) -> None:
        """Something changed that is not one node's affair."""
        self._causes |= cause

    def wake(self, now: float) -> None:
        """Let those try again whom it may help."""
        names, causes = self._nodes, self._causes
        self._nodes, self._causes = {}, NO_CAUSE
        if causes:
            for demand in self._queue.resting(causes):
                self._queue.wake(demand, now)
        if names:
            for demand in self._queue.resting(_ON_NODES):
                if any(self._takes(name, demand) for name in names):
                    self._queue.wake(demand, now)
            for uid in [uid for name in names for uid in self._nominated(name)]:
                self._queue.wake_pod(uid, now)

    def _takes(self, name: str, demand: PodRequirements) -> bool:
        node = self._cluster.nodes.get(name)
        return node is not None and not refused_by_kind(demand, node) and not refused_by_load(demand, node)

    def _nominated(self, name: str) -> list[str]:
        node = self._cluster.nodes.get(name)
        return list(node.nominated) if node is not None else []
