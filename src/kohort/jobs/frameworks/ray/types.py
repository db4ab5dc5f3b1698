"""The fields of KubeRay's kinds that the frameworks read."""

from typing import ClassVar

from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.core.pods import PodTemplateSpec
from kohort.api.resource import Resource
from kohort.api.struct import View


class HeadGroupSpec(View):
    """The head of a cluster."""

    template: PodTemplateSpec = PodTemplateSpec()


class WorkerGroupSpec(View):
    """A group of equal workers."""

    group_name: str = ""
    replicas: int | None = None
    num_of_hosts: int | None = None
    """Pods of each replica."""
    template: PodTemplateSpec = PodTemplateSpec()


class AutoscalerOptions(View):
    """Options of the autoscaler container."""

    resources: dict[str, object] | None = None


class RayClusterSpec(View):
    """A cluster."""

    suspend: bool | None = None
    managed_by: str | None = None
    enable_in_tree_autoscaling: bool | None = None
    autoscaler_options: AutoscalerOptions | None = None
    gcs_fault_tolerance_options: dict[str, object] | None = None
    head_group_spec: HeadGroupSpec = HeadGroupSpec()
    worker_group_specs: tuple[WorkerGroupSpec, ...] = ()


class RayClusterStatus(View):
    """Status of a cluster."""

    state: str = ""


class RayCluster(ObjectView):
    """A ray.io/v1 RayCluster."""

    resource: ClassVar = Resource("ray.io", "v1", "RayCluster", "rayclusters", namespaced=True)

    spec: RayClusterSpec = RayClusterSpec()
    status: RayClusterStatus = RayClusterStatus()


class RayJobSpec(View):
    """A job, and the cluster that it runs on."""

    suspend: bool | None = None
    managed_by: str | None = None
    submission_mode: str = ""
    shutdown_after_job_finishes: bool | None = None
    cluster_selector: dict[str, str] | None = None
    ray_cluster_spec: RayClusterSpec | None = None
    submitter_pod_template: PodTemplateSpec | None = None


class RayJobStatus(View):
    """Status of a job."""

    job_deployment_status: str = ""
    job_status: str = ""
    message: str = ""
    ray_cluster_name: str = ""
    ray_cluster_status: RayClusterStatus = RayClusterStatus()


class RayJob(ObjectView):
    """A ray.io/v1 RayJob."""

    resource: ClassVar = Resource("ray.io", "v1", "RayJob", "rayjobs", namespaced=True)

    spec: RayJobSpec = RayJobSpec()
    status: RayJobStatus = RayJobStatus()


class RayServiceSpec(View):
    """A service, and the cluster that it runs on."""

    managed_by: str | None = None
    ray_cluster_config: RayClusterSpec = RayClusterSpec()


class ActiveServiceStatus(View):
    """The cluster that serves."""

    ray_cluster_name: str = ""


class RayServiceStatus(View):
    """Status of a service."""

    conditions: tuple[StatusCondition, ...] = ()
    active_service_status: ActiveServiceStatus = ActiveServiceStatus()


class RayService(ObjectView):
    """A ray.io/v1 RayService."""

    resource: ClassVar = Resource("ray.io", "v1", "RayService", "rayservices", namespaced=True)

    spec: RayServiceSpec = RayServiceSpec()
    status: RayServiceStatus = RayServiceStatus()
