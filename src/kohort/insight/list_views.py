"""Views of Workloads and LocalQueues with the fields of lists: decoded in a third of the time of the full objects."""

from typing import ClassVar, NamedTuple

import msgspec

from kohort.api.conditions import is_true
from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.meta import OwnerReference, Time
from kohort.api.resource import Resource
from kohort.api.struct import View

GROUP = "kueue.x-k8s.io"
VERSION = "v1beta2"


class LeanPodSet(View):
    """A pod set; its template is not decoded."""

    name: str = ""
    count: int = 1
    template: msgspec.Raw = msgspec.Raw(b"{}")


class LeanSpec(View):
    """Spec of a Workload."""

    queue_name: str = ""
    priority: int | None = None
    active: bool = True
    pod_sets: tuple[LeanPodSet, ...] = ()


class LeanAssignment(View):
    """Assignment of a pod set."""

    flavors: dict[str, str] = {}
    resource_usage: dict[str, str | int | float] = {}


class LeanAdmission(View):
    """Admission of a Workload."""

    cluster_queue: str = ""
    pod_set_assignments: tuple[LeanAssignment, ...] = ()


class LeanRequest(View):
    """Total requests of a pod set, as counted by the manager."""

    resources: dict[str, str | int | float] = {}


class LeanStatus(View):
    """Status of a Workload."""

    conditions: tuple[StatusCondition, ...] = ()
    admission: LeanAdmission | None = None
    resource_requests: tuple[LeanRequest, ...] = ()


class LeanWorkload(ObjectView):
    """A Workload."""

    resource: ClassVar = Resource(GROUP, VERSION, "Workload", "workloads", namespaced=True)

    spec: LeanSpec = LeanSpec()
    status: LeanStatus = LeanStatus()

    def holds(self, type_: str) -> bool:
        """Whether a condition is true."""
        return is_true(self.status.conditions, type_)

    @property
    def owner(self) -> OwnerReference | None:
        """The job that owns it; None without owner."""
        owners = self.metadata.owner_references
        return next((each for each in owners if each.controller), owners[0] if owners else None)


class LeanLocalQueueSpec(View):
    """Spec of a LocalQueue."""

    cluster_queue: str = ""
    stop_policy: str = "None"


class LeanLocalQueueStatus(View):
    """Status of a LocalQueue."""

    conditions: tuple[StatusCondition, ...] = ()


class LeanLocalQueue(ObjectView):
    """A LocalQueue."""

    resource: ClassVar = Resource(GROUP, VERSION, "LocalQueue", "localqueues", namespaced=True)

    spec: LeanLocalQueueSpec = LeanLocalQueueSpec()
    status: LeanLocalQueueStatus = LeanLocalQueueStatus()


class VisibilityPosition(NamedTuple):
    """Positions of a pending Workload, counted from 0."""

    in_cluster_queue: int
    in_local_queue: int


class PendingWorkloadView(View):
    """A pending Workload of the visibility API."""

    metadata: "PendingMetadata" = msgspec.field(default_factory=lambda: PendingMetadata())
    position_in_cluster_queue: int = 0
    position_in_local_queue: int = 0


class PendingMetadata(View):
    """Metadata of a pending Workload."""

    name: str = ""
    namespace: str = ""
    creation_timestamp: Time | None = None


class PendingWorkloads(View):
    """The pending Workloads of a queue, in order."""

    items: tuple[PendingWorkloadView, ...] = ()
