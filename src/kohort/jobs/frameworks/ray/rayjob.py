"""ray.io/v1 RayJob (§17.2): a cluster, and in some modes a pod that submits the job to it.

A RayJob that selects an existing cluster is not queued: that cluster has its own quota (DEV-13).
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView
from kohort.api.fields import ROOT, FieldError, invalid, required
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader, Finish, WatchedKind
from kohort.jobs.frameworks.ray.cluster import add_container
from kohort.jobs.frameworks.ray.framework import RayClusterOwner, watched_clusters
from kohort.jobs.frameworks.ray.types import RayJob
from kohort.jobs.frameworks.ray.validation import cluster_errors
from kohort.jobs.objects import set_value, value_at
from kohort.jobs.podsets import JobPodSet, PodSetInfo
from kohort.jobs.templated import PodTemplatePlace

SUBMITTER: Final = "submitter"
SPEC = ROOT / "spec"
RULE = "JOB-131"
_SUBMITTER_PATH = ("spec", "submitterPodTemplate")
_DEPLOYMENT_STATUS = ("status", "jobDeploymentStatus")
_CONTAINER: Final = "ray-job-submitter"
_RESOURCES: Final = {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
_ENDED = frozenset({"Complete", "Failed"})
_WITHOUT_PODS = frozenset({"", "Suspended"})


class RayJobFramework(RayClusterOwner):
    """Jobs with a cluster of their own."""

    name: ClassVar[str] = "ray.io/rayjob"
    resource: ClassVar[Resource] = RayJob.resource
    view: ClassVar[type[ObjectView]] = RayJob
    watches: ClassVar[tuple[WatchedKind, ...]] = (watched_clusters("RayJob"),)
    cluster_path: ClassVar[tuple[str, ...]] = ("spec", "rayClusterSpec")

    def is_foreign(self, obj: JsonObject) -> bool:
        """Whether it selects an existing cluster."""
        return _selects_cluster(obj) and not self.cluster(obj)

    def skips(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether it selects an existing cluster (JOB-126)."""
        return _selects_cluster(obj)

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """The cluster, and what submits the job (JOB-127)."""
        found = super().pod_sets(obj, reads)
        if _mode(obj) == "SidecarMode":
            add_container(found[0].template, {"name": _CONTAINER, "resources": deepcopy(_RESOURCES)})
        elif _submits_by_pod(obj) and not found[-1].template:
            found[-1] = replace(found[-1], template=self.default_submitter(obj))
        return found

    def places(self, obj: JsonObject) -> list[PodTemplatePlace]:
        """Those of the cluster, and the submitter."""
        submitter = PodTemplatePlace(SUBMITTER, 1, obj, _SUBMITTER_PATH)
        return [*super().places(obj), *([submitter] if _submits_by_pod(obj) else [])]

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Also write the default template of the submitter, so that it gets its info (JOB-129)."""
        if _submits_by_pod(obj) and not value_at(obj, _SUBMITTER_PATH):
            set_value(obj, _SUBMITTER_PATH, self.default_submitter(obj))
        super().start(obj, infos)

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Also remove the default template of the submitter (DEV-13)."""
        restored = super().restore(obj, originals)
        if restored and value_at(obj, _SUBMITTER_PATH) in ({}, self.default_submitter(obj)):
            del obj["spec"]["submitterPodTemplate"]
        return restored

    def finished(self, obj: JsonObject) -> Finish | None:
        """Once its deployment is complete or has failed (JOB-130)."""
        status = obj.get("status") or {}
        if status.get("jobDeploymentStatus") not in _ENDED:
            return None
        return Finish(status.get("jobStatus") == "SUCCEEDED", status.get("message") or "")

    def on_hold(self, obj: JsonObject) -> bool:
        """Whether the operator rejects its spec (JOB-130)."""
        return bool(value_at(obj, _DEPLOYMENT_STATUS) == "ValidationFailed")

    def is_active(self, obj: JsonObject) -> bool:
        """Whether it is deployed, and neither suspended nor finished (JOB-130)."""
        return (value_at(obj, _DEPLOYMENT_STATUS) or "") not in _WITHOUT_PODS | _ENDED

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether its cluster is ready (JOB-130)."""
        return bool(value_at(obj, ("status", "rayClusterStatus", "state")) == "ready")

    def live_cluster(self, obj: JsonObject) -> str:
        """The cluster of the current run."""
        return value_at(obj, ("status", "rayClusterName")) or ""

    def errors(self, obj: JsonObject, reads: ClusterReader) -> Iterator[FieldError]:
        """JOB-126, JOB-131."""
        spec = obj.get("spec") or {}
        if _selects_cluster(obj):
            why = "a queued RayJob has a cluster of its own: remove clusterSelector or rayClusterSpec"
            yield invalid(SPEC / "clusterSelector", spec["clusterSelector"], why, "JOB-126")
        elif not self.cluster(obj):
            yield required(SPEC / "rayClusterSpec", "a queued RayJob must define its cluster", "JOB-126")
        if spec.get("shutdownAfterJobFinishes") is not True:
            why = "a queued RayJob must delete its cluster when it finishes: set it to true"
            yield invalid(SPEC / "shutdownAfterJobFinishes", value=False, detail=why, rule=RULE)
        further = (SUBMITTER,) if _submits_by_pod(obj) else ()
        yield from cluster_errors(obj, self.cluster(obj), SPEC / "rayClusterSpec", reads.gates, further)

    def default_submitter(self, obj: JsonObject) -> JsonObject:
        """The template that the operator would use."""
        containers = value_at(self.cluster(obj), ("headGroupSpec", "template", "spec", "containers")) or [{}]
        image: str = containers[0].get("image") or ""
        container: dict[str, Any] = {"name": _CONTAINER, "resources": deepcopy(_RESOURCES)}
        return {
            "spec": {"containers": [{**container, **({"image": image} if image else {})}], "restartPolicy": "Never"}
        }


def _selects_cluster(obj: JsonObject) -> bool:
    return bool(value_at(obj, ("spec", "clusterSelector")))


def _mode(obj: JsonObject) -> str:
    return value_at(obj, ("spec", "submissionMode")) or ""


def _submits_by_pod(obj: JsonObject) -> bool:
    return _mode(obj) == "K8sJobMode"
