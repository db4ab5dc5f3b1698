"""Kueue's series, one typed attribute each (docs/spec section 11; API-143…146).

A series that a gate or setting disables exists and drops its values, so that callers need not check.
`metrics.x` is `kueue_x`, `metrics.local_queue.x` is `kueue_local_queue_x`, `metrics.cohort.x` is `kueue_cohort_x`.
"""

import platform
from collections.abc import Mapping
from typing import Final

from kohort import __version__
from kohort.api.config.v1beta2 import Configuration
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.metrics.families import Gauge, MetricScope
from kohort.metrics.registry import MetricsRegistry
from kohort.metrics.scopes import MetricScopes, ReplicaRole, only_if
from kohort.metrics.series import (
    ClusterQueueSeries,
    CohortSeries,
    GatedSections,
    LocalQueueSeries,
    MultiKueueSeries,
    ProcessSeries,
    SeriesSection,
)

NONE: Final[Mapping[str, str]] = {}


class KueueMetrics(ClusterQueueSeries, ProcessSeries):
    """All of Kueue's series for one process; those of ClusterQueues and of the process are direct attributes."""

    def __init__(
        self, registry: MetricsRegistry, configuration: Configuration, gates: FeatureGates, role: ReplicaRole
    ) -> None:
        self.registry = registry
        self._scopes = MetricScopes(configuration, gates, role)
        self._create_series(configuration, gates)
        self.build_info.set(
            1,
            git_version=f"v{__version__}",
            git_commit="",
            build_date="",
            go_version="",
            compiler=f"{platform.python_implementation()} {platform.python_version()}",
            platform=f"{platform.system().lower()}/{platform.machine()}",
        )

    def _create_series(self, configuration: Configuration, gates: FeatureGates) -> None:
        sections = _Sections(self.registry, self._scopes, configuration, gates)
        ClusterQueueSeries.__init__(
            self,
            sections.cluster_queue(),
            sections.cluster_queue_resources(),
            sections.preemptors(),
            sections.gated(),
            self._scopes.workload_labels.names,
        )
        ProcessSeries.__init__(self, *sections.process(), self._scopes.local_queue_labels.names)
        self.local_queue = sections.local_queue()
        self.cohort = sections.cohort()
        self.multikueue = sections.multikueue()

    def update_cluster_queue(
        self, name: str, labels: Mapping[str, str] = NONE, annotations: Mapping[str, str] = NONE
    ) -> None:
        """Record that a ClusterQueue exists, with its labels (API-145)."""
        if self._scopes.cluster_queue_labels.update((name,), labels, annotations):
            self._reset_counters(name, of=("cluster_queue",))
            self._reset_counters(name, of=("preempting_cluster_queue",))

    def update_local_queue(
        self, namespace: str, name: str, labels: Mapping[str, str] = NONE, annotations: Mapping[str, str] = NONE
    ) -> None:
        """Record that a LocalQueue exists, with its labels, which decide whether it is reported (API-144, API-145)."""
        if self._scopes.update_local_queue((name, namespace), labels, annotations):
            self._reset_counters(name, namespace, of=("name", "namespace"))
        if not self._scopes.reports_local_queue((name, namespace)):
            self._drop(name, namespace, of=("name", "namespace"))

    def update_cohort(self, name: str, labels: Mapping[str, str] = NONE, annotations: Mapping[str, str] = NONE) -> None:
        """Record that a Cohort exists, with its labels (API-145)."""
        if self._scopes.cohort_labels.update((name,), labels, annotations):
            self._reset_counters(name, of=("cohort",))

    @property
    def has_workload_labels(self) -> bool:
        """Whether series have custom labels of Workloads (API-145)."""
        return bool(self._scopes.workload_labels.wanted)

    def labels_of(self, workload: Workload) -> dict[str, str]:
        """The custom labels of a Workload (API-145)."""
        wanted, metadata = self._scopes.workload_labels, workload.metadata
        return dict(zip(wanted.names, wanted.read(metadata.labels, metadata.annotations), strict=True))

    def labels_of_local_queue(self, namespace: str, name: str) -> dict[str, str]:
        """The custom labels of a LocalQueue, for series that it does not own (API-145)."""
        return dict(self._scopes.local_queue_labels.of((name, namespace)))

    def drop_cluster_queue(self, name: str) -> None:
        """Remove the series of a deleted ClusterQueue (API-144)."""
        self._scopes.cluster_queue_labels.forget((name,))
        self._drop(name, of=("cluster_queue",))
        self.preempted_workloads_total.forget(name)

    def drop_local_queue(self, namespace: str, name: str) -> None:
        """Remove the series of a deleted LocalQueue (API-144)."""
        self._scopes.forget_local_queue((name, namespace))
        self._drop(name, namespace, of=("name", "namespace"))

    def drop_cohort(self, name: str) -> None:
        """Remove the series of a deleted Cohort (API-144)."""
        self._scopes.cohort_labels.forget((name,))
        self._drop(name, of=("cohort",))

    def forget_gauges(self) -> None:
        """Drop all gauges of queues and cohorts; restarted controllers set them again."""
        for family in self.registry.families():
            if isinstance(family, Gauge) and family.scope.owner:
                family.clear()

    def _reset_counters(self, *owner: str, of: tuple[str, ...]) -> None:
        """Drop counters and histograms with outdated custom labels; gauges are set again anyway (API-145)."""
        for family in self.registry.families():
            if family.scope.owner == of and not isinstance(family, Gauge):
                family.forget(*owner)

    def _drop(self, *owner: str, of: tuple[str, ...]) -> None:
        for family in self.registry.families():
            if family.scope.owner == of:
                family.forget(*owner)


class _Sections:
    """Sections with their scopes, which report nothing where a gate or setting disables them."""

    def __init__(
        self, registry: MetricsRegistry, scopes: MetricScopes, configuration: Configuration, gates: FeatureGates
    ) -> None:
        self._registry = registry
        self._scopes = scopes
        self._configuration = configuration
        self._gates = gates
        self._waits = configuration.waits_for_pods_ready(gates)
        self._shares = configuration.fair_sharing is not None

    def process(self) -> tuple[SeriesSection, SeriesSection, SeriesSection]:
        scope = self._scopes.process()
        latency = self._gated(Gate.MetricForWorkloadCreationLatency, scope)
        return self._section(scope), latency, self._section(MetricScope())

    def cluster_queue(self) -> SeriesSection:
        return self._section(self._scopes.cluster_queue())

    def cluster_queue_resources(self) -> SeriesSection:
        return self._section(
            only_if(self._configuration.metrics.enable_cluster_queue_resources, self._scopes.cluster_queue())
        )

    def preemptors(self) -> SeriesSection:
        return self._section(self._scopes.cluster_queue("preempting_cluster_queue"))

    def gated(self) -> GatedSections:
        scope = self._scopes.cluster_queue()
        wanted = self._configuration.metrics.enable_cluster_queue_resources
        return GatedSections(
            ready=self._section(only_if(self._waits, scope)),
            hashes=self._gated(Gate.SchedulingEquivalenceHashing, scope),
            unadmitted=self._gated(Gate.UnadmittedWorkloadsObservability, scope),
            info=self._gated(Gate.MetricsForCohorts, scope),
            shares=self._section(only_if(wanted and self._shares, scope)),
        )

    def local_queue(self) -> LocalQueueSeries:
        scope = self._scopes.local_queue()
        prefix = "kueue_local_queue_"
        return LocalQueueSeries(
            self._section(scope, prefix),
            self._section(only_if(self._waits, scope), prefix),
            self._gated(Gate.UnadmittedWorkloadsObservability, scope, prefix),
            self._scopes.workload_labels.names,
        )

    def cohort(self) -> CohortSeries:
        scope = self._scopes.cohort()
        prefix = "kueue_cohort_"
        return CohortSeries(
            self._gated(Gate.MetricsForCohorts, scope, prefix), self._section(only_if(self._shares, scope), prefix)
        )

    def multikueue(self) -> MultiKueueSeries:
        return MultiKueueSeries(self._section(self._scopes.cluster_queue(), "multikueue_"))

    def _section(self, scope: MetricScope, prefix: str = "kueue_") -> SeriesSection:
        return SeriesSection(self._registry, scope, prefix)

    def _gated(self, gate: Gate, scope: MetricScope, prefix: str = "kueue_") -> SeriesSection:
        return self._section(only_if(self._gates.enabled(gate), scope), prefix)
