"""Workloads and LocalQueues in as few fields as lists for people need: read in a third of the time of the whole."""

from typing import ClassVar, NamedTuple

import msgspec

from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.meta import OwnerReference, Time
from kohort.api.resource import Resource
from kohort.api.struct import View

GROUP = "kueue.x-k8s.io"
VERSION = "v1beta2"


class LeanPodSet(View):
    """A pod set; its template stays unread."""

    name: str = ""
    count: int = 1
    template: msgspec.Raw = msgspec.Raw(b"{}")


class LeanSpec(View):
    """What a Workload asks for."""

    queue_name: str = ""
    priority: int | None = None
    active: bool = True
    pod_sets: tuple[LeanPodSet, ...] = ()


class LeanAssignment(View):
    """What a pod set holds."""

    flavors: dict[str, str] = {}
    resource_usage: dict[str, str | int | float] = {}


class LeanAdmission(View):
    """Where a Workload holds quota."""

    cluster_queue: str = ""
    pod_set_assignments: tuple[LeanAssignment, ...] = ()


class LeanRequest(View):
    """What a pod set asks for in all, as its manager counted it."""

    resources: dict[str, str | int | float] = {}


class LeanStatus(View):
    """How a Workload fares."""

    conditions: tuple[StatusCondition, ...] = ()
    admission: LeanAdmission | None = None
    resource_requests: tuple[LeanRequest, ...] = ()


class LeanWorkload(ObjectView):
    """A Workload."""

    resource: ClassVar = Resource(GROUP, VERSION, "Workload", "workloads", namespaced=True)

    spec: LeanSpec = LeanSpec()
    status: LeanStatus = LeanStatus()

    def condition(self, type_: str) -> StatusCondition | None:
        """A condition by its type."""
        return next((each for each in self.status.conditions if each.type == type_), None)

    def holds(self, type_: str) -> bool:
        """Whether a condition is true."""
        found = self.condition(type_)
        return found is not None and found.status == "True"

    @property
    def owner(self) -> OwnerReference | None:
        """The job that it stands for; None where nobody controls it."""
        owners = self.metadata.owner_references
        return next((each for each in owners if each.controller), owners[0] if owners else None)


class LeanLocalQueueSpec(View):
    """Where a LocalQueue leads."""

    cluster_queue: str = ""
    stop_policy: str = "None"


class LeanLocalQueueStatus(View):
    """Whether it gets there."""

    conditions: tuple[StatusCondition, ...] = ()


class LeanLocalQueue(ObjectView):
    """A LocalQueue."""

    resource: ClassVar = Resource(GROUP, VERSION, "LocalQueue", "localqueues", namespaced=True)

    spec: LeanLocalQueueSpec = LeanLocalQueueSpec()
    status: LeanLocalQueueStatus = LeanLocalQueueStatus()


class VisibilityPosition(NamedTuple):
    """How many come before."""

    in_cluster_queue: int
    in_local_queue: int


class PendingWorkloadView(View):
    """A Workload that waits, as the visibility API shows it."""

    metadata: "PendingMetadata" = msgspec.field(default_factory=lambda: PendingMetadata())
    position_in_cluster_queue: int = 0
    position_in_local_queue: int = 0


class PendingMetadata(View):
    """Which one."""

    name: str = ""
    namespace: str = ""
    creation_timestamp: Time | None = None


class PendingWorkloads(View):
    """All that wait in a queue, in order."""

    items: tuple[PendingWorkloadView, ...] = ()
