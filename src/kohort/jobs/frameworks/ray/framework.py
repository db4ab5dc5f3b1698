"""What the frameworks of RayCluster, RayJob and RayService share: the cluster somewhere in their spec."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.fields import ROOT, FieldError, Path
from kohort.api.meta import ObjectKey
from kohort.jobs.contract import ClusterReader, JobKey, ManagedBy, WatchedKind
from kohort.jobs.errors import RetryError
from kohort.jobs.frameworks.ray.cluster import (
    HEAD,
    autoscales,
    group_name,
    group_size,
    head_template,
    worker_groups,
)
from kohort.jobs.frameworks.ray.types import RayCluster
from kohort.jobs.frameworks.ray.validation import cluster_errors
from kohort.jobs.keys import ELASTIC_GATE, RAY_CLUSTER_GENERATION_ANNOTATION
from kohort.jobs.objects import annotations, controller_owner, metadata, requests_slices, value_at
from kohort.jobs.podsets import JobPodSet
from kohort.jobs.templated import OnceQueuedFramework, PodTemplatePlace

CLUSTER_LABEL = "ray.io/cluster"


class RayFramework(OnceQueuedFramework):
    """A kind with a Ray cluster."""

    is_elastic: ClassVar[bool] = True
    supports_prebuilt: ClassVar[bool] = True
    managed_by: ClassVar[ManagedBy | None] = ManagedBy(("spec", "managedBy"), "ray.io/kuberay-operator")
    cluster_path: ClassVar[tuple[str, ...]]
    """Path of the spec of the cluster."""

    def cluster(self, obj: JsonObject) -> JsonObject:
        """The spec of the cluster."""
        return value_at(obj, self.cluster_path) or {}

    def places(self, obj: JsonObject) -> list[PodTemplatePlace]:
        """The head, and the worker groups (JOB-120)."""
        head = PodTemplatePlace(HEAD, 1, obj, (*self.cluster_path, "headGroupSpec", "template"))
        groups = worker_groups(self.cluster(obj))
        return [head, *(PodTemplatePlace(group_name(each), group_size(each), each, ("template",)) for each in groups)]

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """The pods with what the operator adds to the head (JOB-121)."""
        head, *others = super().pod_sets(obj, reads)
        return [replace(head, template=head_template(obj, self.cluster(obj))), *others]

    def gate_cluster(self, obj: JsonObject) -> None:
        """Gate the pods of the cluster, in place (JOB-83)."""
        for place in self.places(obj):
            spec = place.editable().setdefault("spec", {})
            gates = spec.get("schedulingGates") or []
            if ELASTIC_GATE not in (each.get("name") for each in gates):
                spec["schedulingGates"] = [*gates, {"name": ELASTIC_GATE}]

    def errors(self, obj: JsonObject, reads: ClusterReader) -> Iterator[FieldError]:
        """Errors of a queued object."""
        yield from cluster_errors(obj, self.cluster(obj), _path(self.cluster_path), reads.gates)


class RayClusterOwner(RayFramework):
    """A kind for whose objects the operator creates RayClusters, of which the autoscaler changes the size (JOB-128)."""

    @abstractmethod
    def live_cluster(self, obj: JsonObject) -> str:
        """Name of the RayCluster of the object; empty if there is none."""

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """The pods; an autoscaled group has those of the live cluster."""
        found = super().pod_sets(obj, reads)
        live = self._live_sizes(obj, reads)
        unknown = live.keys() - {each.name for each in found}
        if unknown:
            names = ", ".join(sorted(unknown))
            raise RetryError(f"RayCluster {self.live_cluster(obj)} has unknown worker groups: {names}")
        return [replace(each, count=live.get(each.name, each.count)) for each in found]

    def pod_selector(self, obj: JsonObject) -> str | None:
        """All pods of the live cluster."""
        name = self.live_cluster(obj)
        return f"{CLUSTER_LABEL}={name}" if name else None

    def slice_annotations(self, obj: JsonObject, reads: ClusterReader) -> dict[str, str]:
        """The generation of the live cluster; empty as long as there is none."""
        generation = metadata(self._autoscaled(obj, reads)).get("generation", "")
        return {RAY_CLUSTER_GENERATION_ANNOTATION: str(generation)}

    def name_extra(self, obj: JsonObject) -> str:
        """The generations of the object and of its live cluster (JOB-40)."""
        generation = annotations(obj).get(RAY_CLUSTER_GENERATION_ANNOTATION, "")
        return "_".join(filter(None, (super().name_extra(obj), generation)))

    def _live_sizes(self, obj: JsonObject, reads: ClusterReader) -> dict[str, int]:
        """The sizes of worker groups in the live cluster, as far as they have replicas."""
        groups = worker_groups(self._autoscaled(obj, reads).get("spec") or {})
        return {group_name(each): group_size(each) for each in groups if each.get("replicas") is not None}

    def _autoscaled(self, obj: JsonObject, reads: ClusterReader) -> JsonObject:
        """The live cluster of an elastic job with an autoscaler; empty if there is none."""
        name = self.live_cluster(obj)
        if not name or not autoscales(self.cluster(obj)) or not requests_slices(obj, reads.gates):
            return {}
        return reads.get(RayCluster.resource, ObjectKey(metadata(obj).get("namespace", ""), name)) or {}


def watched_clusters(kind: str) -> WatchedKind:
    """The RayClusters of objects of a kind (JOB-26)."""

    def jobs(cluster: JsonObject, _reads: ClusterReader) -> Iterable[JobKey]:
        owner = controller_owner(cluster)
        if owner is not None and owner.get("kind") == kind:
            yield JobKey(metadata(cluster).get("namespace", ""), owner.get("name", ""))

    return WatchedKind(RayCluster.resource, jobs)


def _path(steps: Iterable[str]) -> Path:
    path = ROOT
    for step in steps:
        path = path / step
    return path
