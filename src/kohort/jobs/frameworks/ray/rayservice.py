"""ray.io/v1 RayService (§17.3): serves until it is deleted.

The second cluster of an upgrade is not counted.
"""

from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView
from kohort.api.gates import Gate
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader, Finish, UserRoles, WatchedKind
from kohort.jobs.frameworks.ray.cluster import is_fault_tolerant
from kohort.jobs.frameworks.ray.framework import RayClusterOwner, watched_clusters
from kohort.jobs.frameworks.ray.types import RayService
from kohort.jobs.objects import is_terminating, value_at


class RayServiceFramework(RayClusterOwner):
    """Services with a cluster of their own."""

    name: ClassVar[str] = "ray.io/rayservice"
    resource: ClassVar[Resource] = RayService.resource
    view: ClassVar[type[ObjectView]] = RayService
    runs_to_completion: ClassVar[bool] = False
    user_roles: ClassVar[UserRoles | None] = UserRoles(for_batch_users=False)
    watches: ClassVar[tuple[WatchedKind, ...]] = (watched_clusters("RayService"),)
    suspend_path: ClassVar[tuple[str, ...]] = ("spec", "rayClusterConfig", "suspend")
    cluster_path: ClassVar[tuple[str, ...]] = ("spec", "rayClusterConfig")

    def skips(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether it is being deleted and its state in Redis is cleaned up, for which it keeps its quota (JOB-133)."""
        is_deferred = reads.gates.enabled(Gate.DeferRayServiceFinalizationForRedisCleanup)
        return is_deferred and is_terminating(obj) and is_fault_tolerant(obj, self.cluster(obj))

    def finished(self, obj: JsonObject) -> Finish | None:
        """Never (JOB-133)."""
        return None

    def is_active(self, obj: JsonObject) -> bool:
        """Whether it is ready (JOB-133)."""
        conditions = value_at(obj, ("status", "conditions")) or ()
        return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether it is ready (JOB-133)."""
        return self.is_active(obj)

    def gate_templates(self, obj: JsonObject) -> None:
        """Gate all pods until they fit into an admitted slice (JOB-83)."""
        self.gate_cluster(obj)

    def live_cluster(self, obj: JsonObject) -> str:
        """The cluster that serves."""
        return value_at(obj, ("status", "activeServiceStatus", "rayClusterName")) or ""
