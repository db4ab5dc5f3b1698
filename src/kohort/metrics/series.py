"""The families of Kueue's series, in groups that speak of the same thing (docs/spec section 11).

Most of what happens to a workload is told of its ClusterQueue and of its LocalQueue: one group, made twice.
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
    """Families that are declared together: how they are made, and of what they speak."""

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
    """What speaks of the scheduler and of the process."""

    def __init__(
        self, make: SeriesSection, latency: SeriesSection, bare: SeriesSection, local_queue_labels: tuple[str, ...]
    ) -> None:
        self.admission_attempts_total = make.counter(
            "admission_attempts_total", "Scheduling cycles, by whether they admitted a workload.", "result"
        )
        self.admission_attempt_duration_seconds = make.histogram(
            "admission_attempt_duration_seconds", "Time that a cycle took.", "result", buckets=DEFAULT_BUCKETS
        )
        self.workload_creation_latency_seconds = latency.histogram(
            "workload_creation_latency_seconds",
            "Time from a job's creation to that of its Workload.",
            "job_kind",
            *local_queue_labels,
            buckets=LATENCY_BUCKETS,
        )
        self.build_info = bare.gauge(
            "build_info",
            "What runs here; always 1.",
            "git_version",
            "git_commit",
            "build_date",
            "go_version",
            "compiler",
            "platform",
        )


class CustomWorkloadLabels(NamedTuple):
    """Labels of Workloads that some series carry (API-145)."""

    states: tuple[str, ...] = ()
    """On gauges of those who wait and of those who run."""
    admissions: tuple[str, ...] = ()
    """On what is counted and timed of admissions."""


class WorkloadSeries:
    """What happens to workloads, counted and timed twice: per ClusterQueue and per LocalQueue."""

    def __init__(
        self,
        make: SeriesSection,
        admission_buckets: tuple[float, ...],
        ready: SeriesSection,
        custom: CustomWorkloadLabels,
    ) -> None:
        self.custom = custom
        self.pending_workloads = make.gauge("pending_workloads", "Workloads that wait.", "status", *custom.states)
        self.finished_workloads = make.gauge("finished_workloads", "Finished workloads that still exist.")
        self.finished_workloads_total = make.counter("finished_workloads_total", "Workloads that finished.", BY)
        self.quota_reserved_workloads_total = make.counter(
            "quota_reserved_workloads_total", "Reservations of quota.", BY
        )
        self.quota_reserved_wait_time_seconds = make.histogram(
            "quota_reserved_wait_time_seconds", "Time from creation or requeueing to the reservation of quota.", BY
        )
        self.admitted_workloads_total = make.counter("admitted_workloads_total", "Admissions.", BY, *custom.admissions)
        self.admission_wait_time_seconds = make.histogram(
            "admission_wait_time_seconds",
            "Time from creation or requeueing to admission.",
            BY,
            *custom.admissions,
            buckets=admission_buckets,
        )
        self.admission_checks_wait_time_seconds = make.histogram(
            "admission_checks_wait_time_seconds", "Time from the reservation of quota to admission.", BY
        )
        self.ready_wait_time_seconds = ready.histogram(
            "ready_wait_time_seconds", "Time from creation or requeueing until all pods were ready.", BY
        )
        self.admitted_until_ready_wait_time_seconds = ready.histogram(
            "admitted_until_ready_wait_time_seconds", "Time from admission until all pods were ready.", BY
        )
        self.execution_time_seconds = make.histogram(
            "execution_time_seconds", "Time that a finished workload was admitted.", BY, buckets=E16
        )
        self.evicted_workloads_total = make.counter(
            "evicted_workloads_total", "Evictions.", "reason", "underlying_cause", BY
        )
        self.reserving_active_workloads = make.gauge("reserving_active_workloads", "Workloads that hold quota.")
        self.admitted_active_workloads = make.gauge(
            "admitted_active_workloads", "Admitted workloads that did not finish.", *custom.states
        )


class ClusterQueueSeries(WorkloadSeries):
    """What is told of ClusterQueues only, and what is told of both kinds of queues."""

    def __init__(
        self,
        make: SeriesSection,
        resources: SeriesSection,
        preemptors: SeriesSection,
        gated: "GatedSections",
        custom: tuple[str, ...],
    ) -> None:
        super().__init__(make, E16, gated.ready, CustomWorkloadLabels(states=custom))
        self._count(make, preemptors)
        self._time(make)
        self._state(make, gated)
        self._quota(resources)

    def _count(self, make: SeriesSection, preemptors: SeriesSection) -> None:
        self.evicted_workloads_once_total = make.counter(
            "evicted_workloads_once_total",
            "Workloads evicted for the first time for this reason.",
            "reason",
            "underlying_cause",
            BY,
        )
        self.preempted_workloads_total = preemptors.counter(
            "preempted_workloads_total", "Workloads that gave way to this ClusterQueue.", "reason"
        )
        self.replaced_workload_slices_total = make.counter(
            "replaced_workload_slices_total", "Workload slices that a newer one replaced."
        )
        self.preemption_target_recomputations_total = make.counter(
            "preemption_target_recomputations_total",
            "Second searches within a cycle, because another workload took the victims.",
            "result",
        )

    def _time(self, make: SeriesSection) -> None:
        self.pods_ready_to_evicted_time_seconds = make.histogram(
            "pods_ready_to_evicted_time_seconds",
            "Time from ready pods to the eviction.",
            "reason",
            "underlying_cause",
        )
        self.workload_eviction_latency_seconds = make.histogram(
            "workload_eviction_latency_seconds", "Time from an eviction until its quota was free.", "reason"
        )
        self.pod_scheduling_gate_removal_seconds = make.histogram(
            "pod_scheduling_gate_removal_seconds",
            "Time from admission until a pod's scheduling gate was gone.",
            "name",
            "is_group",
            buckets=DEFAULT_BUCKETS,
        )

    def _state(self, make: SeriesSection, gated: "GatedSections") -> None:
        self.admission_cycle_preemption_skips = make.gauge(
            "admission_cycle_preemption_skips", "Workloads whose preemptions the last cycle put off."
        )
        self.cluster_queue_status = make.gauge(
            "cluster_queue_status", "1 for the status that the ClusterQueue has, 0 for the others.", "status"
        )
        self.cluster_queue_resource_pending = make.gauge(
            "cluster_queue_resource_pending", "Requests of the workloads that wait.", "resource"
        )
        self.pending_scheduling_hashes = gated.hashes.gauge(
            "pending_scheduling_hashes", "Different kinds of workloads that wait.", "status"
        )
        self.unadmitted_workloads = gated.unadmitted.gauge(
            "unadmitted_workloads", "Workloads that are not admitted, by why.", "reason", "underlying_cause"
        )
        self.cluster_queue_info = gated.info.gauge(
            "cluster_queue_info",
            "The ClusterQueue's place among the Cohorts; always 1.",
            "parent_cohort",
            "root_cohort",
        )
        self.cluster_queue_weighted_share = gated.shares.gauge(
            "cluster_queue_weighted_share", "How much the ClusterQueue borrows, by its weight.", "cohort"
        )

    def _quota(self, make: SeriesSection) -> None:
        self.cluster_queue_resource_reservation = make.gauge(
            "cluster_queue_resource_reservation", "Quota that is reserved.", *QUOTA
        )
        self.cluster_queue_resource_usage = make.gauge(
            "cluster_queue_resource_usage", "Quota that admitted workloads use.", *QUOTA
        )
        self.cluster_queue_nominal_quota = make.gauge("cluster_queue_nominal_quota", "The nominal quota.", *QUOTA)
        self.cluster_queue_borrowing_limit = make.gauge(
            "cluster_queue_borrowing_limit", "What may be borrowed; infinite without a limit.", *QUOTA
        )
        self.cluster_queue_lending_limit = make.gauge(
            "cluster_queue_lending_limit", "What may be lent; infinite without a limit.", *QUOTA
        )


class MultiKueueSeries:
    """What is told of dispatch to worker clusters: `multikueue_…`."""

    def __init__(self, make: SeriesSection) -> None:
        self.workloads_dispatched_total = make.counter(
            "workloads_dispatched_total", "Workloads sent to a worker cluster.", "cluster"
        )
        self.workloads_admitted_total = make.counter(
            "workloads_admitted_total", "Workloads that a worker cluster admitted.", "cluster"
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
    """What is told of LocalQueues: `kueue_local_queue_…`."""

    def __init__(
        self, make: SeriesSection, ready: SeriesSection, unadmitted: SeriesSection, custom: tuple[str, ...]
    ) -> None:
        super().__init__(make, E14, ready, CustomWorkloadLabels(states=custom, admissions=custom))
        self.status = make.gauge(
            "status", "1 for the state that the LocalQueue's Active condition has, 0 for the others.", "active"
        )
        self.unadmitted_workloads = unadmitted.gauge(
            "unadmitted_workloads",
            "Workloads that are not admitted, by why.",
            "cluster_queue",
            "reason",
            "underlying_cause",
        )
        self.resource_reservation = make.gauge("resource_reservation", "Quota that is reserved.", "flavor", "resource")
        self.resource_usage = make.gauge("resource_usage", "Quota that admitted workloads use.", "flavor", "resource")
        self.admission_fair_sharing_usage = make.gauge(
            "admission_fair_sharing_usage", "What the LocalQueue used lately, by its weight.", "cluster_queue"
        )


class CohortSeries:
    """What is told of Cohorts: `kueue_cohort_…`."""

    def __init__(self, make: SeriesSection, shares: SeriesSection) -> None:
        self.info = make.gauge("info", "The Cohort's place in its tree; always 1.", "parent_cohort", "root_cohort")
        self.weighted_share = shares.gauge("weighted_share", "How much the Cohort borrows, by its weight.")
        self.subtree_quota = make.gauge("subtree_quota", "Quota of the whole subtree.", "flavor", "resource")
        self.subtree_resource_reservations = make.gauge(
            "subtree_resource_reservations", "Quota that is reserved in the whole subtree.", "flavor", "resource"
        )
        self.subtree_admitted_workloads_total = make.counter(
            "subtree_admitted_workloads_total", "Admissions in the whole subtree.", BY
        )
        self.subtree_admitted_active_workloads = make.gauge(
            "subtree_admitted_active_workloads", "Admitted workloads of the whole subtree that did not finish."
        )
