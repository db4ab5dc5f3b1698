"""ClusterQueue, Cohort and LocalQueue, version v1beta1."""

from typing import Annotated, Any, ClassVar, Literal

from kohort.api.kinds import CustomObject, KindInfo, PrinterColumn
from kohort.api.kueue.v1beta1.info import like
from kohort.api.kueue.v1beta2 import queues as v2
from kohort.api.markers import ATOMIC, Bounds, Int64, NoSchemaDefault, Required, Subdomain, keyed
from kohort.api.meta import Condition, Taint, Time
from kohort.api.rules import Rule
from kohort.api.struct import Struct

ConditionList = Annotated[tuple[Annotated[Condition, ATOMIC], ...], keyed("type")]


class ResourceGroup(v2.ResourceGroup):
    """Resources that are assigned the same flavor, and their flavors."""

    covered_resources: Annotated[tuple[str, ...], Bounds(min_items=1, max_items=64)]
    """Names of the resources of this group; a resource belongs to one group only."""


ResourceGroups = Annotated[tuple[ResourceGroup, ...], ATOMIC, Bounds(max_items=16)]


class FairSharingStatus(Struct):
    """Fair-sharing status of a queue or cohort."""

    weighted_share: Int64
    """Usage above nominal quota in thousandths of the lendable quota, divided by the weight; 0 within nominal quota."""
    admission_fair_sharing_status: v2.AdmissionFairSharingStatus | None = None
    """Not set any more."""


# ClusterQueue


class FlavorFungibility(v2.FlavorFungibility):
    """When to stop the search at a flavor, and when to try the next one."""

    when_can_borrow: Literal["Borrow", "MayStopSearch", "TryNextFlavor"] = "MayStopSearch"  # type: ignore[assignment]
    """Action if the workload fits by borrowing; Borrow is the old name of MayStopSearch."""
    when_can_preempt: Literal["Preempt", "MayStopSearch", "TryNextFlavor"] = "TryNextFlavor"  # type: ignore[assignment]
    """Action if the workload fits by preemption; Preempt is the old name of MayStopSearch."""


class AdmissionCheckRule(Struct):
    """An admission check and the flavors it applies to."""

    name: Annotated[str, Bounds(max_length=316)]
    """Name of the AdmissionCheck."""
    on_flavors: tuple[Subdomain, ...] = ()
    """Flavors of this queue that require the check; empty means all of them."""


class AdmissionChecksStrategy(Struct):
    """Admission checks that a workload must pass after quota is reserved."""

    admission_checks: tuple[AdmissionCheckRule, ...] = ()
    """The checks."""


class AdmissionScope(Struct):
    """Admission fair sharing between the LocalQueues of this queue."""

    admission_mode: str
    """Whether workloads are ordered by past usage of their LocalQueues."""


def _borrows_only_in_a_cohort(spec: Any, _old: Any) -> bool:
    return "cohort" in spec or not v2.any_borrowing_limit(spec)


class ClusterQueueSpec(v2.ClusterQueuePolicies):
    """Quota and policies of a ClusterQueue."""

    resource_groups: ResourceGroups = ()
    """Quotas, in groups of resources that share a flavor."""
    cohort: Subdomain | None = None
    """Cohort to borrow from and lend to; the Cohort object need not exist."""
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    """When to try the next flavor instead of borrowing or preemption in this one."""
    admission_checks: tuple[Annotated[str, Bounds(max_length=316)], ...] = ()
    """Checks for all flavors; takes precedence over admissionChecksStrategy."""
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    """Admission checks after quota reservation."""
    admission_scope: AdmissionScope | None = None
    """Admission fair sharing between the LocalQueues of this queue."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-13",
            f"has(self.cohort) || {v2.NO_BORROWING_LIMIT_CEL}",
            "borrowingLimit needs a cohort: set cohort or remove the limit",
            _borrows_only_in_a_cohort,
        ),
    )


class PendingWorkload(Struct):
    """A pending workload."""

    name: str
    """Name of the workload."""
    namespace: str
    """Namespace of the workload."""


class PendingWorkloadsStatus(Struct):
    """The first pending workloads; replaced by the visibility API."""

    cluster_queue_pending_workload: Annotated[tuple[PendingWorkload, ...], ATOMIC] = ()
    """The workloads."""
    last_change_time: Annotated[Time, Required()] | None = None
    """When the list last changed."""


class ClusterQueueStatus(v2.ClusterQueueUsage):
    """Current usage and state of the queue."""

    conditions: ConditionList = ()
    """Active: whether the queue admits workloads."""
    pending_workloads_status: PendingWorkloadsStatus | None = None
    """Not set any more."""
    fair_sharing: FairSharingStatus | None = None
    """Set if fair sharing is enabled."""


class ClusterQueue(CustomObject):
    """A pool of quota for the workloads of one or more namespaces."""

    info: ClassVar[KindInfo] = like(
        v2.ClusterQueue, columns=(PrinterColumn("Cohort", ".spec.cohort"), *v2.ClusterQueue.info.columns[1:])
    )

    spec: Annotated[ClusterQueueSpec, NoSchemaDefault()] = ClusterQueueSpec()
    """Quota and policies."""
    status: Annotated[ClusterQueueStatus, NoSchemaDefault()] = ClusterQueueStatus()
    """Current usage and state of the queue."""


# Cohort


class CohortSpec(v2.CohortSpec):
    """Parent and quota of a cohort."""

    resource_groups: ResourceGroups = ()
    """Quota that all queues below can borrow, in addition to quota of the queues."""


class CohortStatus(Struct):
    """Current state of the cohort."""

    fair_sharing: FairSharingStatus | None = None
    """Set if fair sharing is enabled; 0 for a root."""


class Cohort(CustomObject):
    """A node of a tree in which ClusterQueues lend and borrow quota."""

    info: ClassVar[KindInfo] = like(v2.Cohort)

    spec: Annotated[CohortSpec, NoSchemaDefault()] = CohortSpec()
    """Parent and quota."""
    status: Annotated[CohortStatus, NoSchemaDefault()] = CohortStatus()
    """Current state of the cohort."""


# LocalQueue


class FlavorTopology(Struct):
    """The topology of a flavor's nodes."""

    name: str
    """Name of the topology."""
    levels: Annotated[tuple[str, ...], ATOMIC]
    """Levels of the topology."""


class LocalQueueFlavor(Struct):
    """A flavor of the queue; not set any more."""

    name: Subdomain
    """Name of the flavor."""
    resources: tuple[str, ...] = ()
    """Resources of the flavor."""
    node_labels: dict[str, str] = {}
    """Labels of its nodes."""
    node_taints: tuple[Taint, ...] = ()
    """Taints of its nodes."""
    topology: FlavorTopology | None = None
    """Topology of its nodes."""


class LocalQueueStatus(v2.LocalQueueUsage):
    """Current usage and state of the queue."""

    conditions: ConditionList = ()
    """Active: whether workloads of this queue can be admitted."""
    flavor_usage: Annotated[tuple[v2.LocalQueueFlavorUsage, ...], keyed("name"), Bounds(max_items=64)] = ()
    """Quota used by admitted workloads of this queue."""
    flavors: Annotated[tuple[LocalQueueFlavor, ...], keyed("name")] = ()
    """Not set any more."""


class LocalQueue(CustomObject):
    """A queue of a namespace, to which users submit jobs."""

    info: ClassVar[KindInfo] = like(v2.LocalQueue)

    spec: Annotated[v2.LocalQueueSpec, NoSchemaDefault()] = v2.LocalQueueSpec()
    """The ClusterQueue and the stop policy."""
    status: Annotated[LocalQueueStatus, NoSchemaDefault()] = LocalQueueStatus()
    """Current usage and state of the queue."""
