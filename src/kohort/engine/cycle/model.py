"""Data of a scheduling cycle, and the interface between cycle and engine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

import msgspec

from kohort.api.kueue.v1beta2.workload import Admission
from kohort.engine.assignment import Assignment
from kohort.engine.decisions import Decision, KeepPending, RequeueReason
from kohort.engine.eligibility import FlavorEligibility
from kohort.engine.flavor_assigner import FlavorRules
from kohort.engine.placement.placer import TopologyPlacer
from kohort.engine.preemption_policy import PreemptionTarget
from kohort.engine.records import ClusterQueueInfo, Flavor, SecondPassReason, WorkloadInfo
from kohort.engine.requests.usage import PodSetUsage
from kohort.engine.tournament import TournamentRules
from kohort.engine.usage_request import UsageRequest
from kohort.engine.variants import Variants

MAX_SCANS: Final = 100
"""Consecutive cycles that only resume flavor scans, after which a run ends."""


@dataclass(frozen=True, slots=True)
class CycleRules:
    """Configuration and feature gates of a cycle."""

    assigning: FlavorRules = field(default_factory=FlavorRules)
    tournament: TournamentRules | None = None
    """Set with fair sharing."""
    by_priority: bool = True
    """Gate PrioritySortingWithinCohort."""
    preemptors_first: bool = False
    """Gate PrioritizePreemptorWorkloads."""
    recomputes_on_overlap: bool = True
    """Gate RecomputeAssignmentUponPreemptionTargetsOverlap."""
    allows_partial: bool = True
    """Gate PartialAdmission."""
    keeps_progress: bool = True
    """Gate FlavorFungibilityPreserveScanProgress."""
    honours_gates: bool = False
    """Gates ConcurrentAdmission and MultiKueueOrchestratedPreemption (SCH-335)."""
    fails_fast: bool = True
    """Gate TASFailedNodeReplacementFailFast (SCH-332)."""
    places_again: bool = True
    """Gate TASRecomputeAssignmentWithinSchedulingCycle (TAS-81)."""
    groups_hostnames: bool = True
    """Gate TASAssignmentsEncodingByHostnamePrefix (TAS-73)."""


class Head(msgspec.Struct):
    """A workload popped for this cycle."""

    workload: WorkloadInfo
    queue: ClusterQueueInfo
    is_preemptor: bool = False
    obstacle: tuple[str, str, RequeueReason] | None = None
    """Reason, message and requeue of a workload that can't be nominated (SCH-311)."""
    cycle: int = 0
    """How often a head was popped from its queue: the number of the cycle, independent of other trees (SCH-551)."""
    second_pass: SecondPassReason | None = None
    """Why a workload with quota has a second pass (SCH-270)."""


class CycleEntry(msgspec.Struct):
    """A head with its assignment."""

    head: Head
    assignment: Assignment
    decision: KeepPending | None = None
    is_resumed: bool = False
    """Whether its flavor scan resumed an earlier one (SCH-550)."""

    @property
    def workload(self) -> WorkloadInfo:
        """The pending workload."""
        return self.head.workload

    @property
    def queue(self) -> ClusterQueueInfo:
        """The queue where it is pending."""
        return self.head.queue

    @property
    def goes_on(self) -> bool:
        """Whether flavors remain to be tried after this cycle (SCH-552)."""
        progress = self.workload.progress
        return progress is not None and progress.has_more and progress.cycle == self.head.cycle


class CycleView(Protocol):
    """What nominations and verdicts read from the engine."""

    @property
    def flavors(self) -> Mapping[str, Flavor]:
        """All ResourceFlavors by name."""

    @property
    def eligibility(self) -> FlavorEligibility:
        """Which flavors a pod can use."""

    @property
    def rules(self) -> CycleRules:
        """The configuration of cycles."""

    @property
    def variants(self) -> Variants:
        """Which workloads are variants of the same parent."""

    @property
    def placer(self) -> TopologyPlacer:
        """Places pods."""

    def find_targets(
        self, preemptor: WorkloadInfo, queue: ClusterQueueInfo, request: UsageRequest, /
    ) -> list[PreemptionTarget]:
        """The configured preemption search."""

    def pod_set_usage(self, workload: WorkloadInfo) -> Iterable[PodSetUsage]:
        """The usage of each pod set of a workload."""

    def waits_for_pods(self) -> bool:
        """Whether admissions must wait until the pods of all others are ready (SCH-1035)."""


class CycleContext(CycleView, Protocol):
    """What a cycle changes in the engine."""

    def reserve(self, workload: WorkloadInfo, assignment: Assignment, admission: Admission, now: datetime) -> None:
        """Count an admission before it is written (SCH-350)."""

    def place(self, workload: WorkloadInfo, admission: Admission) -> None:
        """Assume the placement of a workload with quota (SCH-341)."""

    def try_again(self, workload: WorkloadInfo, now: datetime) -> None:
        """Schedule another second pass of a workload that could not be placed (SCH-272)."""

    def issue(self, target: PreemptionTarget) -> bool:
        """Issue an eviction; False if one was issued already (SCH-650)."""


class CycleResult(msgspec.Struct):
    """The result of a cycle."""

    decisions: list[Decision] = []
    waits: list[CycleEntry] = []
    """Entries to requeue, each with its decision."""
    progressed: bool = False
    """Whether anything was admitted or newly evicted, or reserved for this cycle alone."""
