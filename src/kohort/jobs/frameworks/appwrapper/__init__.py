"""AppWrapper of Project CodeFlare, `workload.codeflare.dev/v1beta2` (§17.4): any objects, queued as one job.

The wrapped objects are never changed: a start writes what their pods get into `podSetInfos` of each component, and
the operator merges it into the templates when it creates the objects.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, ClassVar

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.core.pods import SchedulingGate
from kohort.api.fields import FieldError
from kohort.api.meta import Toleration
from kohort.api.resource import Resource
from kohort.api.struct import View
from kohort.jobs.contract import ClusterReader, Finish, ManagedBy, UserRoles
from kohort.jobs.errors import InvalidFieldError, PermanentError
from kohort.jobs.frameworks.appwrapper.component_infos import clear_infos, write_infos, written_info
from kohort.jobs.frameworks.appwrapper.components import ComponentPods, pods_of
from kohort.jobs.frameworks.appwrapper.pod_defaults import defaulted_template
from kohort.jobs.frameworks.appwrapper.validation import component_errors
from kohort.jobs.objects import metadata, value_at
from kohort.jobs.podsets import JobPodSet, PodSetInfo, expect_count, merge_info
from kohort.jobs.templated import PodTemplatePlace, TemplatedFramework, is_queued, true_conditions
from kohort.jobs.topology import topology_request

SUCCEEDED, FAILED = "Succeeded", "Failed"


class DeclaredPodSet(View):
    """Pods of a component, by the path of their template."""

    path: str = ""
    replicas: int | None = None
    annotations: dict[str, str] = {}


class ComponentPodSetInfo(View):
    """What the pods of a set get at the start."""

    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()


class WrappedComponent(View):
    """A wrapped object."""

    template: dict[str, Any] = {}
    pod_sets: tuple[DeclaredPodSet, ...] = ()
    pod_set_infos: tuple[ComponentPodSetInfo, ...] = ()


class AppWrapperSpec(View):
    """Spec of an AppWrapper."""

    suspend: bool | None = None
    managed_by: str | None = None
    components: tuple[WrappedComponent, ...] = ()


class AppWrapperStatus(View):
    """Status of an AppWrapper."""

    phase: str = ""
    conditions: tuple[StatusCondition, ...] = ()


class AppWrapper(ObjectView):
    """A workload.codeflare.dev/v1beta2 AppWrapper."""

    resource: ClassVar = Resource("workload.codeflare.dev", "v1beta2", "AppWrapper", "appwrappers", namespaced=True)

    spec: AppWrapperSpec = AppWrapperSpec()
    status: AppWrapperStatus = AppWrapperStatus()


class AppWrapperFramework(TemplatedFramework):
    """The framework of AppWrappers."""

    name: ClassVar[str] = "workload.codeflare.dev/appwrapper"
    resource: ClassVar[Resource] = AppWrapper.resource
    view: ClassVar[type[ObjectView]] = AppWrapper
    user_roles: ClassVar[UserRoles | None] = None
    supports_prebuilt: ClassVar[bool] = True
    managed_by: ClassVar[ManagedBy | None] = ManagedBy(
        ("spec", "managedBy"), "workload.codeflare.dev/appwrapper-controller"
    )

    def places(self, obj: JsonObject) -> list[PodTemplatePlace]:
        """The templates of all components, numbered in their order (JOB-134)."""
        return [
            PodTemplatePlace(_pod_set_name(obj, index), each.count, each.template, (), each.sub_group_count)
            for index, each in enumerate(pods_of(obj))
        ]

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """The pods with the defaults of the API, and of a started job with its infos."""
        is_started = not self.is_suspended(obj)
        return [
            _pod_set(_pod_set_name(obj, index), each, written_info(each) if is_started else None, reads)
            for index, each in enumerate(pods_of(obj))
        ]

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Write the infos into the components (JOB-135); raises PermanentError if one conflicts with its template."""
        found = pods_of(obj)
        expect_count(infos, len(found))
        for pods, info in zip(found, infos, strict=True):
            merge_info(defaulted_template(pods.template), info)
        write_infos(obj, found, infos)
        obj["spec"]["suspend"] = False

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Remove the infos: the wrapped objects are as their author wrote them (JOB-135)."""
        try:
            count = len(pods_of(obj))
        except InvalidFieldError:
            return False
        if count != len(originals):
            return False
        clear_infos(obj)
        return True

    def finished(self, obj: JsonObject) -> Finish | None:
        """By phase; a failed one once its resources are deleted (JOB-136)."""
        phase = value_at(obj, ("status", "phase"))
        if phase == SUCCEEDED:
            return Finish(success=True, message="AppWrapper finished successfully")
        if phase == FAILED and not _holds(obj, "ResourcesDeployed"):
            return Finish(success=False, message="AppWrapper failed")
        return None

    def is_active(self, obj: JsonObject) -> bool:
        """Whether the operator still has the quota in use (JOB-136)."""
        return _holds(obj, "QuotaReserved")

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether the operator reports all pods as ready (JOB-136)."""
        return _holds(obj, "PodsReady")

    def validate_create(self, obj: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """Components whose pods no Workload can have, if the AppWrapper is queued."""
        return list(component_errors(obj)) if is_queued(obj, reads) else []


def _pod_set_name(obj: JsonObject, index: int) -> str:
    return f"{metadata(obj).get('name', '')}-{index}".lower()


def _pod_set(name: str, pods: ComponentPods, info: PodSetInfo | None, reads: ClusterReader) -> JobPodSet:
    template = defaulted_template(pods.template)
    if info is not None:
        template = _merged(template, info)
    request = topology_request(template, reads.gates, pods.labels, pods.sub_group_count)
    return JobPodSet(name, pods.count, template, topology_request=request)


def _merged(template: JsonObject, info: PodSetInfo) -> JsonObject:
    """The template with an info, which a user may have written."""
    merged = deepcopy(template)
    try:
        merge_info(merged, info)
    except PermanentError:
        return template
    return merged


def _holds(obj: JsonObject, condition: str) -> bool:
    return any(each.get("type") == condition for each in true_conditions(obj))
