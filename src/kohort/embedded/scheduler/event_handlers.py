"""Informer event handlers that update the scheduler cache and the scheduling queue."""

from collections.abc import Sequence
from typing import Final

from kohort.embedded.scheduler.budgets import DisruptionAllowance, budget
from kohort.embedded.scheduler.cache import PodInfo, SchedulerCache
from kohort.embedded.scheduler.cluster_events import ClusterEvents
from kohort.embedded.scheduler.diagnosis import UnschedulableCause
from kohort.embedded.scheduler.requirements import RequirementsCache
from kohort.embedded.scheduler.scheduling_queue import SchedulingQueue
from kohort.embedded.scheduler.status_writer import NAME, PodStatusWriter
from kohort.embedded.scheduler.storage import VolumeIndex
from kohort.embedded.scheduler.views import (
    FINISHED,
    PODS,
    SchedulerClaim,
    SchedulerDisruptionBudget,
    SchedulerNamespace,
    SchedulerNode,
    SchedulerPersistentVolume,
    SchedulerPod,
    SchedulerStorageClass,
)
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.options import ListScope

UNFINISHED: Final = ListScope(fields="status.phase!=Succeeded,status.phase!=Failed")
_BY_NAMESPACE: Final = "namespace"


class SchedulerEventHandlers:
    """Applies watch events to the cache and the queue."""

    def __init__(
        self,
        informers: SharedInformerFactory,
        cache: SchedulerCache,
        queue: SchedulingQueue,
        events: ClusterEvents,
        status_writer: PodStatusWriter,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._events = events
        self._status_writer = status_writer
        self._requirements_cache = RequirementsCache()
        self.preempted: set[str] = set()
        """UIDs of preempted pods whose deletion has not been observed yet."""
        self.pods = watched_pods(informers)
        self._budgets = informers.of(SchedulerDisruptionBudget)
        self._budgets.index(_BY_NAMESPACE, _namespace)
        self._nodes = informers.of(SchedulerNode)
        self._namespaces = informers.of(SchedulerNamespace)
        self._claims = informers.of(SchedulerClaim)
        self._volumes = informers.of(SchedulerPersistentVolume)
        self._classes = informers.of(SchedulerStorageClass)
        self.storage = VolumeIndex(self._claims.cache, self._volumes.cache, self._classes.cache)

    def subscribe(self) -> None:
        """Registers the event handlers."""
        self._namespaces.subscribe(self._on_namespace)
        self._nodes.subscribe(self._on_node)
        self.pods.subscribe(self._on_pod)
        self._claims.subscribe(self._on_storage)
        self._volumes.subscribe(self._on_storage)
        self._classes.subscribe(self._on_storage)

    def budgets(self, namespace: str) -> Sequence[DisruptionAllowance]:
        """The disruption budgets of a namespace."""
        found = (budget(each) for each in self._budgets.cache.find(_BY_NAMESPACE, namespace))
        return [each for each in found if each is not None]

    # Nodes and namespaces

    def _on_node(self, old: SchedulerNode | None, new: SchedulerNode | None) -> None:
        if new is None:
            if old is not None:
                self._cache.remove_node(old.metadata.name)
                self._events.any_node(UnschedulableCause.PEERS)
            return
        if old is not None and _is_same_node(old, new):
            return
        self._cache.update_node(new)
        self._events.node(new.metadata.name)
        self._events.any_node(UnschedulableCause.PEERS)

    def _on_namespace(self, old: SchedulerNamespace | None, new: SchedulerNamespace | None) -> None:
        name = (new or old or SchedulerNamespace()).metadata.name
        self._cache.pod_counts.set_namespace(name, new.metadata.labels if new is not None else None)
        if old is not None and new is not None and old.metadata.labels != new.metadata.labels:
            self._events.any_node(UnschedulableCause.PEERS)

    def _on_storage(self, _old: object, _new: object) -> None:
        self._events.any_node(UnschedulableCause.STORAGE)

    # Pods

    def _on_pod(self, old: SchedulerPod | None, new: SchedulerPod | None) -> None:
        if new is None or new.status.phase in FINISHED:
            gone = new or old
            if gone is not None:
                self._forget(gone.metadata.uid)
        elif new.spec.node_name:
            self._on_bound(new)
        elif new.spec.scheduler_name == NAME:
            self._on_unbound(new)

    def _on_bound(self, pod: SchedulerPod) -> None:
        uid = pod.metadata.uid
        self._queue.remove(uid)
        before = self._cache.sequence
        self._cache.add_pod(self.record(pod), pod.spec.node_name)
        if self._cache.sequence != before:
            self._events.any_node(UnschedulableCause.PEERS)

    def _on_unbound(self, pod: SchedulerPod) -> None:
        uid = pod.metadata.uid
        if pod.is_terminating:
            self._forget(uid)
        elif self._cache.node_of(uid):
            return  # its binding is in flight
        elif pod.spec.scheduling_gates:
            self._status_writer.gated(pod)
        else:
            record = self.record(pod)
            nominated = pod.status.nominated_node_name
            if uid not in self._queue and nominated:
                self._cache.nominate(record, nominated)
            self._queue.add(record)

    def _forget(self, uid: str) -> None:
        """Removes a pod from the cache and the queue."""
        self.preempted.discard(uid)
        self._queue.remove(uid)
        waited_for = self._cache.nominated_to(uid)
        self._cache.clear_nomination(uid)
        left = self._cache.remove_pod(uid)
        if waited_for:
            self._events.node(waited_for)
        if left is not None:
            self._events.node(left.name)
            self._events.any_node(UnschedulableCause.PEERS)

    def record(self, pod: SchedulerPod) -> PodInfo:
        """Converts a pod to the scheduler's view of it."""
        started = pod.status.start_time
        return PodInfo(
            pod.metadata.uid,
            pod.key,
            pod.metadata.labels,
            self._requirements_cache.of(pod),
            pod.is_terminating or pod.metadata.uid in self.preempted,
            started.timestamp() if started is not None else 0.0,
        )


def watched_pods(informers: SharedInformerFactory) -> Informer[SchedulerPod]:
    """The informer of pods that are not finished."""
    return informers.of(PODS, UNFINISHED)


def _is_same_node(old: SchedulerNode, new: SchedulerNode) -> bool:
    """Whether no field relevant to scheduling changed; most node updates are status heartbeats."""
    same = old.spec == new.spec and old.metadata.labels == new.metadata.labels
    return same and old.status.allocatable == new.status.allocatable


def _namespace(found: SchedulerDisruptionBudget) -> tuple[str]:
    return (found.metadata.namespace,)
