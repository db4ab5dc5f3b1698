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

Conditions = Annotated[tuple[Annotated[Condition, ATOMIC], ...], keyed("type"), Bounds(max_items=16)]
StopPolicy = Literal["None", "Hold", "HoldAndDrain"]


# Quota


class ResourceQuota(Struct):
    """How much of one resource a queue or cohort has in one flavor."""

    name: str
    """Name of the resource, such as cpu or nvidia.com/gpu."""
    nominal_quota: RawQuantity
    """Quota owned outright; what is not in use may be lent within the cohort."""
    borrowing_limit: RawQuantity | None = None
    """Most that may be borrowed on top of the nominal quota; without it, borrowing has no limit of its own."""
    lending_limit: RawQuantity | None = None
    """Most of the nominal quota that others may borrow; without it, all of it."""


class FlavorQuotas(Struct):
    """Quotas of one flavor for every resource of its group."""

    name: Subdomain
    """Name of the ResourceFlavor; the object may be created later."""
    resources: Annotated[tuple[ResourceQuota, ...], keyed("name"), Bounds(min_items=1, max_items=64)]
    """One quota per covered resource, in the order of coveredResources."""


def _lists_every_covered_resource(group: Any, _old: Any) -> bool:
    covered = len(group.get("coveredResources", ()))
    return all(len(flavor.get("resources", ())) == covered for flavor in group.get("flavors", ()))


class ResourceGroup(Struct):
    """Resources that are always taken from the same flavor, and the flavors to take them from."""

    covered_resources: Annotated[tuple[str, ...], ATOMIC, Bounds(min_items=1, max_items=64)]
    """Names of the resources of this group; a resource belongs to one group only."""
    flavors: Annotated[tuple[FlavorQuotas, ...], keyed("name"), Bounds(min_items=1, max_items=64)]
    """Flavors that offer these resources, in the order they are tried."""

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
    """The claim to shared capacity, compared with that of others."""

    weight: RawQuantity = 1
    """Share relative to others of the same cohort: twice the weight, twice the share. 0 gives way to everybody."""


class FairSharingStatus(Struct):
    """Where the queue or cohort stands among those it shares with."""

    weighted_share: Int64
    """Use above its own quota in thousandths of what can be lent, divided by the weight; 0 when within quota."""


# ClusterQueue


def _preference_has_a_choice(fungibility: Any, _old: Any) -> bool:
    both_try_next = (
        fungibility.get("whenCanBorrow") == "TryNextFlavor" and fungibility.get("whenCanPreempt") == "TryNextFlavor"
    )
    return "preference" not in fungibility or both_try_next


class FlavorFungibility(Struct):
    """When to be content with a flavor, and when to look at the next one."""

    when_can_borrow: Literal["MayStopSearch", "TryNextFlavor"] = "MayStopSearch"
    """What to do when the workload fits by borrowing."""
    when_can_preempt: Literal["MayStopSearch", "TryNextFlavor"] = "TryNextFlavor"
    """What to do when the workload fits by preempting others."""
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None
    """Which of the two is better when both are possible; needs TryNextFlavor in both other fields."""

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
    """Whether a workload that has to borrow may preempt workloads of other queues."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    """Never, or LowerPriority: workloads of lower priority may be preempted."""
    max_priority_threshold: Int32 | None = None
    """Only workloads of at most this priority may be preempted by a borrower."""


def _borrowing_preemption_can_reclaim(preemption: Any, _old: Any) -> bool:
    borrows = preemption.get("borrowWithinCohort", {}).get("policy", "Never") != "Never"
    return not (preemption.get("reclaimWithinCohort") == "Never" and borrows)


class ClusterQueuePreemption(Struct):
    """Whom a pending workload of this queue may preempt."""

    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    """Workloads of other queues that hold quota borrowed from this one."""
    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    """Workloads of the same queue."""
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()
    """Workloads of other queues, when the pending workload itself has to borrow."""

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
    """Flavors of this queue that need the check; empty means all of them."""


class AdmissionChecksStrategy(Struct):
    """Admission checks that a workload must pass after quota is reserved."""

    admission_checks: Annotated[
        tuple[AdmissionCheckRule, ...], keyed("name"), Bounds(min_items=1, max_items=64), Required()
    ] = ()
    """The checks, each once."""


class AdmissionScope(Struct):
    """How LocalQueues share this queue."""

    admission_mode: Annotated[str, OneOf(("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"))]
    """Whether LocalQueues that used less in the past go first."""


class MigrationConstraints(Struct):
    """Bounds of migration between flavors."""

    last_acceptable_flavor_name: Subdomain | None = None
    """Worst flavor on which the workload may stay."""


class ConcurrentAdmissionMigration(Struct):
    """How a workload moves between flavors after its first admission."""

    mode: Annotated[Literal["TryPreferredFlavors", "RetainFirstAdmission"], Bounds(max_length=253)]
    """TryPreferredFlavors moves to better flavors when they become free; RetainFirstAdmission never moves."""
    constraints: MigrationConstraints | None = None
    """Bounds of the migration; only with TryPreferredFlavors."""


class ConcurrentAdmissionPolicy(Struct):
    """Lets a workload compete for several flavors at the same time."""

    migration: ConcurrentAdmissionMigration
    """How it moves to better flavors later."""


def _borrows_only_in_a_cohort(spec: Any, _old: Any) -> bool:
    return "cohortName" in spec or not any_borrowing_limit(spec)


def any_borrowing_limit(spec: Any) -> bool:
    """Whether the JSON spec sets a borrowingLimit anywhere."""
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
    """What a ClusterQueue says alike in both versions."""

    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    """StrictFIFO: the oldest workload blocks the others; BestEffortFIFO: those that fit go ahead of it."""
    namespace_selector: Annotated[LabelSelector, ATOMIC] | None = None
    """Namespaces that may use this queue; absent means none, an empty selector means all."""
    preemption: ClusterQueuePreemption = ClusterQueuePreemption()
    """Whom pending workloads may preempt."""
    stop_policy: StopPolicy = "None"
    """Hold admits nothing more; HoldAndDrain also evicts what was admitted."""
    fair_sharing: FairSharing | None = None
    """Weight of this queue in its cohort, when fair sharing is on."""


class ClusterQueueSpec(ClusterQueuePolicies):
    """Quota, order and policies of a ClusterQueue."""

    resource_groups: ResourceGroups = ()
    """Quotas, in groups of resources that share a flavor."""
    cohort_name: Subdomain | None = None
    """Cohort to borrow from and lend to; the Cohort object need not exist."""
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    """When to try the next flavor instead of borrowing or preempting in this one."""
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    """Checks that follow the quota reservation."""
    admission_scope: AdmissionScope | None = None
    """How LocalQueues share this queue."""
    concurrent_admission_policy: ConcurrentAdmissionPolicy | None = None
    """Lets workloads compete for several flavors at once; fixed at creation."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-13",
            f"has(self.cohortName) || {NO_BORROWING_LIMIT_CEL}",
            "borrowingLimit needs a cohort: set cohortName or remove the limit",
            _borrows_only_in_a_cohort,
        ),
    )


class ResourceUsage(Struct):
    """Use of one resource in one flavor."""

    name: str
    """Name of the resource."""
    total: RawQuantity | None = None
    """Amount in use."""
    borrowed: RawQuantity | None = None
    """Part of the total above the nominal quota."""


class FlavorUsage(Struct):
    """Use of one flavor."""

    name: Subdomain
    """Name of the flavor."""
    resources: Annotated[tuple[ResourceUsage, ...], keyed("name"), Bounds(max_items=64)]
    """Use per resource."""


class ClusterQueueUsage(Struct):
    """What a ClusterQueue reports alike in both versions."""

    flavors_reservation: Annotated[tuple[FlavorUsage, ...], keyed("name"), Bounds(max_items=64)] = ()
    """Quota reserved by workloads, admitted or not."""
    flavors_usage: Annotated[tuple[FlavorUsage, ...], keyed("name"), Bounds(max_items=64)] = ()
    """Quota in use by admitted workloads."""
    pending_workloads: Int32 | None = None
    """Workloads that wait."""
    reserving_workloads: Int32 | None = None
    """Workloads that hold a reservation."""
    admitted_workloads: Int32 | None = None
    """Workloads that were admitted and have not finished."""


class ClusterQueueStatus(ClusterQueueUsage):
    """What the queue holds at present."""

    conditions: Conditions = ()
    """Active tells whether the queue admits workloads."""
    fair_sharing: FairSharingStatus | None = None
    """Present when fair sharing is on."""


class ClusterQueue(CustomObject):
    """A pool of quota that workloads of many namespaces wait for."""

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
    """Quota, order and policies."""
    status: Annotated[ClusterQueueStatus, NoSchemaDefault()] = ClusterQueueStatus()
    """What the queue holds at present."""


# Cohort


class CohortSpec(Struct):
    """A cohort's place in the tree and the quota it brings."""

    parent_name: Subdomain | None = None
    """Parent cohort; absent makes this a root. A parent that does not exist is an unlimited root."""
    resource_groups: ResourceGroups = ()
    """Quota that every queue below may borrow, on top of what the queues bring."""
    fair_sharing: FairSharing | None = None
    """Weight of this cohort among its siblings, when fair sharing is on."""


class CohortStatus(Struct):
    """Where the cohort stands."""

    fair_sharing: FairSharingStatus | None = None
    """Present when fair sharing is on; 0 for a root."""


class Cohort(CustomObject):
    """A node of the tree in which ClusterQueues lend and borrow."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "Cohort", "cohorts"), short_names=("co",), has_status=True, is_storage=True
    )

    spec: Annotated[CohortSpec, NoSchemaDefault()] = CohortSpec()
    """Place in the tree and quota."""
    status: Annotated[CohortStatus, NoSchemaDefault()] = CohortStatus()
    """Where the cohort stands."""


# LocalQueue

CLUSTER_QUEUE_IS_FIXED = Rule(
    "API-34",
    "self == oldSelf",
    "clusterQueue can't be changed: create another LocalQueue and move the workloads",
    lambda name, old: bool(name == old),
)


class LocalQueueSpec(Struct):
    """The ClusterQueue behind a LocalQueue, and whether it takes work."""

    cluster_queue: Annotated[Subdomain, CLUSTER_QUEUE_IS_FIXED] | None = None
    """ClusterQueue that backs this queue; it may be created later, and can't be changed once set."""
    stop_policy: StopPolicy = "None"
    """Hold admits nothing more; HoldAndDrain also evicts what was admitted."""
    fair_sharing: FairSharing | None = None
    """Weight of this queue among the LocalQueues of its ClusterQueue."""


class LocalQueueResourceUsage(Struct):
    """Use of one resource in one flavor."""

    name: str
    """Name of the resource."""
    total: RawQuantity | None = None
    """Amount in use."""


class LocalQueueFlavorUsage(Struct):
    """Use of one flavor."""

    name: Subdomain
    """Name of the flavor."""
    resources: Annotated[tuple[LocalQueueResourceUsage, ...], keyed("name"), Bounds(max_items=64)]
    """Use per resource."""


class AdmissionFairSharingStatus(Struct):
    """The queue's decayed use in the past."""

    consumed_resources: ResourceList
    """Use so far, older use counting less."""
    last_update: Time
    """When the use was last added up."""


class LocalQueueFairSharingStatus(Struct):
    """Where the queue stands among the LocalQueues of its ClusterQueue."""

    weighted_share: Int64
    """Not computed for LocalQueues; always 0."""
    admission_fair_sharing_status: AdmissionFairSharingStatus | None = None
    """Use in the past, when admission fair sharing is on."""


class LocalQueueUsage(Struct):
    """What a LocalQueue reports alike in both versions."""

    pending_workloads: Int32 | None = None
    """Workloads that wait."""
    reserving_workloads: Int32 | None = None
    """Workloads that hold a reservation."""
    admitted_workloads: Int32 | None = None
    """Workloads that were admitted and have not finished."""
    flavors_reservation: Annotated[tuple[LocalQueueFlavorUsage, ...], keyed("name"), Bounds(max_items=64)] = ()
    """Quota reserved by workloads of this queue."""
    fair_sharing: LocalQueueFairSharingStatus | None = None
    """Present when admission fair sharing is on."""


class LocalQueueStatus(LocalQueueUsage):
    """What the queue holds at present."""

    conditions: Conditions = ()
    """Active tells whether workloads of this queue can be admitted."""
    flavors_usage: Annotated[tuple[LocalQueueFlavorUsage, ...], keyed("name"), Bounds(max_items=64)] = ()
    """Quota in use by admitted workloads of this queue."""


LOCAL_QUEUE_COLUMNS = (
    PrinterColumn("ClusterQueue", ".spec.clusterQueue"),
    PrinterColumn("Pending Workloads", ".status.pendingWorkloads", "integer"),
    PrinterColumn("Admitted Workloads", ".status.admittedWorkloads", "integer"),
)


class LocalQueue(CustomObject):
    """The queue of a namespace that users submit to."""

    info: ClassVar[KindInfo] = KindInfo(
        namespaced("v1beta2", "LocalQueue", "localqueues"),
        short_names=("queue", "queues", "lq"),
        has_status=True,
        is_storage=True,
        columns=LOCAL_QUEUE_COLUMNS,
    )

    spec: Annotated[LocalQueueSpec, NoSchemaDefault()] = LocalQueueSpec()
    """The ClusterQueue behind it."""
    status: Annotated[LocalQueueStatus, NoSchemaDefault()] = LocalQueueStatus()
    """What the queue holds at present."""
