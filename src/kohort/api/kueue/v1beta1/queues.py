"""ClusterQueue, Cohort and LocalQueue, version v1beta1."""

from typing import Annotated, Any, ClassVar, Literal

from kohort.api.kinds import CustomObject, KindInfo, PrinterColumn
from kohort.api.kueue.v1beta1.info import like
from kohort.api.kueue.v1beta2 import queues as v2
from kohort.api.markers import ATOMIC, Bounds, Int64, NoSchemaDefault, Required, Subdomain, keyed
from kohort.api.meta import Condition, Taint, Time
from kohort.api.rules import Rule
from kohort.api.struct import Struct

Conditions = Annotated[tuple[Annotated[Condition, ATOMIC], ...], keyed("type")]


class ResourceGroup(v2.ResourceGroup):
    """Resources that are always taken from the same flavor, and the flavors to take them from."""

    covered_resources: Annotated[tuple[str, ...], Bounds(min_items=1, max_items=64)]
    """Names of the resources of this group; a resource belongs to one group only."""


ResourceGroups = Annotated[tuple[ResourceGroup, ...], ATOMIC, Bounds(max_items=16)]


class FairSharingStatus(Struct):
    """Where the queue or cohort stands among those it shares with."""

    weighted_share: Int64
    """Use above its own quota in thousandths of what can be lent, divided by the weight; 0 when within quota."""
    admission_fair_sharing_status: v2.AdmissionFairSharingStatus | None = None
    """No longer filled in."""


# ClusterQueue


class FlavorFungibility(v2.FlavorFungibility):
    """When to be content with a flavor, and when to look at the next one."""

    when_can_borrow: Literal["Borrow", "MayStopSearch", "TryNextFlavor"] = "MayStopSearch"  # type: ignore[assignment]
    """What to do when the workload fits by borrowing; Borrow is the old name of MayStopSearch."""
    when_can_preempt: Literal["Preempt", "MayStopSearch", "TryNextFlavor"] = "TryNextFlavor"  # type: ignore[assignment]
    """What to do when the workload fits by preempting others; Preempt is the old name of MayStopSearch."""


class AdmissionCheckRule(Struct):
    """An admission check and the flavors it applies to."""

    name: Annotated[str, Bounds(max_length=316)]
    """Name of the AdmissionCheck."""
    on_flavors: tuple[Subdomain, ...] = ()
    """Flavors of this queue that need the check; empty means all of them."""


class AdmissionChecksStrategy(Struct):
    """Admission checks that a workload must pass after quota is reserved."""

    admission_checks: tuple[AdmissionCheckRule, ...] = ()
    """The checks."""


class AdmissionScope(Struct):
    """How LocalQueues share this queue."""

    admission_mode: str
    """Whether LocalQueues that used less in the past go first."""


def _borrows_only_in_a_cohort(spec: Any, _old: Any) -> bool:
    return "cohort" in spec or not v2.any_borrowing_limit(spec)


class ClusterQueueSpec(v2.ClusterQueuePolicies):
    """Quota, order and policies of a ClusterQueue."""

    resource_groups: ResourceGroups = ()
    """Quotas, in groups of resources that share a flavor."""
    cohort: Subdomain | None = None
    """Cohort to borrow from and lend to; the Cohort object need not exist."""
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    """When to try the next flavor instead of borrowing or preempting in this one."""
    admission_checks: tuple[Annotated[str, Bounds(max_length=316)], ...] = ()
    """Checks that apply to every flavor; takes the place of admissionChecksStrategy where both are given."""
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    """Checks that follow the quota reservation."""
    admission_scope: AdmissionScope | None = None
    """How LocalQueues share this queue."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-13",
            f"has(self.cohort) || {v2.NO_BORROWING_LIMIT_CEL}",
            "borrowingLimit needs a cohort: set cohort or remove the limit",
            _borrows_only_in_a_cohort,
        ),
    )


class PendingWorkload(Struct):
    """A workload that waits."""

    name: str
    """Name of the workload."""
    namespace: str
    """Its namespace."""


class PendingWorkloadsStatus(Struct):
    """The first of the workloads that wait; replaced by the visibility API."""

    cluster_queue_pending_workload: Annotated[tuple[PendingWorkload, ...], ATOMIC] = ()
    """The workloads."""
    last_change_time: Annotated[Time, Required()] | None = None
    """When the list last changed."""


class ClusterQueueStatus(v2.ClusterQueueUsage):
    """What the queue holds at present."""

    conditions: Conditions = ()
    """Active tells whether the queue admits workloads."""
    pending_workloads_status: PendingWorkloadsStatus | None = None
    """No longer filled in."""
    fair_sharing: FairSharingStatus | None = None
    """Present when fair sharing is on."""


class ClusterQueue(CustomObject):
    """A pool of quota that workloads of many namespaces wait for."""

    info: ClassVar[KindInfo] = like(
        v2.ClusterQueue, columns=(PrinterColumn("Cohort", ".spec.cohort"), *v2.ClusterQueue.info.columns[1:])
    )

    spec: Annotated[ClusterQueueSpec, NoSchemaDefault()] = ClusterQueueSpec()
    """Quota, order and policies."""
    status: Annotated[ClusterQueueStatus, NoSchemaDefault()] = ClusterQueueStatus()
    """What the queue holds at present."""


# Cohort


class CohortSpec(v2.CohortSpec):
    """A cohort's place in the tree and the quota it brings."""

    resource_groups: ResourceGroups = ()
    """Quota that every queue below may borrow, on top of what the queues bring."""


class CohortStatus(Struct):
    """Where the cohort stands."""

    fair_sharing: FairSharingStatus | None = None
    """Present when fair sharing is on; 0 for a root."""


class Cohort(CustomObject):
    """A node of the tree in which ClusterQueues lend and borrow."""

    info: ClassVar[KindInfo] = like(v2.Cohort)

    spec: Annotated[CohortSpec, NoSchemaDefault()] = CohortSpec()
    """Place in the tree and quota."""
    status: Annotated[CohortStatus, NoSchemaDefault()] = CohortStatus()
    """Where the cohort stands."""


# LocalQueue


class FlavorTopology(Struct):
    """The topology of a flavor's nodes."""

    name: str
    """Name of the topology."""
    levels: Annotated[tuple[str, ...], ATOMIC]
    """Its levels."""


class LocalQueueFlavor(Struct):
    """A flavor that the queue offers; no longer filled in."""

    name: Subdomain
    """Name of the flavor."""
    resources: tuple[str, ...] = ()
    """Resources it offers."""
    node_labels: dict[str, str] = {}
    """Labels of its nodes."""
    node_taints: tuple[Taint, ...] = ()
    """Taints of its nodes."""
    topology: FlavorTopology | None = None
    """Topology of its nodes."""


class LocalQueueStatus(v2.LocalQueueUsage):
    """What the queue holds at present."""

    conditions: Conditions = ()
    """Active tells whether workloads of this queue can be admitted."""
    flavor_usage: Annotated[tuple[v2.LocalQueueFlavorUsage, ...], keyed("name"), Bounds(max_items=64)] = ()
    """Quota in use by admitted workloads of this queue."""
    flavors: Annotated[tuple[LocalQueueFlavor, ...], keyed("name")] = ()
    """No longer filled in."""


class LocalQueue(CustomObject):
    """The queue of a namespace that users submit to."""

    info: ClassVar[KindInfo] = like(v2.LocalQueue)

    spec: Annotated[v2.LocalQueueSpec, NoSchemaDefault()] = v2.LocalQueueSpec()
    """The ClusterQueue behind it."""
    status: Annotated[LocalQueueStatus, NoSchemaDefault()] = LocalQueueStatus()
    """What the queue holds at present."""
