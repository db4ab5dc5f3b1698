"""Settings of the engine, read from the Configuration and the feature gates."""

from dataclasses import dataclass, field

from kohort.api.config.v1beta2 import Configuration
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.engine.admission_fair_sharing import HistoryRules, rules_of
from kohort.engine.cycle import CycleRules
from kohort.engine.fair_preemption import FairRules
from kohort.engine.flavor_assigner import FlavorRules
from kohort.engine.requests.rules import RequestRules
from kohort.engine.tournament import TournamentRules


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Everything that decisions depend on besides the objects."""

    gates: FeatureGates = DEFAULT_GATES
    cycle: CycleRules = field(default_factory=CycleRules)
    fair: FairRules | None = None
    """Set with fair sharing; it changes order and preemption, not what fits (SCH-710)."""
    requests: RequestRules = field(default_factory=RequestRules)
    waits_for_pods: bool = False
    """Whether one workload at a time is admitted, until its pods are ready (SCH-1035)."""
    eviction_timestamps: bool = True
    """Whether a workload evicted by a PodsReady timeout is ordered by the time of its eviction (SCH-211)."""
    history: HistoryRules | None = None
    """Set with admission fair sharing (SCH-801)."""

    @staticmethod
    def of(configuration: Configuration, gates: FeatureGates) -> "EngineSettings":
        """Read a validated Configuration."""
        sharing = configuration.fair_sharing
        fair = None
        if sharing is not None:
            fair = FairRules(
                tuple(sharing.preemption_strategies),
                preempts_within_nominal=gates.enabled(Gate.FairSharingPreemptWithinNominal),
            )
        readiness = configuration.wait_for_pods_ready
        requeuing = readiness.requeuing_strategy if readiness else None
        resources = configuration.resources
        strategy = resources.quota_check_strategy if resources else None
        ignores = strategy == "IgnoreUndeclared" and gates.enabled(Gate.QuotaCheckStrategy)
        return EngineSettings(
            gates,
            _cycle_rules(gates, preempts_by_share=fair is not None, ignores_undeclared=ignores),
            fair,
            RequestRules.of(resources) if resources else RequestRules(),
            waits_for_pods=configuration.waits_for_pods_ready(gates) and bool(readiness and readiness.block_admission),
            eviction_timestamps=requeuing is None or requeuing.timestamp != "Creation",
            history=_history_rules(configuration, gates),
        )


def _history_rules(configuration: Configuration, gates: FeatureGates) -> HistoryRules | None:
    sharing = configuration.admission_fair_sharing
    return None if sharing is None or not gates.enabled(Gate.AdmissionFairSharing) else rules_of(sharing)


def _cycle_rules(gates: FeatureGates, *, preempts_by_share: bool, ignores_undeclared: bool) -> CycleRules:
    by_priority = gates.enabled(Gate.PrioritySortingWithinCohort)
    preemptors_first = gates.enabled(Gate.PrioritizePreemptorWorkloads)
    tournament = TournamentRules(
        preemptors_first=preemptors_first,
        non_borrowing_first=gates.enabled(Gate.FairSharingPrioritizeNonBorrowing),
        by_priority=by_priority,
    )
    return CycleRules(
        assigning=FlavorRules(
            uses_fungibility=gates.enabled(Gate.FlavorFungibility),
            ignores_undeclared=ignores_undeclared,
            preempts_by_share=preempts_by_share,
        ),
        tournament=tournament if preempts_by_share else None,
        by_priority=by_priority,
        preemptors_first=preemptors_first,
        recomputes_on_overlap=gates.enabled(Gate.RecomputeAssignmentUponPreemptionTargetsOverlap),
        allows_partial=gates.enabled(Gate.PartialAdmission),
        keeps_progress=gates.enabled(Gate.FlavorFungibilityPreserveScanProgress),
        fails_fast=gates.enabled(Gate.TASFailedNodeReplacementFailFast),
        places_again=gates.enabled(Gate.TASRecomputeAssignmentWithinSchedulingCycle),
        groups_hostnames=gates.enabled(Gate.TASAssignmentsEncodingByHostnamePrefix),
        honours_gates=gates.enabled(Gate.ConcurrentAdmission) or gates.enabled(Gate.MultiKueueOrchestratedPreemption),
    )
