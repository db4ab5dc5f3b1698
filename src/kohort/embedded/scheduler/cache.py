"""The scheduler cache: nodes and the pods assigned to them, updated event by event.

Every change of a node is logged, so that tables reevaluate only the nodes that changed since their last refresh.
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
from kohort.embedded.scheduler.terms import PodLabels
from kohort.embedded.scheduler.views import SchedulerNode

LOGGED: Final = 8192
PODS: Final = "pods"


@dataclass(frozen=True, slots=True, eq=False)
class PodInfo:
    """The scheduler's view of a pod."""

    uid: str
    key: ObjectKey
    labels: PodLabels
    requirements: PodRequirements
    is_terminating: bool = False
    started: float = 0.0
    """Start time in seconds of the epoch; zero if the pod has not started."""

    def is_equivalent(self, other: "PodInfo") -> bool:
        """Whether replacing this pod by the other affects no decision."""
        same = self.requirements is other.requirements and self.is_terminating == other.is_terminating
        return same and self.labels == other.labels


class NodeInfo:
    """A node with its assigned pods; a node that does not exist (yet) may still have pods."""

    __slots__ = (
        "allocatable",
        "allowed_pods",
        "cpu",
        "index",
        "is_present",
        "is_unschedulable",
        "labels",
        "last_assigned",
        "memory",
        "name",
        "nominated",
        "pods",
        "spec_version",
        "taints",
        "used",
        "version",
    )

    def __init__(self, name: str, index: int) -> None:
        self.name = name
        self.index = index
        self.is_present = False
        self.is_unschedulable = False
        self.labels: PodLabels = {}
        self.taints: tuple[Taint, ...] = ()
        self.allocatable: dict[str, int] = {}
        self.allowed_pods = 0
        """Allocatable number of pods."""
        self.used: dict[str, int] = {}
        self.cpu = 0
        self.memory = 0
        """Requests of the assigned pods as used by scores."""
        self.pods: dict[str, PodInfo] = {}
        self.nominated: dict[str, PodInfo] = {}
        """Pods nominated to the node after preemption, not yet assigned."""
        self.version = 0
        """Sequence number of the last change."""
        self.spec_version = 0
        """Changes only with the node object, not with its pods; unique among nodes."""
        self.last_assigned = 0
        """Sequence number at which a pod was last assigned."""

    def add_pod(self, pod: PodInfo) -> None:
        """Adds a pod."""
        self.pods[pod.uid] = pod
        self._count(pod.requirements, 1)

    def remove_pod(self, pod: PodInfo) -> None:
        """Removes a pod."""
        del self.pods[pod.uid]
        self._count(pod.requirements, -1)

    def _count(self, requirements: PodRequirements, sign: int) -> None:
        used = self.used
        for name, amount in requirements.requests:
            used[name] = used.get(name, 0) + sign * amount
        self.cpu += sign * requirements.cpu
        self.memory += sign * requirements.memory

    def ports(self) -> Iterator[HostPort]:
        """Host ports used by the assigned pods."""
        return (port for pod in self.pods.values() for port in pod.requirements.ports)


class SchedulerCache:
    """All nodes and all assigned pods."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        """Existing nodes in creation order."""
        self.pod_counts = PodCountsByNode(self._assigned_pods)
        self.sequence = 0
        """Number of changes so far."""
        self._absent: dict[str, NodeInfo] = {}
        self._log: deque[NodeInfo] = deque(maxlen=LOGGED)
        self._assignments: dict[str, tuple[PodInfo, NodeInfo]] = {}
        self._nominations: dict[str, NodeInfo] = {}
        self._priorities: Counter[int] = Counter()
        self._next_index = 0

    # Nodes

    def update_node(self, node: SchedulerNode) -> None:
        """Adds or updates a node."""
        name = node.metadata.name
        node_info = self._node_info(name)
        node_info.is_present = True
        node_info.labels = node.metadata.labels
        node_info.taints = node.spec.taints
        node_info.is_unschedulable = node.spec.unschedulable
        node_info.allocatable = {key: to_amount(key, raw) for key, raw in node.status.allocatable.items()}
        node_info.allowed_pods = node_info.allocatable.pop(PODS, 0)
        self._absent.pop(name, None)
        self.nodes[name] = node_info
        self._changed(node_info)
        node_info.spec_version = self.sequence

    def remove_node(self, name: str) -> None:
        """Removes a node; pods assigned to it stay until they are deleted."""
        node_info = self.nodes.pop(name, None)
        if node_info is None:
            return
        node_info.is_present = False
        self._changed(node_info)
        if node_info.pods or node_info.nominated:
            self._absent[name] = node_info

    def _node_info(self, name: str) -> NodeInfo:
        found = self.nodes.get(name) or self._absent.get(name)
        if found is None:
            self._next_index += 1
            found = NodeInfo(name, self._next_index)
        return found

    # Pods

    def add_pod(self, pod: PodInfo, name: str) -> None:
        """Adds a pod that is assigned to a node or assumed to be."""
        before = self._assignments.get(pod.uid)
        if before is not None:
            if before[1].name == name and before[0].is_equivalent(pod):
                before[1].pods[pod.uid] = pod
                self._assignments[pod.uid] = (pod, before[1])
                return
            self.remove_pod(pod.uid)
        self.clear_nomination(pod.uid)
        node_info = self._node_info(name)
        if not node_info.is_present:
            self._absent[name] = node_info
        node_info.add_pod(pod)
        node_info.last_assigned = self.sequence
        self._assignments[pod.uid] = (pod, node_info)
        self.pod_counts.add(_assigned_pod(pod, node_info))
        self._priorities[pod.requirements.priority] += 1
        self._changed(node_info)

    def remove_pod(self, uid: str) -> NodeInfo | None:
        """Removes a pod and returns the node it was assigned to."""
        pod, node_info = self._assignments.pop(uid, (None, None))
        if pod is None or node_info is None:
            return None
        node_info.remove_pod(pod)
        self.pod_counts.remove(_assigned_pod(pod, node_info))
        self._priorities[pod.requirements.priority] -= 1
        if not self._priorities[pod.requirements.priority]:
            del self._priorities[pod.requirements.priority]
        self._changed(node_info)
        self._forget_if_empty(node_info)
        return node_info

    def node_of(self, uid: str) -> str:
        """The node a pod is assigned to; empty if none."""
        found = self._assignments.get(uid)
        return found[1].name if found else ""

    def has_lower_priority(self, priority: int) -> bool:
        """Whether any assigned pod has a lower priority."""
        return any(each < priority for each in self._priorities)

    def remove_temporarily(self, pod: PodInfo) -> None:
        """Removes a pod for a what-if evaluation; the caller restores it before returning."""
        node_info = self._assignments[pod.uid][1]
        node_info.remove_pod(pod)
        self.pod_counts.remove(_assigned_pod(pod, node_info))

    def restore(self, pod: PodInfo) -> None:
        """Restores a temporarily removed pod."""
        node_info = self._assignments[pod.uid][1]
        node_info.add_pod(pod)
        self.pod_counts.add(_assigned_pod(pod, node_info))

    # Nominations

    def nominate(self, pod: PodInfo, name: str) -> None:
        """Reserves the capacity freed by preemption against pods of the same or lower priority."""
        self.clear_nomination(pod.uid)
        node_info = self.nodes.get(name)
        if node_info is not None:
            node_info.nominated[pod.uid] = pod
            self._nominations[pod.uid] = node_info
            self._changed(node_info)

    def clear_nomination(self, uid: str) -> None:
        """Clears the nominated node of a pod."""
        node_info = self._nominations.pop(uid, None)
        if node_info is not None:
            del node_info.nominated[uid]
            self._changed(node_info)
            self._forget_if_empty(node_info)

    def nominated_to(self, uid: str) -> str:
        """The nominated node of a pod; empty if none."""
        node_info = self._nominations.get(uid)
        return node_info.name if node_info else ""

    # Changes

    def changed_since(self, sequence: int) -> Iterator[NodeInfo] | None:
        """Nodes that changed after a sequence number, possibly repeated; None if the log does not reach back that
        far."""
        missed = self.sequence - sequence
        if missed > len(self._log):
            return None
        return islice(reversed(self._log), missed)

    def _assigned_pods(self) -> Iterator[AssignedPod]:
        return (_assigned_pod(pod, node_info) for pod, node_info in self._assignments.values())

    def _changed(self, node_info: NodeInfo) -> None:
        self.sequence += 1
        node_info.version = self.sequence
        self._log.append(node_info)

    def _forget_if_empty(self, node_info: NodeInfo) -> None:
        if not node_info.is_present and not node_info.pods and not node_info.nominated:
            self._absent.pop(node_info.name, None)


def _assigned_pod(pod: PodInfo, node_info: NodeInfo) -> AssignedPod:
    return AssignedPod(pod.key.namespace, pod.labels, pod.is_terminating, pod.requirements.relations, node_info.name)
