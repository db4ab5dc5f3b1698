"""An explanation of a workload as data: its state, its position in the queue, and what it lacks.

Frozen and without ties to the engine, so that an answer stays what it was while the engine moves on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from kohort.api.meta import ObjectKey
from kohort.engine.assignment import FitMode, FlavorAttempt
from kohort.engine.decisions import RequeueReason
from kohort.engine.quota import FlavorResource
from kohort.engine.shortage import Shortage
from kohort.engine.topology import PlacementFailure


class WorkloadPhase(Enum):
    """Phase of a workload."""

    UNKNOWN = "Unknown"
    """There is no such workload."""
    NOT_SUBMITTED = "NotSubmitted"
    FINISHED = "Finished"
    ADMITTED = "Admitted"
    RESERVED = "QuotaReserved"
    """It holds quota, and waits for its admission checks."""
    LEAVING = "Leaving"
    """It is evicted, and holds quota until its job has stopped."""
    DEACTIVATED = "Deactivated"
    ON_HOLD = "OnHold"
    NO_QUEUE = "NoQueue"
    """Its LocalQueue or the ClusterQueue behind it does not exist."""
    STOPPED = "Stopped"
    """Its LocalQueue or ClusterQueue takes no work."""
    MISCONFIGURED = "Misconfigured"
    """Its namespace is not selected, or its requests break a rule."""
    GATED = "Gated"
    REPLACING_PODS = "ReplacingPods"
    BACKING_OFF = "BackingOff"
    INADMISSIBLE = "Inadmissible"
    """It did not fit, and is reactivated when capacity may have become free."""
    QUEUED = "Queued"

    @property
    def holds_quota(self) -> bool:
        """Whether quota is set aside for it."""
        return self in (WorkloadPhase.ADMITTED, WorkloadPhase.RESERVED, WorkloadPhase.LEAVING)


@dataclass(frozen=True, slots=True)
class HeldQuota:
    """Quota that a workload holds, in internal units."""

    fr: FlavorResource
    amount: int


@dataclass(frozen=True, slots=True)
class PositionInQueue:
    """Position of a workload in its queues (SCH-212)."""

    ahead: int
    """Number of workloads before it in its ClusterQueue."""
    ahead_locally: int
    """How many of these are of its LocalQueue."""
    first: tuple[ObjectKey, ...]
    """The first few of those ahead, in order."""
    is_strict: bool
    """Whether no workload overtakes the first one (SCH-238)."""


@dataclass(frozen=True, slots=True)
class PlaceHolder:
    """A workload with pods in a topology domain."""

    workload: ObjectKey
    queue: str
    priority: int
    pods: int


@dataclass(frozen=True, slots=True)
class PlacementTrial:
    """Why pods have no places in a flavor that was found for them (TAS-113 to TAS-115)."""

    failure: PlacementFailure
    holders: tuple[PlaceHolder, ...]
    """Workloads with most pods in the domain that could take most, or in the flavor where that is no single one."""
    others: int = 0
    """How many more have pods there."""


@dataclass(frozen=True, slots=True)
class FlavorTrial:
    """A flavor that was tried, and what it lacks."""

    attempt: FlavorAttempt
    shortages: tuple[Shortage, ...]
    """All limits that are too tight, per resource the tightest first."""
    placement: PlacementTrial | None = None
    """Given where quota suffices, or would, and the pods have no places."""
    is_in_use: bool = False
    """Whether other workloads use a resource of which more is requested than its maximum."""


@dataclass(frozen=True, slots=True)
class PodSetTrial:
    """What was tried for a pod set."""

    name: str
    count: int
    asked: int
    """Pods of the whole set; more than `count` where fewer would do, or where some are done."""
    mode: FitMode
    flavors: Mapping[str, str]
    """The flavor that each resource would get."""
    trials: tuple[FlavorTrial, ...]
    """In the order in which they were tried."""
    short: tuple[tuple[FlavorTrial, ...], ...] = ()
    """Those that explain why it does not fit, by resource group: one flavor of each group must have capacity."""
    reasons: tuple[str, ...] = ()
    """Messages of its condition (SCH-546)."""
    least: int = 0
    """Pods with which it would start, if need be (SCH-560)."""


class PreemptionOutlook(Enum):
    """What preemption can do for a workload."""

    NOT_NEEDED = "NotNeeded"
    POSSIBLE = "Possible"
    """It would preempt workloads if it were a head now."""
    UNDER_WAY = "UnderWay"
    """Its victims are being evicted."""
    GATED = "Gated"
    """A preemption gate is closed (SCH-335)."""
    POINTLESS = "Pointless"
    """No flavor can be used, or none could ever hold it."""
    OFF = "Off"
    """The policies of its queue are Never."""
    NO_CANDIDATES = "Nobody"
    """No workload that may be preempted uses what it needs."""
    PRIORITY = "Priority"
    """Workloads that use what it needs have too high a priority."""
    WITHIN_NOMINAL = "WithinNominal"
    """Workloads that use what it needs are within nominal quota, or would be after some preemptions."""
    BORROWING = "Borrowing"
    """It would have to borrow, and its queue does not preempt for that."""
    RANK_WHILE_BORROWING = "RankWhileBorrowing"
    """It would have to borrow, and workloads that use what it needs have too high a priority for that (SCH-613)."""
    SHARE = "Share"
    """It would get more than its fair share."""
    TOO_LITTLE = "TooLittle"
    """All candidates together do not use enough."""


@dataclass(frozen=True, slots=True)
class Victim:
    """A workload that has to go so that another fits."""

    workload: ObjectKey
    queue: str
    priority: int
    reason: str
    """InClusterQueue, InCohortReclamation …"""
    is_leaving: bool


@dataclass(frozen=True, slots=True)
class QuotaHolders:
    """Workloads that use what is needed, by whether the policy allows to preempt them."""

    policy: str
    allowed: int = 0
    """How many may be preempted."""
    spared: int = 0
    """How many may not, because of their priority."""
    lowest_priority: int | None = None
    """Among the spared."""
    sheltered: tuple[str, ...] = ()
    """Queues that use it and borrow nothing."""


@dataclass(frozen=True, slots=True)
class PreemptionExplanation:
    """What preemption can do, and its victims or obstacles."""

    help: PreemptionOutlook
    victims: tuple[Victim, ...] = ()
    own: QuotaHolders | None = None
    """Workloads of its own queue that use quota, if they were evaluated."""
    cohort: QuotaHolders | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a cycle would find if it were the workload's turn now."""

    mode: FitMode
    borrow: int
    """The highest borrowing level (SCH-441)."""
    pod_sets: tuple[PodSetTrial, ...]
    preemption: PreemptionExplanation
    reason: str
    """Reason of QuotaReserved=False; empty where it would be admitted."""
    message: str
    requeue: RequeueReason
    rivals: tuple[ObjectKey, ...] = ()
    """Heads of other queues that go first and take or keep what it needs, though it would fit without them."""
    never: tuple[str, ...] = ()
    """Why it would not fit even if no other used anything; empty if it would."""
    in_vain: tuple[str, ...] = ()
    """Why it would not fit even without its victims: with more capacity, flavors are tried in another order."""

    @property
    def is_admitted(self) -> bool:
        """Whether it would be admitted at once."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a workload at one moment."""

    workload: ObjectKey
    state: WorkloadPhase
    local_queue: ObjectKey
    cluster_queue: str = ""
    """Where it waits or holds quota; empty where it gets to no queue."""
    priority: int = 0
    reason: str = ""
    """Reason of QuotaReserved=False, as the state is now (SCH-362); empty where it holds quota."""
    message: str = ""
    until: datetime | None = None
    """End of its backoff; None also where only an event ends it."""
    holds: tuple[HeldQuota, ...] = ()
    standing: PositionInQueue | None = None
    evaluation: Evaluation | None = None
