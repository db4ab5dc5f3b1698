"""ray.io/v1 RayCluster (§17.1): holds its quota until it is deleted."""

from collections.abc import Iterator
from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView
from kohort.api.fields import ROOT, FieldError, invalid
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader, Finish, UserRoles
from kohort.jobs.frameworks.ray.cluster import worker_groups
from kohort.jobs.frameworks.ray.framework import CLUSTER_LABEL, RayFramework
from kohort.jobs.frameworks.ray.types import RayCluster
from kohort.jobs.frameworks.ray.validation import RULE
from kohort.jobs.keys import ELASTIC_GATE
from kohort.jobs.objects import gates, metadata, requests_slices, value_at
from kohort.jobs.templated import is_queued

SPEC = ROOT / "spec"
WORKERS = SPEC / "workerGroupSpecs"


class RayClusterFramework(RayFramework):
    """Clusters that users create, and those of elastic RayJobs and RayServices."""

    name: ClassVar[str] = "ray.io/raycluster"
    resource: ClassVar[Resource] = RayCluster.resource
    view: ClassVar[type[ObjectView]] = RayCluster
    runs_to_completion: ClassVar[bool] = False
    user_roles: ClassVar[UserRoles | None] = UserRoles(for_batch_users=False)
    gated_with_owner: ClassVar[bool] = True
    cluster_path: ClassVar[tuple[str, ...]] = ("spec",)

    def finished(self, obj: JsonObject) -> Finish | None:
        """Never: it holds its quota as long as it exists (JOB-123)."""
        return None

    def is_active(self, obj: JsonObject) -> bool:
        """Whether the cluster is ready (JOB-123)."""
        return bool(value_at(obj, ("status", "state")) == "ready")

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether the cluster is ready (JOB-123)."""
        return self.is_active(obj)

    def gate_templates(self, obj: JsonObject) -> None:
        """Gate all pods until they fit into an admitted slice (JOB-83)."""
        self.gate_cluster(obj)

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """Also: the pods of an elastic cluster stay gated (JOB-124)."""
        present = list(_gate_errors(old, reads))
        ungated = [error for error in _gate_errors(new, reads) if error not in present]
        return [*super().validate_update(old, new, reads), *ungated]

    def pod_selector(self, obj: JsonObject) -> str:
        """All pods of the cluster."""
        return f"{CLUSTER_LABEL}={metadata(obj)['name']}"


def _gate_errors(obj: JsonObject, reads: ClusterReader) -> Iterator[FieldError]:
    if not requests_slices(obj, reads.gates) or not is_queued(obj, reads):
        return
    groups = worker_groups(obj.get("spec") or {})
    found = [(value_at(obj, ("spec", "headGroupSpec", "template")), SPEC / "headGroupSpec")]
    found += [(group.get("template"), WORKERS[index]) for index, group in enumerate(groups)]
    for template, path in found:
        if ELASTIC_GATE not in gates(template or {}):
            why = f"pods of an elastic RayCluster need the gate {ELASTIC_GATE}: restore it"
            yield invalid(path / "template" / "spec" / "schedulingGates", gates(template or {}), why, RULE)
