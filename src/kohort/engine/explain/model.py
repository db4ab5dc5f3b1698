"""An explanation of a workload as data: its state, its position in the queue, and what it lacks.

Frozen and without references to the engine, so that an explanation does not change with the engine.
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
    """The workload does not exist."""
    NOT_SUBMITTED = "NotSubmitted"
    FINISHED = "Finished"
    ADMITTED = "Admitted"
    RESERVED = "QuotaReserved"
    """It holds quota and waits for its admission checks."""
    LEAVING = "Leaving"
    """It is evicted and holds quota until its job has stopped."""
    DEACTIVATED = "Deactivated"
    ON_HOLD = "OnHold"
    NO_QUEUE = "NoQueue"
    """Its LocalQueue or ClusterQueue does not exist."""
    STOPPED = "Stopped"
    """Its LocalQueue or ClusterQueue is inactive."""
    MISCONFIGURED = "Misconfigured"
    """Its namespace is not selected, or its requests violate a rule."""
    GATED = "Gated"
    REPLACING_PODS = "ReplacingPods"
    BACKING_OFF = "BackingOff"
    INADMISSIBLE = "Inadmissible"
    """It did not fit, and is reactivated when capacity may have become free."""
    QUEUED = "Queued"

    @property
    def holds_quota(self) -> bool:
        """Whether quota is reserved for it."""
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
    """Number of these in its LocalQueue."""
    first: tuple[ObjectKey, ...]
    """The first few of those ahead, in order."""
    is_strict: bool
    """Whether the queue is strict: no workload is tried before the first one is admitted (SCH-238)."""


@dataclass(frozen=True, slots=True)
class PlaceHolder:
    """A workload with pods in a topology domain."""

    workload: ObjectKey
    queue: str
    priority: int
    pods: int


@dataclass(frozen=True, slots=True)
class PlacementTrial:
    """Why pods can't be placed in the flavor chosen for them (TAS-113 to TAS-115)."""

    failure: PlacementFailure
    holders: tuple[PlaceHolder, ...]
    """Workloads with most pods in the domain with most capacity, or in the flavor if there is no single one."""
    others: int = 0
    """Number of further workloads with pods there."""


@dataclass(frozen=True, slots=True)
class FlavorTrial:
    """A flavor that was tried, and what it lacks."""

    attempt: FlavorAttempt
    shortages: tuple[Shortage, ...]
    """All limits that are too low, per resource the lowest first."""
    placement: PlacementTrial | None = None
    """Set if quota suffices, or would, and the pods can't be placed."""
    is_in_use: bool = False
    """Whether other workloads use a resource of which more is requested than its maximum."""


@dataclass(frozen=True, slots=True)
class PodSetTrial:
    """The attempts for a pod set."""

    name: str
    count: int
    asked: int
    """Pods of the whole set; more than `count` if fewer would be started or some are finished."""
    mode: FitMode
    flavors: Mapping[str, str]
    """The flavor that each resource would be assigned."""
    trials: tuple[FlavorTrial, ...]
    """In the order in which they were tried."""
    short: tuple[tuple[FlavorTrial, ...], ...] = ()
    """Those that explain why it does not fit, by resource group: one flavor of each group must have capacity."""
    reasons: tuple[str, ...] = ()
    """Messages of its condition (SCH-546)."""
    least: int = 0
    """Number of pods with partial admission (SCH-560)."""


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
    """No flavor can be used, or none has enough quota."""
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
    """A workload to preempt so that another fits."""

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
    """Number that may be preempted."""
    spared: int = 0
    """Number that may not, because of their priority."""
    lowest_priority: int | None = None
    """Among those that may not."""
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
    """The result of a cycle with the workload as a head."""

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
    """Heads of other queues that come first and take or reserve what it needs, although it would fit without them."""
    never: tuple[str, ...] = ()
    """Why it would not fit even if no other workload used anything; empty if it would."""
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
    """The ClusterQueue where it is pending or holds quota; empty without one."""
    priority: int = 0
    reason: str = ""
    """Current reason of QuotaReserved=False (SCH-362); empty if it holds quota."""
    message: str = ""
    until: datetime | None = None
    """End of its backoff; None also if only an event ends it."""
    holds: tuple[HeldQuota, ...] = ()
    standing: PositionInQueue | None = None
    evaluation: Evaluation | None = None
