"""Condition types and reasons of Workloads, and their legacy forms.

Without the gate UnadmittedWorkloadsObservability, several reasons share one legacy reason, which differs between
scheduler and controller (API-83).
"""

from typing import Final

from kohort.api.gates import FeatureGates, Gate

# QuotaReserved, and reasons of other conditions that it resets
QUOTA_RESERVED: Final = "QuotaReserved"
PENDING_EVALUATION: Final = "PendingEvaluation"
WAITING_FOR_QUOTA: Final = "WaitingForQuota"
EXCEEDS_MAX_QUOTA: Final = "ExceedsMaxQuota"
NO_MATCHING_FLAVOR: Final = "NoMatchingFlavor"
TOPOLOGY_PLACEMENT_FAILED: Final = "TopologyPlacementFailed"
WAITING_FOR_PREEMPTED_WORKLOADS: Final = "WaitingForPreemptedWorkloads"
WAITING_FOR_PODS_READY: Final = "WaitingForPodsReady"
MISCONFIGURED: Final = "Misconfigured"
SUSPENDED: Final = "Suspended"
ADMISSION_GATED: Final = "AdmissionGated"
ON_HOLD: Final = "OnHold"
DEACTIVATED: Final = "Deactivated"

# their legacy forms
PENDING: Final = "Pending"
INADMISSIBLE: Final = "Inadmissible"
WAITING: Final = "Waiting"

# Admitted
ADMITTED: Final = "Admitted"
NO_RESERVATION: Final = "NoReservation"
UNSATISFIED_ADMISSION_CHECKS: Final = "UnsatisfiedAdmissionChecks"
PENDING_DELAYED_TOPOLOGY_REQUESTS: Final = "PendingDelayedTopologyRequests"
LEGACY_NO_RESERVATION_UNSATISFIED_CHECKS: Final = "NoReservationUnsatisfiedChecks"
LEGACY_UNSATISFIED_CHECKS: Final = "UnsatisfiedChecks"

# Evicted, as SCH-1002 lists them
PREEMPTED: Final = "Preempted"
PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
ADMISSION_CHECK: Final = "AdmissionCheck"
CLUSTER_QUEUE_STOPPED: Final = "ClusterQueueStopped"
LOCAL_QUEUE_STOPPED: Final = "LocalQueueStopped"
NODE_FAILURES: Final = "NodeFailures"
FLAVOR_MIGRATION: Final = "FlavorMigration"
VARIANT_EVICTED: Final = "VariantEvicted"
CONCURRENT_ADMISSION: Final = "ConcurrentAdmission"

# causes of deactivation
REQUEUING_LIMIT_EXCEEDED: Final = "RequeuingLimitExceeded"
MAXIMUM_EXECUTION_TIME_EXCEEDED: Final = "MaximumExecutionTimeExceeded"

# Requeued
REACTIVATED: Final = "Reactivated"
BACKOFF_FINISHED: Final = "BackoffFinished"
CLUSTER_QUEUE_RESTARTED: Final = "ClusterQueueRestarted"
LOCAL_QUEUE_RESTARTED: Final = "LocalQueueRestarted"

# PodsReady
WAIT_FOR_START: Final = "WaitForStart"
WAIT_FOR_RECOVERY: Final = "WaitForRecovery"
STARTED: Final = "Started"
RECOVERED: Final = "Recovered"

# Finished
OWNER_NOT_FOUND: Final = "OwnerNotFound"
OUT_OF_SYNC: Final = "OutOfSync"
WORKLOAD_SLICE_REPLACED: Final = "WorkloadSliceReplaced"

SET_BY_SCHEDULER: Final = frozenset(
    {
        WAITING_FOR_QUOTA,
        NO_MATCHING_FLAVOR,
        EXCEEDS_MAX_QUOTA,
        TOPOLOGY_PLACEMENT_FAILED,
        WAITING_FOR_PREEMPTED_WORKLOADS,
        WAITING_FOR_PODS_READY,
        PENDING_EVALUATION,
    }
)
"""Reasons of the scheduler that the controller keeps between two evaluations (SCH-363)."""

_CONTROLLERS_OLD_WORDS = {PENDING_EVALUATION: PENDING, MISCONFIGURED: INADMISSIBLE, SUSPENDED: INADMISSIBLE}


def has_detailed_reasons(gates: FeatureGates) -> bool:
    """Whether conditions have fine-grained reasons for pending Workloads."""
    return gates.enabled(Gate.UnadmittedWorkloadsObservability)


def scheduler_reason(reason: str, gates: FeatureGates) -> str:
    """The reason as the scheduler writes it (SCH-360, SCH-1035)."""
    if has_detailed_reasons(gates):
        return reason
    return WAITING if reason == WAITING_FOR_PODS_READY else PENDING


def controller_reason(reason: str, gates: FeatureGates) -> str:
    """The reason as the controller and job reconcilers write it (API-83)."""
    return reason if has_detailed_reasons(gates) else _CONTROLLERS_OLD_WORDS.get(reason, reason)
