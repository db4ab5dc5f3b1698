"""ClusterQueue, Cohort and LocalQueue, version v1beta2 (API-13 to API-35)."""

from typing import Annotated, Any, ClassVar, Literal

from kohort.api.kinds import CustomObject, KindInfo, PrinterColumn
from kohort.api.kueue.group import cluster_scoped, namespaced
from kohort.api.markers import (
    ATOMIC,
    SET,
    Bounds,
    Int32,
    Int64,
    NoSchemaDefault,
    OneOf,
    RawQuantity,
    Required,
    ResourceList,
    Subdomain,
    keyed,
)
from kohort.api.meta import Condition, LabelSelector, Time
from kohort.api.rules import Rule
from kohort.api.struct import Struct

ConditionList = Annotated[tuple[Annotated[Condition, ATOMIC], ...], keyed("type"), Bounds(max_items=16)]
StopPolicy = Literal["None", "Hold", "HoldAndDrain"]


# Quota


class ResourceQuota(Struct):
    """Quota of a queue or cohort for one resource in one flavor."""

    name: str
    """Name of the resource, such as cpu or nvidia.com/gpu."""
    nominal_quota: RawQuantity
    """Guaranteed quota; unused quota can be borrowed within the cohort."""
    borrowing_limit: RawQuantity | None = None
    """Maximum that can be borrowed in addition to the nominal quota; absent means no limit."""
    lending_limit: RawQuantity | None = None
    """Maximum of the nominal quota that can be lent; absent means all of it."""


class FlavorQuotas(Struct):
    """Quotas of one flavor for all resources of its group."""

    name: Subdomain
    """Name of the ResourceFlavor; the object may be created later."""
    resources: Annotated[tuple[ResourceQuota, ...], keyed("name"), Bounds(min_items=1, max_items=64)]
    """One quota per covered resource, in the order of coveredResources."""


def _lists_every_covered_resource(group: Any, _old: Any) -> bool:
    covered = len(group.get("coveredResources", ()))
    return all(len(flavor.get("resources", ())) == covered for flavor in group.get("flavors", ()))


class ResourceGroup(Struct):
    """Resources that are assigned the same flavor, and their flavors."""

    covered_resources: Annotated[tuple[str, ...], ATOMIC, Bounds(min_items=1, max_items=64)]
    """Names of the resources of this group; a resource belongs to one group only."""
    flavors: Annotated[tuple[FlavorQuotas, ...], keyed("name"), Bounds(min_items=1, max_items=64)]
    """Flavors of these resources, in the order in which they are tried."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-15",
            "self.flavors.all(f, size(f.resources) == size(self.coveredResources))",
            "every flavor lists exactly one quota for each covered resource",
            _lists_every_covered_resource,
        ),
    )


ResourceGroups = Annotated[tuple[ResourceGroup, ...], ATOMIC, Bounds(max_items=16)]


class FairSharing(Struct):
    """Fair-sharing settings of a queue or cohort."""

    weight: RawQuantity = 1
    """Weight relative to others in the same cohort: twice the weight, twice the share; 0 ranks last."""


class FairSharingStatus(Struct):
    """Fair-sharing status of a queue or cohort."""

    weighted_share: Int64
    """Usage above nominal quota in thousandths of the lendable quota, divided by the weight; 0 within nominal quota."""


# ClusterQueue


def _preference_has_a_choice(fungibility: Any, _old: Any) -> bool:
    both_try_next = (
        fungibility.get("whenCanBorrow") == "TryNextFlavor" and fungibility.get("whenCanPreempt") == "TryNextFlavor"
    )
    return "preference" not in fungibility or both_try_next


class FlavorFungibility(Struct):
    """When to stop the search at a flavor, and when to try the next one."""

    when_can_borrow: Literal["MayStopSearch", "TryNextFlavor"] = "MayStopSearch"
    """Action if the workload fits by borrowing."""
    when_can_preempt: Literal["MayStopSearch", "TryNextFlavor"] = "TryNextFlavor"
    """Action if the workload fits by preemption."""
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None
    """Preference between borrowing and preemption; requires TryNextFlavor in both other fields."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-23",
            "!has(self.preference)"
            " || (self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor')",
            "preference needs whenCanBorrow and whenCanPreempt to be TryNextFlavor",
            _preference_has_a_choice,
        ),
    )


class BorrowWithinCohort(Struct):
    """Preemption of workloads of other queues while borrowing."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    """Never, or LowerPriority: workloads of lower priority may be preempted."""
    max_priority_threshold: Int32 | None = None
    """Maximum priority of workloads that may be preempted while borrowing."""


def _borrowing_preemption_can_reclaim(preemption: Any, _old: Any) -> bool:
    borrows = preemption.get("borrowWithinCohort", {}).get("policy", "Never") != "Never"
    return not (preemption.get("reclaimWithinCohort") == "Never" and borrows)


class ClusterQueuePreemption(Struct):
    """Workloads that a pending workload of this queue may preempt."""

    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    """Workloads of other queues that borrow quota of this one."""
    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    """Workloads of the same queue."""
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()
    """Workloads of other queues, if the pending workload has to borrow."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-22",
            "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort)"
            " && self.borrowWithinCohort.policy != 'Never')",
            "borrowWithinCohort needs reclaimWithinCohort other than Never",
            _borrowing_preemption_can_reclaim,
        ),
    )


class AdmissionCheckRule(Struct):
    """An admission check and the flavors it applies to."""

    name: Annotated[str, Bounds(min_length=1, max_length=316)]
    """Name of the AdmissionCheck."""
    on_flavors: Annotated[tuple[Subdomain, ...], SET, Bounds(max_items=64)] = ()
    """Flavors of this queue that require the check; empty means all of them."""


class AdmissionChecksStrategy(Struct):
    """Admission checks that a workload must pass after quota is reserved."""

    admission_checks: Annotated[
        tuple[AdmissionCheckRule, ...], keyed("name"), Bounds(min_items=1, max_items=64), Required()
    ] = ()
    """The checks, each once."""


class AdmissionScope(Struct):
    """Admission fair sharing between the LocalQueues of this queue."""

    admission_mode: Annotated[str, OneOf(("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"))]
    """Whether workloads are ordered by past usage of their LocalQueues."""


class MigrationConstraints(Struct):
    """Constraints on migration between flavors."""

    last_acceptable_flavor_name: Subdomain | None = None
    """Last flavor, in order of preference, on which the workload may stay."""


class ConcurrentAdmissionMigration(Struct):
    """Migration of a workload between flavors after its first admission."""

    mode: Annotated[Literal["TryPreferredFlavors", "RetainFirstAdmission"], Bounds(max_length=253)]
    """TryPreferredFlavors migrates to preferred flavors with free quota; RetainFirstAdmission never migrates."""
    constraints: MigrationConstraints | None = None
    """Constraints on the migration; only with TryPreferredFlavors."""


class ConcurrentAdmissionPolicy(Struct):
    """Allows a workload to compete for several flavors at the same time."""

    migration: ConcurrentAdmissionMigration
    """Migration to preferred flavors after admission."""


def _borrows_only_in_a_cohort(spec: Any, _old: Any) -> bool:
    return "cohortName" in spec or not any_borrowing_limit(spec)


def any_borrowing_limit(spec: Any) -> bool:
    """Whether the JSON spec contains a borrowingLimit."""
    return any(
        "borrowingLimit" in resource
        for group in spec.get("resourceGroups", ())
        for flavor in group.get("flavors", ())
        for resource in flavor.get("resources", ())
    )


NO_BORROWING_LIMIT_CEL = (
    "!has(self.resourceGroups)"
    " || self.resourceGroups.all(g, g.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit))))"
)


class ClusterQueuePolicies(Struct):
    """Fields of ClusterQueueSpec that both versions have in common."""

    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    """StrictFIFO: a head that does not fit blocks later workloads; BestEffortFIFO: it does not."""
    namespace_selector: Annotated[LabelSelector, ATOMIC] | None = None
    """Namespaces that may use this queue; absent means none, an empty selector means all."""
    preemption: ClusterQueuePreemption = ClusterQueuePreemption()
    """Workloads that pending workloads may preempt."""
    stop_policy: StopPolicy = "None"
    """Hold stops admission; HoldAndDrain also evicts admitted workloads."""
    fair_sharing: FairSharing | None = None
    """Weight of this queue in its cohort, if fair sharing is enabled."""


class ClusterQueueSpec(ClusterQueuePolicies):
    """Quota and policies of a ClusterQueue."""

    resource_groups: ResourceGroups = ()
    """Quotas, in groups of resources that share a flavor."""
    cohort_name: Subdomain | None = None
    """Cohort to borrow from and lend to; the Cohort object need not exist."""
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    """When to try the next flavor instead of borrowing or preemption in this one."""
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    """Admission checks after quota reservation."""
    admission_scope: AdmissionScope | None = None
    """Admission fair sharing between the LocalQueues of this queue."""
    concurrent_admission_policy: ConcurrentAdmissionPolicy | None = None
    """Allows workloads to compete for several flavors at once; immutable."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-13",
            f"has(self.cohortName) || {NO_BORROWING_LIMIT_CEL}",
            "borrowingLimit needs a cohort: set cohortName or remove the limit",
            _borrows_only_in_a_cohort,
        ),
    )


class ResourceUsage(Struct):
    """Usage of one resource in one flavor."""

    name: str
    """Name of the resource."""
    total: RawQuantity | None = None
    """Used amount."""
    borrowed: RawQuantity | None = None
    """Part of the total above the nominal quota."""


class FlavorUsage(Struct):
    """Usage of one flavor."""

    name: Subdomain
    """Name of the flavor."""
    resources: Annotated[tuple[ResourceUsage, ...], keyed("name"), Bounds(max_items=64)]
    """Usage per resource."""


class ClusterQueueUsage(Struct):
    """Fields of ClusterQueueStatus that both versions have in common."""

    flavors_reservation: Annotated[tuple[FlavorUsage, ...], keyed("name"), Bounds(max_items=64)] = ()
    """Quota reserved by workloads, admitted or not."""
    flavors_usage: Annotated[tuple[FlavorUsage, ...], keyed("name"), Bounds(max_items=64)] = ()
    """Quota used by admitted workloads."""
    pending_workloads: Int32 | None = None
    """Number of pending workloads."""
    reserving_workloads: Int32 | None = None
    """Number of workloads with reserved quota."""
    admitted_workloads: Int32 | None = None
    """Number of admitted workloads that have not finished."""


class ClusterQueueStatus(ClusterQueueUsage):
    """Current usage and state of the queue."""

    conditions: ConditionList = ()
    """Active: whether the queue admits workloads."""
    fair_sharing: FairSharingStatus | None = None
    """Set if fair sharing is enabled."""


class ClusterQueue(CustomObject):
    """A pool of quota for the workloads of one or more namespaces."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "ClusterQueue", "clusterqueues"),
        short_names=("cq",),
        has_status=True,
        is_storage=True,
        columns=(
            PrinterColumn("Cohort", ".spec.cohortName"),
            PrinterColumn("Strategy", ".spec.queueingStrategy", wide=True),
            PrinterColumn("Pending Workloads", ".status.pendingWorkloads", "integer"),
            PrinterColumn("Admitted Workloads", ".status.admittedWorkloads", "integer", wide=True),
        ),
    )

    spec: Annotated[ClusterQueueSpec, NoSchemaDefault()] = ClusterQueueSpec()
    """Quota and policies."""
    status: Annotated[ClusterQueueStatus, NoSchemaDefault()] = ClusterQueueStatus()
    """Current usage and state of the queue."""


# Cohort


class CohortSpec(Struct):
    """Parent and quota of a cohort."""

    parent_name: Subdomain | None = None
    """Parent cohort; absent makes this a root. A parent that does not exist is an unlimited root."""
    resource_groups: ResourceGroups = ()
    """Quota that all queues below can borrow, in addition to quota of the queues."""
    fair_sharing: FairSharing | None = None
    """Weight of this cohort among its siblings, if fair sharing is enabled."""


class CohortStatus(Struct):
    """Current state of the cohort."""

    fair_sharing: FairSharingStatus | None = None
    """Set if fair sharing is enabled; 0 for a root."""


class Cohort(CustomObject):
    """A node of a tree in which ClusterQueues lend and borrow quota."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "Cohort", "cohorts"), short_names=("co",), has_status=True, is_storage=True
    )

    spec: Annotated[CohortSpec, NoSchemaDefault()] = CohortSpec()
    """Parent and quota."""
    status: Annotated[CohortStatus, NoSchemaDefault()] = CohortStatus()
    """Current state of the cohort."""


# LocalQueue

CLUSTER_QUEUE_IS_FIXED = Rule(
    "API-34",
    "self == oldSelf",
    "clusterQueue can't be changed: create another LocalQueue and move the workloads",
    lambda name, old: bool(name == old),
)


class LocalQueueSpec(Struct):
    """The ClusterQueue and the stop policy of a LocalQueue."""

    cluster_queue: Annotated[Subdomain, CLUSTER_QUEUE_IS_FIXED] | None = None
    """ClusterQueue of this queue; may be created later, immutable once set."""
    stop_policy: StopPolicy = "None"
    """Hold stops admission; HoldAndDrain also evicts admitted workloads."""
    fair_sharing: FairSharing | None = None
    """Weight of this queue among the LocalQueues of its ClusterQueue."""


class LocalQueueResourceUsage(Struct):
    """Usage of one resource in one flavor."""

    name: str
    """Name of the resource."""
    total: RawQuantity | None = None
    """Used amount."""


class LocalQueueFlavorUsage(Struct):
    """Usage of one flavor."""

    name: Subdomain
    """Name of the flavor."""
    resources: Annotated[tuple[LocalQueueResourceUsage, ...], keyed("name"), Bounds(max_items=64)]
    """Usage per resource."""


class AdmissionFairSharingStatus(Struct):
    """Decayed past usage of the queue."""

    consumed_resources: ResourceList
    """Decayed past usage."""
    last_update: Time
    """When the usage was last updated."""


class LocalQueueFairSharingStatus(Struct):
    """Fair-sharing status of a LocalQueue."""

    weighted_share: Int64
    """Not computed for LocalQueues; always 0."""
    admission_fair_sharing_status: AdmissionFairSharingStatus | None = None
    """Past usage, if admission fair sharing is enabled."""


class LocalQueueUsage(Struct):
    """Fields of LocalQueueStatus that both versions have in common."""

    pending_workloads: Int32 | None = None
    """Number of pending workloads."""
    reserving_workloads: Int32 | None = None
    """Number of workloads with reserved quota."""
    admitted_workloads: Int32 | None = None
    """Number of admitted workloads that have not finished."""
    flavors_reservation: Annotated[tuple[LocalQueueFlavorUsage, ...], keyed("name"), Bounds(max_items=64)] = ()
    """Quota reserved by workloads of this queue."""
    fair_sharing: LocalQueueFairSharingStatus | None = None
    """Set if admission fair sharing is enabled."""


class LocalQueueStatus(LocalQueueUsage):
    """Current usage and state of the queue."""

    conditions: ConditionList = ()
    """Active: whether workloads of this queue can be admitted."""
    flavors_usage: Annotated[tuple[LocalQueueFlavorUsage, ...], keyed("name"), Bounds(max_items=64)] = ()
    """Quota used by admitted workloads of this queue."""


LOCAL_QUEUE_COLUMNS = (
    PrinterColumn("ClusterQueue", ".spec.clusterQueue"),
    PrinterColumn("Pending Workloads", ".status.pendingWorkloads", "integer"),
    PrinterColumn("Admitted Workloads", ".status.admittedWorkloads", "integer"),
)


class LocalQueue(CustomObject):
    """A queue of a namespace, to which users submit jobs."""

    info: ClassVar[KindInfo] = KindInfo(
        namespaced("v1beta2", "LocalQueue", "localqueues"),
        short_names=("queue", "queues", "lq"),
        has_status=True,
        is_storage=True,
        columns=LOCAL_QUEUE_COLUMNS,
    )

    spec: Annotated[LocalQueueSpec, NoSchemaDefault()] = LocalQueueSpec()
    """The ClusterQueue and the stop policy."""
    status: Annotated[LocalQueueStatus, NoSchemaDefault()] = LocalQueueStatus()
    """Current usage and state of the queue."""
