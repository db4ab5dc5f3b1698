"""Applies events to the store.

Nothing is decided here: events mark queues dirty and unblock keys, so that a run evaluates only what may have changed.
"""

from datetime import datetime

from kohort.api.core.namespaces import LimitRange, Namespace
from kohort.api.core.nodes import Node, RuntimeClass
from kohort.api.kueue import v1beta2
from kohort.api.meta import ObjectKey
from kohort.engine.events import (
    DeviceClaimsCounted,
    EngineEvent,
    EvictionFailed,
    NodeUsageChanged,
    ObjectDeleted,
    ObjectUpserted,
    ReservationFailed,
)
from kohort.engine.state.queues import QueueTracker
from kohort.engine.state.store import EngineStore
from kohort.engine.state.topologies import TopologyTracker
from kohort.engine.state.workloads import WorkloadTracker


class EngineEventHandler:
    """Applies events to the store."""

    def __init__(
        self, store: EngineStore, workloads: WorkloadTracker, queues: QueueTracker, topologies: TopologyTracker
    ) -> None:
        self._store = store
        self._workloads = workloads
        self._queues = queues
        self._topologies = topologies

    def apply(self, event: EngineEvent, now: datetime) -> None:
        """Apply an event."""
        match event:
            case ObjectUpserted(object=thing):
                self._put(thing, now)
            case ObjectDeleted(kind=kind, key=key):
                self._gone(kind, key, now)
            case DeviceClaimsCounted(workload=key, devices=devices):
                self._workloads.count_devices(key, devices, now)
            case NodeUsageChanged(node=node, amounts=amounts):
                self._topologies.set_node_usage(node, amounts)
            case ReservationFailed(workload=key):
                self._workloads.revoke_reservation(key, now)
            case EvictionFailed(workload=key):
                self._workloads.forget_eviction(key, now)

    def _put(self, thing: object, now: datetime) -> None:
        match thing:
            case v1beta2.Workload():
                self._workloads.put(thing, now)
            case v1beta2.ClusterQueue():
                self._queues.put_cluster_queue(thing, now)
            case v1beta2.Cohort():
                self._queues.put_cohort(thing)
            case v1beta2.LocalQueue():
                self._queues.put_local_queue(thing, now)
            case v1beta2.ResourceFlavor():
                self._queues.put_flavor(thing)
                self._topologies.put_flavor(thing.metadata.name)
            case v1beta2.AdmissionCheck():
                self._store.checks[thing.metadata.name] = thing
                self._queues.refresh_queues(check=thing.metadata.name)
            case v1beta2.Topology():
                self._store.topologies.add(thing.metadata.name)
                self._topologies.put_topology(thing)
                self._queues.refresh_topology(thing.metadata.name)
            case Node():
                self._topologies.put_node(thing)
            case Namespace():
                self._queues.put_namespace(thing)
            case LimitRange():
                self._store.environments.put_limit_range(thing)
                self._workloads.reread(thing.metadata.namespace, now)
            case RuntimeClass():
                self._store.environments.put_runtime_class(thing)
                self._workloads.reread("", now)

    def _gone(self, kind: str, key: ObjectKey, now: datetime) -> None:
        match kind:
            case "Workload":
                self._workloads.remove(key)
            case "ClusterQueue":
                self._queues.remove_cluster_queue(key.name)
            case "Cohort":
                self._queues.remove_cohort(key.name)
            case "LocalQueue":
                self._queues.remove_local_queue(key)
            case "ResourceFlavor":
                self._store.flavors.pop(key.name, None)
                self._store.flavor_objects.pop(key.name, None)
                self._topologies.remove_flavor(key.name)
                self._queues.refresh_queues(flavor=key.name)
            case "AdmissionCheck":
                self._store.checks.pop(key.name, None)
                self._queues.refresh_queues(check=key.name)
            case "Topology":
                self._store.topologies.discard(key.name)
                self._topologies.remove_topology(key.name)
                self._queues.refresh_topology(key.name)
            case "Node":
                self._topologies.remove_node(key.name)
            case "Namespace":
                self._store.namespaces.pop(key.name, None)
            case "LimitRange":
                self._store.environments.remove_limit_range(key)
                self._workloads.reread(key.namespace, now)
            case "RuntimeClass":
                self._store.environments.remove_runtime_class(key.name)
                self._workloads.reread("", now)
