"""The cluster reader of job frameworks, on a snapshot and the given manifests."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.config.v1beta2 import Configuration
from kohort.api.core.nodes import PriorityClass
from kohort.api.gates import FeatureGates
from kohort.api.kueue.v1beta2 import AdmissionCheck, ClusterQueue, LocalQueue, Workload, WorkloadPriorityClass
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.insight.snapshot import Snapshot
from kohort.jobs.contract import IndexValues

ALSO_READ: Final[tuple[type[Any], ...]] = (WorkloadPriorityClass, PriorityClass)
"""Kinds that the priority of a job depends on."""


class SnapshotReader:
    """Reads a snapshot, and the members of grouped jobs in the manifests."""

    def __init__(
        self, snapshot: Snapshot, members: Sequence[JsonObject] = (), indexes: Mapping[str, IndexValues] | None = None
    ) -> None:
        self._snapshot = snapshot
        self._members = members
        self._indexes = indexes or {}

    @property
    def configuration(self) -> Configuration:
        """The settings of the manager."""
        return self._snapshot.rules.configuration

    @property
    def gates(self) -> FeatureGates:
        """The feature gates of the manager."""
        return self._snapshot.rules.gates

    @property
    def now(self) -> datetime:
        """The time of the snapshot."""
        return self._snapshot.taken

    def get(self, resource: Resource, key: ObjectKey) -> JsonObject | None:
        """An object of a kind that was listed, such as the runtime of a job."""
        return self._snapshot.of(resource).get(key) if resource in self._snapshot.found else None

    def find(self, resource: Resource, index: str, value: str) -> Sequence[JsonObject]:
        """The given members of a group."""
        return [each for each in self._members if value in self._indexes[index](each)]

    def workload(self, key: ObjectKey) -> Workload | None:
        """A Workload of the cluster."""
        return self._snapshot.of(Workload).get(key)

    def owned_workloads(self, namespace: str, api_version: str, kind: str, name: str) -> Sequence[Workload]:
        """None: the job is new."""
        return ()

    def check_controller(self, check: str) -> str:
        """Name of the controller of an AdmissionCheck."""
        found = self._snapshot.of(AdmissionCheck).get(ObjectKey("", check))
        return found.spec.controller_name if found is not None and found.spec is not None else ""

    def cluster_queue_of(self, namespace: str, local_queue: str) -> ClusterQueue | None:
        """The ClusterQueue of a LocalQueue."""
        local = self._snapshot.of(LocalQueue).get(ObjectKey(namespace, local_queue))
        if local is None:
            return None
        return self._snapshot.of(ClusterQueue).get(ObjectKey("", local.spec.cluster_queue or ""))

    def is_settled(self, expectation: str) -> bool:
        """True: nothing was written."""
        return True

    # Priority classes

    def workload_priority_class(self, name: str) -> WorkloadPriorityClass | None:
        """A WorkloadPriorityClass."""
        return self._snapshot.of(WorkloadPriorityClass).get(ObjectKey("", name))

    def priority_class(self, name: str) -> PriorityClass | None:
        """A PriorityClass."""
        return self._snapshot.of(PriorityClass).get(ObjectKey("", name))

    def default_priority_classes(self) -> Iterable[PriorityClass]:
        """The default PriorityClasses."""
        return [each for each in self._snapshot.of(PriorityClass).values() if each.global_default]
