"""Nodes and the pods on them, kept up with each change: what placing looks at.

Every change of a node is written to a short log, so that whoever keeps something about nodes looks again only at those
that changed since.
"""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from kohort.api.amounts import to_amount
from kohort.api.meta import ObjectKey, Taint
from kohort.embedded.scheduler.pod_counts import AssignedPod, PodCountsByNode
from kohort.embedded.scheduler.requirements import HostPort, PodRequirements
from kohort.embedded.scheduler.terms import Labels
from kohort.embedded.scheduler.views import SchedulerNode

LOGGED: Final = 8192
PODS: Final = "pods"


@dataclass(frozen=True, slots=True, eq=False)
class PodInfo:
    """A pod, as far as placing looks at it."""

    uid: str
    key: ObjectKey
    labels: Labels
    demand: PodRequirements
    is_leaving: bool = False
    started: float = 0.0
    """When it started to run, in seconds of the epoch; zero when it has not."""

    def counts_as(self, other: "PodInfo") -> bool:
        """Whether the other makes no difference to anybody."""
        same = self.demand is other.demand and self.is_leaving == other.is_leaving
        return same and self.labels == other.labels


class NodeInfo:
    """A node and what is on it. One that is not there yet, or any more, may still have pods."""

    __slots__ = (
        "allocatable",
        "cpu",
        "index",
        "is_present",
        "is_unschedulable",
        "labels",
        "memory",
        "name",
        "nominated",
        "pods",
        "room",
        "shape",
        "taints",
        "touched",
        "used",
        "version",
    )

    def __init__(self, name: str, index: int) -> None:
        self.name = name
        self.index = index
        self.is_present = False
        self.is_unschedulable = False
        self.labels: Labels = {}
        self.taints: tuple[Taint, ...] = ()
        self.allocatable: dict[str, int] = {}
        self.room = 0
        """How many pods it takes."""
        self.used: dict[str, int] = {}
        self.cpu = 0
        self.memory = 0
        """What pods take for scores."""
        self.pods: dict[str, PodInfo] = {}
        self.nominated: dict[str, PodInfo] = {}
        """Pods that others made room for, and that are not here yet."""
        self.version = 0
        """Grows with each change."""
        self.shape = 0
        """Another number whenever the node itself changes, not the pods on it; no two nodes ever have the same."""
        self.touched = 0
        """When a pod was last put here."""

    def take(self, pod: PodInfo) -> None:
        """Add a pod."""
        self.pods[pod.uid] = pod
        self._count(pod.demand, 1)

    def release(self, pod: PodInfo) -> None:
        """Take a pod away."""
        del self.pods[pod.uid]
        self._count(pod.demand, -1)

    def _count(self, demand: PodRequirements, sign: int) -> None:
        used = self.used
        for name, amount in demand.requests:
            used[name] = used.get(name, 0) + sign * amount
        self.cpu += sign * demand.cpu
        self.memory += sign * demand.memory

    def ports(self) -> Iterator[HostPort]:
        """The ports that pods have taken."""
        return (port for pod in self.pods.values() for port in pod.demand.ports)


class SchedulerCache:
    """All nodes and all pods that are on one."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        """Those that are there, in the order of their coming."""
        self.tallies = PodCountsByNode(self._residents)
        self.sequence = 0
        """Number of changes so far."""
        self._absent: dict[str, NodeInfo] = {}
        self._log: deque[NodeInfo] = deque(maxlen=LOGGED)
        self._places: dict[str, tuple[PodInfo, NodeInfo]] = {}
        self._nominations: dict[str, NodeInfo] = {}
        self._priorities: Counter[int] = Counter()
        self._born = 0

    # Nodes

    def put_node(self, node: SchedulerNode) -> None:
        """A node came or changed."""
        name = node.metadata.name
        record = self._record(name)
        record.is_present = True
        record.labels = node.metadata.labels
        record.taints = node.spec.taints
        record.is_unschedulable = node.spec.unschedulable
        record.allocatable = {key: to_amount(key, raw) for key, raw in node.status.allocatable.items()}
        record.room = record.allocatable.pop(PODS, 0)
        self._absent.pop(name, None)
        self.nodes[name] = record
        self._changed(record)
        record.shape = self.sequence

    def remove_node(self, name: str) -> None:
        """A node is gone; pods on it stay known until they go too."""
        record = self.nodes.pop(name, None)
        if record is None:
            return
        record.is_present = False
        self._changed(record)
        if record.pods or record.nominated:
            self._absent[name] = record

    def _record(self, name: str) -> NodeInfo:
        found = self.nodes.get(name) or self._absent.get(name)
        if found is None:
            self._born += 1
            found = NodeInfo(name, self._born)
        return found

    # Pods

    def place(self, pod: PodInfo, name: str) -> None:
        """A pod is on a node, or is assumed to be soon."""
        before = self._places.get(pod.uid)
        if before is not None:
            if before[1].name == name and before[0].counts_as(pod):
                before[1].pods[pod.uid] = pod
                self._places[pod.uid] = (pod, before[1])
                return
            self.remove(pod.uid)
        self.withdraw(pod.uid)
        record = self._record(name)
        if not record.is_present:
            self._absent[name] = record
        record.take(pod)
        record.touched = self.sequence
        self._places[pod.uid] = (pod, record)
        self.tallies.add(_resident(pod, record))
        self._priorities[pod.demand.priority] += 1
        self._changed(record)

    def remove(self, uid: str) -> NodeInfo | None:
        """A pod is on no node any more; returns where it was."""
        pod, record = self._places.pop(uid, (None, None))
        if pod is None or record is None:
            return None
        record.release(pod)
        self.tallies.remove(_resident(pod, record))
        self._priorities[pod.demand.priority] -= 1
        if not self._priorities[pod.demand.priority]:
            del self._priorities[pod.demand.priority]
        self._changed(record)
        self._forget_if_empty(record)
        return record

    def node_of(self, uid: str) -> str:
        """Where a pod is; empty for nowhere."""
        found = self._places.get(uid)
        return found[1].name if found else ""

    def has_below(self, priority: int) -> bool:
        """Whether any pod on a node has a lower priority."""
        return any(each < priority for each in self._priorities)

    def set_aside(self, pod: PodInfo) -> None:
        """Think a pod away for a moment: the same caller puts it back before anybody else looks."""
        record = self._places[pod.uid][1]
        record.release(pod)
        self.tallies.remove(_resident(pod, record))

    def put_back(self, pod: PodInfo) -> None:
        """The end of that thought."""
        record = self._places[pod.uid][1]
        record.take(pod)
        self.tallies.add(_resident(pod, record))

    # Nominations

    def nominate(self, pod: PodInfo, name: str) -> None:
        """Room was made for a pod on a node: keep it from pods of no higher priority."""
        self.withdraw(pod.uid)
        record = self.nodes.get(name)
        if record is not None:
            record.nominated[pod.uid] = pod
            self._nominations[pod.uid] = record
            self._changed(record)

    def withdraw(self, uid: str) -> None:
        """A pod no longer waits for a certain node."""
        record = self._nominations.pop(uid, None)
        if record is not None:
            del record.nominated[uid]
            self._changed(record)
            self._forget_if_empty(record)

    def nominated_to(self, uid: str) -> str:
        """The node that a pod waits for; empty for none."""
        record = self._nominations.get(uid)
        return record.name if record else ""

    # Changes

    def changed_since(self, sequence: int) -> Iterator[NodeInfo] | None:
        """The nodes that changed after a sequence number, some perhaps twice; None when that is too long ago."""
        missed = self.sequence - sequence
        if missed > len(self._log):
            return None
        return islice(reversed(self._log), missed)

    def _residents(self) -> Iterator[AssignedPod]:
        return (_resident(pod, record) for pod, record in self._places.values())

    def _changed(self, record: NodeInfo) -> None:
        self.sequence += 1
        record.version = self.sequence
        self._log.append(record)

    def _forget_if_empty(self, record: NodeInfo) -> None:
        if not record.is_present and not record.pods and not record.nominated:
            self._absent.pop(record.name, None)


def _resident(pod: PodInfo, record: NodeInfo) -> AssignedPod:
    return AssignedPod(pod.key.namespace, pod.labels, pod.is_leaving, pod.demand.relations, record.name)
