"""The families of Kueue's series, grouped by owner (docs/spec section 11).

Most series of workloads exist per ClusterQueue and per LocalQueue: one class with two instances.
"""

from typing import Final, NamedTuple

from kohort.metrics.families import Counter, Gauge, Histogram, MetricScope
from kohort.metrics.registry import MetricsRegistry

E14: Final = (1.0, *(2.5 * 2**i for i in range(13)))
E16: Final = (1.0, *(2.5 * 2**i for i in range(15)))
DEFAULT_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
LATENCY_BUCKETS: Final = tuple(round(0.01 * 2**i, 2) for i in range(11))
BY: Final = "priority_class"
QUOTA: Final = ("cohort", "flavor", "resource")


class SeriesSection:
    """Creates families with a common scope and prefix."""

    def __init__(self, registry: MetricsRegistry, scope: MetricScope, prefix: str = "kueue_") -> None:
        self._registry = registry
        self.scope = scope
        self._prefix = prefix

    def counter(self, name: str, help_text: str, *labels: str) -> Counter:
        """A new counter of the section."""
        return self._registry.counter(self._prefix + name, help_text, *labels, scope=self.scope)

    def gauge(self, name: str, help_text: str, *labels: str) -> Gauge:
        """A new gauge of the section."""
        return self._registry.gauge(self._prefix + name, help_text, *labels, scope=self.scope)

    def histogram(self, name: str, help_text: str, *labels: str, buckets: tuple[float, ...] = E14) -> Histogram:
        """A new histogram of the section."""
        return self._registry.histogram(self._prefix + name, help_text, *labels, buckets=buckets, scope=self.scope)


class ProcessSeries:
    """Series of the scheduler and of the process."""

    def __init__(
        self,
        section: SeriesSection,
        latency: SeriesSection,
        unlabelled: SeriesSection,
        local_queue_labels: tuple[str, ...],
    ) -> None:
        self.admission_attempts_total = section.counter(
            "admission_attempts_total", "The number of scheduling cycles by whether they admitted a workload.", "result"
        )
        self.admission_attempt_duration_seconds = section.histogram(
            "admission_attempt_duration_seconds",
            "The duration of a scheduling cycle.",
            "result",
            buckets=DEFAULT_BUCKETS,
        )
        self.workload_creation_latency_seconds = latency.histogram(
            "workload_creation_latency_seconds",
            "The time between the creation of a job and of its Workload.",
            "job_kind",
            *local_queue_labels,
            buckets=LATENCY_BUCKETS,
        )
        self.build_info = unlabelled.gauge(
            "build_info",
            "Build information of the manager (always 1).",
            "git_version",
            "git_commit",
            "build_date",
            "go_version",
            "compiler",
            "platform",
        )


class CustomWorkloadLabels(NamedTuple):
    """Custom labels of Workloads in series (API-145)."""

    states: tuple[str, ...] = ()
    """Labels of gauges of pending and admitted workloads."""
    admissions: tuple[str, ...] = ()
    """Labels of counters and histograms of admissions."""


class WorkloadSeries:
    """Series of workloads, per ClusterQueue and per LocalQueue."""

    def __init__(
        self,
        section: SeriesSection,
        admission_buckets: tuple[float, ...],
        ready: SeriesSection,
        custom: CustomWorkloadLabels,
    ) -> None:
        self.custom = custom
        self.pending_workloads = section.gauge(
            "pending_workloads", "The number of pending workloads.", "status", *custom.states
        )
        self.finished_workloads = section.gauge(
            "finished_workloads", "The number of finished workloads that still exist."
        )
        self.finished_workloads_total = section.counter(
            "finished_workloads_total", "The total number of finished workloads.", BY
        )
        self.quota_reserved_workloads_total = section.counter(
            "quota_reserved_workloads_total", "The total number of quota reservations.", BY
        )
        self.quota_reserved_wait_time_seconds = section.histogram(
            "quota_reserved_wait_time_seconds", "The time between creation or requeueing and the quota reservation.", BY
        )
        self.admitted_workloads_total = section.counter(
            "admitted_workloads_total", "The total number of admitted workloads.", BY, *custom.admissions
        )
        self.admission_wait_time_seconds = section.histogram(
            "admission_wait_time_seconds",
            "The time between creation or requeueing and admission.",
            BY,
            *custom.admissions,
            buckets=admission_buckets,
        )
        self.admission_checks_wait_time_seconds = section.histogram(
            "admission_checks_wait_time_seconds", "The time between the quota reservation and admission.", BY
        )
        self.ready_wait_time_seconds = ready.histogram(
            "ready_wait_time_seconds", "The time between creation or requeueing and readiness of all pods.", BY
        )
        self.admitted_until_ready_wait_time_seconds = ready.histogram(
            "admitted_until_ready_wait_time_seconds", "The time between admission and readiness of all pods.", BY
        )
        self.execution_time_seconds = section.histogram(
            "execution_time_seconds", "The time that a finished workload was admitted.", BY, buckets=E16
        )
        self.evicted_workloads_total = section.counter(
            "evicted_workloads_total", "The total number of evicted workloads.", "reason", "underlying_cause", BY
        )
        self.reserving_active_workloads = section.gauge(
            "reserving_active_workloads", "The number of workloads with reserved quota."
        )
        self.admitted_active_workloads = section.gauge(
            "admitted_active_workloads", "The number of admitted workloads that have not finished.", *custom.states
        )


class ClusterQueueSeries(WorkloadSeries):
    """Series of ClusterQueues."""

    def __init__(
        self,
        section: SeriesSection,
        resources: SeriesSection,
        preemptors: SeriesSection,
        gated: "GatedSections",
        custom: tuple[str, ...],
    ) -> None:
        super().__init__(section, E16, gated.ready, CustomWorkloadLabels(states=custom))
        self._count(section, preemptors)
        self._time(section)
        self._state(section, gated)
        self._quota(resources)

    def _count(self, section: SeriesSection, preemptors: SeriesSection) -> None:
        self.evicted_workloads_once_total = section.counter(
            "evicted_workloads_once_total",
            "The number of workloads evicted for the first time for this reason.",
            "reason",
            "underlying_cause",
            BY,
        )
        self.preempted_workloads_total = preemptors.counter(
            "preempted_workloads_total", "The number of workloads preempted by this ClusterQueue.", "reason"
        )
        self.replaced_workload_slices_total = section.counter(
            "replaced_workload_slices_total", "The number of replaced workload slices."
        )
        self.preemption_target_recomputations_total = section.counter(
            "preemption_target_recomputations_total",
            "The number of repeated victim searches within a cycle, by result.",
            "result",
        )

    def _time(self, section: SeriesSection) -> None:
        self.pods_ready_to_evicted_time_seconds = section.histogram(
            "pods_ready_to_evicted_time_seconds",
            "The time between readiness of all pods and eviction.",
            "reason",
            "underlying_cause",
        )
        self.workload_eviction_latency_seconds = section.histogram(
            "workload_eviction_latency_seconds", "The time between an eviction and the release of its quota.", "reason"
        )
        self.pod_scheduling_gate_removal_seconds = section.histogram(
            "pod_scheduling_gate_removal_seconds",
            "The time between admission and removal of a pod's scheduling gate.",
            "name",
            "is_group",
            buckets=DEFAULT_BUCKETS,
        )

    def _state(self, section: SeriesSection, gated: "GatedSections") -> None:
        self.admission_cycle_preemption_skips = section.gauge(
            "admission_cycle_preemption_skips", "The number of workloads whose preemption the last cycle skipped."
        )
        self.cluster_queue_status = section.gauge(
            "cluster_queue_status", "The status of the ClusterQueue (1 for the current status, 0 for others).", "status"
        )
        self.cluster_queue_resource_pending = section.gauge(
            "cluster_queue_resource_pending", "The total requests of pending workloads.", "resource"
        )
        self.pending_scheduling_hashes = gated.hashes.gauge(
            "pending_scheduling_hashes", "The number of distinct pending workload shapes.", "status"
        )
        self.unadmitted_workloads = gated.unadmitted.gauge(
            "unadmitted_workloads", "The number of unadmitted workloads by reason.", "reason", "underlying_cause"
        )
        self.cluster_queue_info = gated.info.gauge(
            "cluster_queue_info",
            "The parent and root Cohort of the ClusterQueue (always 1).",
            "parent_cohort",
            "root_cohort",
        )
        self.cluster_queue_weighted_share = gated.shares.gauge(
            "cluster_queue_weighted_share",
            "The dominant resource share of the ClusterQueue, divided by its weight.",
            "cohort",
        )

    def _quota(self, section: SeriesSection) -> None:
        self.cluster_queue_resource_reservation = section.gauge(
            "cluster_queue_resource_reservation", "The reserved quota.", *QUOTA
        )
        self.cluster_queue_resource_usage = section.gauge(
            "cluster_queue_resource_usage", "The quota used by admitted workloads.", *QUOTA
        )
        self.cluster_queue_nominal_quota = section.gauge("cluster_queue_nominal_quota", "The nominal quota.", *QUOTA)
        self.cluster_queue_borrowing_limit = section.gauge(
            "cluster_queue_borrowing_limit", "The borrowing limit (+Inf: no limit).", *QUOTA
        )
        self.cluster_queue_lending_limit = section.gauge(
            "cluster_queue_lending_limit", "The lending limit (+Inf: no limit).", *QUOTA
        )


class MultiKueueSeries:
    """Series of dispatch to worker clusters: `multikueue_…`."""

    def __init__(self, section: SeriesSection) -> None:
        self.workloads_dispatched_total = section.counter(
            "workloads_dispatched_total", "The number of workloads dispatched to a worker cluster.", "cluster"
        )
        self.workloads_admitted_total = section.counter(
            "workloads_admitted_total", "The number of workloads admitted by a worker cluster.", "cluster"
        )


class GatedSections:
    """The sections of ClusterQueue series that a gate or setting may turn off."""

    def __init__(
        self,
        ready: SeriesSection,
        hashes: SeriesSection,
        unadmitted: SeriesSection,
        info: SeriesSection,
        shares: SeriesSection,
    ) -> None:
        self.ready = ready
        self.hashes = hashes
        self.unadmitted = unadmitted
        self.info = info
        self.shares = shares


class LocalQueueSeries(WorkloadSeries):
    """Series of LocalQueues: `kueue_local_queue_…`."""

    def __init__(
        self, section: SeriesSection, ready: SeriesSection, unadmitted: SeriesSection, custom: tuple[str, ...]
    ) -> None:
        super().__init__(section, E14, ready, CustomWorkloadLabels(states=custom, admissions=custom))
        self.status = section.gauge(
            "status",
            "The status of the LocalQueue's Active condition (1 for the current status, 0 for others).",
            "active",
        )
        self.unadmitted_workloads = unadmitted.gauge(
            "unadmitted_workloads",
            "The number of unadmitted workloads by reason.",
            "cluster_queue",
            "reason",
            "underlying_cause",
        )
        self.resource_reservation = section.gauge("resource_reservation", "The reserved quota.", "flavor", "resource")
        self.resource_usage = section.gauge(
            "resource_usage", "The quota used by admitted workloads.", "flavor", "resource"
        )
        self.admission_fair_sharing_usage = section.gauge(
            "admission_fair_sharing_usage",
            "The decayed past usage of the LocalQueue, divided by its weight.",
            "cluster_queue",
        )


class CohortSeries:
    """Series of Cohorts: `kueue_cohort_…`."""

    def __init__(self, section: SeriesSection, shares: SeriesSection) -> None:
        self.info = section.gauge(
            "info", "The parent and root Cohort of the Cohort (always 1).", "parent_cohort", "root_cohort"
        )
        self.weighted_share = shares.gauge(
            "weighted_share", "The dominant resource share of the Cohort, divided by its weight."
        )
        self.subtree_quota = section.gauge("subtree_quota", "The quota of the subtree.", "flavor", "resource")
        self.subtree_resource_reservations = section.gauge(
            "subtree_resource_reservations", "The reserved quota in the subtree.", "flavor", "resource"
        )
        self.subtree_admitted_workloads_total = section.counter(
            "subtree_admitted_workloads_total", "The total number of admitted workloads in the subtree.", BY
        )
        self.subtree_admitted_active_workloads = section.gauge(
            "subtree_admitted_active_workloads",
            "The number of admitted workloads in the subtree that have not finished.",
        )
