"""Everything that reconciling a Workload depends on besides the object: queues, settings, and findings of others.

The caller gathers it; the functions of this package read nothing else.
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
    """The LocalQueue that the Workload names."""

    cluster_queue: str
    """Name of the ClusterQueue behind it, which need not exist."""
    stop_policy: StopPolicy = "None"
    is_terminating: bool = False

    @property
    def is_stopped(self) -> bool:
        """Whether it admits nothing more."""
        return self.stop_policy != "None"


@dataclass(frozen=True, slots=True)
class ClusterQueueContext:
    """The ClusterQueue that holds the Workload's reservation, or the one behind its LocalQueue."""

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
        """Whether its stop policy lets it admit nothing more."""
        return self.stop_policy != "None"

    @property
    def admits(self) -> bool:
        """Whether it takes new Workloads, also where its condition lags behind its spec."""
        return self.is_active and not self.is_stopped and not self.is_terminating


def local_queue_facts(queue: LocalQueue) -> LocalQueueContext:
    """What matters of a LocalQueue."""
    return LocalQueueContext(
        cluster_queue=queue.spec.cluster_queue or "",
        stop_policy=queue.spec.stop_policy,
        is_terminating=queue.metadata.deletion_timestamp is not None,
    )


def cluster_queue_facts(queue: ClusterQueue) -> ClusterQueueContext:
    """What matters of a ClusterQueue."""
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
    """How long pods may take to get ready, and how a Workload returns that was too slow (SCH-1030)."""

    timeout: timedelta
    recovery_timeout: timedelta
    """Zero means without limit."""
    backoff_base_seconds: int
    backoff_max_seconds: int
    backoff_limit_count: int | None
    """How often a Workload may return; None means without end."""


@dataclass(frozen=True, slots=True)
class LifecyclePolicies:
    """Settings of the Configuration that matter here."""

    readiness: ReadinessPolicy | None = None
    """None where workloads need not get ready in time."""
    keep_finished: timedelta | None = None
    """How long a finished Workload is kept; None means without limit."""


def policies_of(configuration: Configuration, gates: FeatureGates) -> LifecyclePolicies:
    """The settings in the form in which they are used."""
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
    """None where the LocalQueue does not exist."""
    cluster_queue: ClusterQueueContext | None = None
    """None where the ClusterQueue does not exist."""
    namespace_problem: str = ""
    """Why the Workload does not belong into its ClusterQueue or breaks limits, in the words of SCH-124."""
    claims_problem: str = ""
    """Why its resource claims can't be counted (API-124)."""
    bypass_reason: str = ""
    """Reason recorded for an equivalent Workload that lately did not fit (SCH-251)."""
    policies: LifecyclePolicies = LifecyclePolicies()
    gates: FeatureGates = DEFAULT_GATES
    jitter: float = 0.0
    """A number drawn from [0, 1) that spreads returns (SCH-1034)."""
