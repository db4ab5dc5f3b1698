"""Everything that reconciling a Workload depends on besides the object: queues, settings, and results of other checks.

The caller provides it; the functions of this package read nothing else.
"""

from dataclasses import dataclass
from datetime import timedelta

from kohort.api.conditions import is_true
from kohort.api.config.v1beta2 import Configuration
from kohort.api.gates import DEFAULT_GATES, FeatureGates
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue
from kohort.api.kueue.v1beta2.queues import AdmissionCheckRule, StopPolicy
from kohort.api.times import parse_duration, to_timedelta
from kohort.engine.lifecycle.conditions import ACTIVE


@dataclass(frozen=True, slots=True)
class LocalQueueContext:
    """The LocalQueue that the Workload references."""

    cluster_queue: str
    """Name of its ClusterQueue, which need not exist."""
    stop_policy: StopPolicy = "None"
    is_terminating: bool = False

    @property
    def is_stopped(self) -> bool:
        """Whether its stop policy prevents admissions."""
        return self.stop_policy != "None"


@dataclass(frozen=True, slots=True)
class ClusterQueueContext:
    """The ClusterQueue that holds the Workload's reservation, or that of its LocalQueue."""

    stop_policy: StopPolicy = "None"
    is_terminating: bool = False
    is_active: bool = True
    """Whether its condition Active is True."""
    flavors: tuple[str, ...] = ()
    """All flavors of its resource groups."""
    checks: tuple[AdmissionCheckRule, ...] = ()
    """Its admission checks."""

    @property
    def is_stopped(self) -> bool:
        """Whether its stop policy prevents admissions."""
        return self.stop_policy != "None"

    @property
    def admits(self) -> bool:
        """Whether it accepts new Workloads, also if its condition is older than its spec."""
        return self.is_active and not self.is_stopped and not self.is_terminating


def local_queue_facts(queue: LocalQueue) -> LocalQueueContext:
    """The context of a LocalQueue."""
    return LocalQueueContext(
        cluster_queue=queue.spec.cluster_queue or "",
        stop_policy=queue.spec.stop_policy,
        is_terminating=queue.metadata.deletion_timestamp is not None,
    )


def cluster_queue_facts(queue: ClusterQueue) -> ClusterQueueContext:
    """The context of a ClusterQueue."""
    strategy = queue.spec.admission_checks_strategy
    return ClusterQueueContext(
        stop_policy=queue.spec.stop_policy,
        is_terminating=queue.metadata.deletion_timestamp is not None,
        is_active=is_true(queue.status.conditions, ACTIVE),
        flavors=tuple(flavor.name for group in queue.spec.resource_groups for flavor in group.flavors),
        checks=strategy.admission_checks if strategy else (),
    )


@dataclass(frozen=True, slots=True)
class ReadinessPolicy:
    """Timeouts for ready pods, and the requeuing strategy after one (SCH-1030)."""

    timeout: timedelta
    recovery_timeout: timedelta
    """Zero means no limit."""
    backoff_base_seconds: int
    backoff_max_seconds: int
    backoff_limit_count: int | None
    """How often a Workload may be requeued; None means no limit."""


@dataclass(frozen=True, slots=True)
class LifecyclePolicies:
    """Settings of the Configuration on which the lifecycle depends."""

    readiness: ReadinessPolicy | None = None
    """None without waitForPodsReady."""
    keep_finished: timedelta | None = None
    """How long a finished Workload is kept; None means no limit."""


def policies_of(configuration: Configuration, gates: FeatureGates) -> LifecyclePolicies:
    """Read a validated Configuration."""
    retention = configuration.object_retention_policies.workloads
    return LifecyclePolicies(
        readiness=_readiness_policy(configuration, gates),
        keep_finished=_span(retention.after_finished),
    )


def _readiness_policy(configuration: Configuration, gates: FeatureGates) -> ReadinessPolicy | None:
    settings = configuration.wait_for_pods_ready
    if settings is None or not configuration.waits_for_pods_ready(gates):
        return None
    strategy = settings.requeuing_strategy
    return ReadinessPolicy(
        timeout=to_timedelta(parse_duration(settings.timeout)),
        recovery_timeout=to_timedelta(parse_duration(settings.recovery_timeout)),
        backoff_base_seconds=strategy.backoff_base_seconds,
        backoff_max_seconds=strategy.backoff_max_seconds,
        backoff_limit_count=strategy.backoff_limit_count,
    )


def _span(text: str | None) -> timedelta | None:
    return None if text is None else to_timedelta(parse_duration(text))


@dataclass(frozen=True, slots=True)
class ReconcileContext:
    """Everything that reconciling a Workload depends on besides the Workload and the time."""

    local_queue: LocalQueueContext | None = None
    """None if the LocalQueue does not exist."""
    cluster_queue: ClusterQueueContext | None = None
    """None if the ClusterQueue does not exist."""
    namespace_problem: str = ""
    """Why the Workload may not be in its ClusterQueue or violates limits, as text (SCH-124)."""
    claims_problem: str = ""
    """Why its resource claims can't be counted (API-124)."""
    bypass_reason: str = ""
    """Reason recorded for an equivalent Workload that did not fit (SCH-251)."""
    policies: LifecyclePolicies = LifecyclePolicies()
    gates: FeatureGates = DEFAULT_GATES
    jitter: float = 0.0
    """A random number in [0, 1) for the jitter of requeues (SCH-1034)."""
