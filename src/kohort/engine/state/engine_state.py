"""What the engine knows: objects come in as events and are kept as records, queues and sums.

Nothing is decided here. What happened since the last turn is noted as stirred queues and retries, so that a turn looks
only where something could have changed.
"""

from datetime import datetime

from kohort.api.core.namespaces import LimitRange, Namespace
from kohort.api.core.nodes import RuntimeClass
from kohort.api.kueue import v1beta2
from kohort.api.meta import ObjectKey
from kohort.engine.events import (
    DeviceClaimsCounted,
    Event,
    EvictionFailed,
    ObjectDeleted,
    ObjectUpserted,
    ReservationFailed,
)
from kohort.engine.state.queues import QueueTracking


class EngineState(QueueTracking):
    """All queues, flavors and workloads as they are now, kept by events."""

    def apply(self, event: Event, now: datetime) -> None:
        """Take in what happened."""
        match event:
            case ObjectUpserted(object=thing):
                self._put(thing, now)
            case ObjectDeleted(kind=kind, key=key):
                self._gone(kind, key, now)
            case DeviceClaimsCounted(workload=key, devices=devices):
                self._count_devices(key, devices, now)
            case ReservationFailed(workload=key):
                self._take_back(key, now)
            case EvictionFailed(workload=key):
                self._forget_eviction(key, now)

    def _put(self, thing: object, now: datetime) -> None:
        match thing:
            case v1beta2.Workload():
                self._put_workload(thing, now)
            case v1beta2.ClusterQueue():
                self._put_queue(thing, now)
            case v1beta2.Cohort():
                self._put_cohort(thing)
            case v1beta2.LocalQueue():
                self._put_local_queue(thing, now)
            case v1beta2.ResourceFlavor():
                self._put_flavor(thing)
            case v1beta2.AdmissionCheck():
                self._checks[thing.metadata.name] = thing
                self._revisit_queues(check=thing.metadata.name)
            case v1beta2.Topology():
                self._topologies.add(thing.metadata.name)
                self._revisit_topology(thing.metadata.name)
            case Namespace():
                self._put_namespace(thing)
            case LimitRange():
                self._surroundings.put_limit_range(thing)
                self._reread(thing.metadata.namespace, now)
            case RuntimeClass():
                self._surroundings.put_runtime_class(thing)
                self._reread("", now)

    def _gone(self, kind: str, key: ObjectKey, now: datetime) -> None:
        match kind:
            case "Workload":
                self._remove_workload(key)
            case "ClusterQueue":
                self._remove_queue(key.name)
            case "Cohort":
                self._remove_cohort(key.name)
            case "LocalQueue":
                self._leave_local_queue(key)
            case "ResourceFlavor":
                self.flavors.pop(key.name, None)
                self._flavor_things.pop(key.name, None)
                self._revisit_queues(flavor=key.name)
            case "AdmissionCheck":
                self._checks.pop(key.name, None)
                self._revisit_queues(check=key.name)
            case "Topology":
                self._topologies.discard(key.name)
                self._revisit_topology(key.name)
            case "Namespace":
                self.namespaces.pop(key.name, None)
            case "LimitRange":
                self._surroundings.remove_limit_range(key)
                self._reread(key.namespace, now)
            case "RuntimeClass":
                self._surroundings.remove_runtime_class(key.name)
                self._reread("", now)
