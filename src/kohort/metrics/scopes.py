"""Which queues and cohorts are reported, and the extra labels of their series (API-143…145).

Replica role and custom labels of queues and cohorts are added when the page is rendered, so that a change of role or
label applies to all series at once. Custom labels of Workloads are labels of their families.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kohort.api.config.v1beta2 import Configuration, CustomLabel
from kohort.api.gates import FeatureGates, Gate
from kohort.api.selectors import EVERYTHING, compile_selector
from kohort.metrics.families import MetricScope, Pairs, Values

UNTRACKED: Final = "kueue.x-k8s.io/_UNTRACKED_VALUE_"

ReplicaRole = Callable[[], str]
"""Returns leader, follower or standalone."""


@dataclass(frozen=True, slots=True)
class CustomLabels:
    """The custom labels that a Configuration takes from objects of one kind, and their values per object."""

    wanted: tuple[CustomLabel, ...]
    values: dict[Values, tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> Values:
        """The label names in series."""
        return tuple(f"custom_{label.name}" for label in self.wanted)

    def read(self, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Values:
        """The values for an object with these labels and annotations."""
        return tuple(_value(label, labels, annotations) for label in self.wanted)

    def update(self, owner: Values, labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
        """Set the values of an object; returns whether they differ from earlier ones."""
        if not self.wanted:
            return False
        before, now = self.values.get(owner), self.read(labels, annotations)
        self.values[owner] = now
        return before is not None and before != now

    def forget(self, owner: Values) -> None:
        """Remove a deleted object."""
        self.values.pop(owner, None)

    def of(self, owner: Values) -> Iterator[tuple[str, str]]:
        """Names and values for an object's series; empty values before the first update."""
        values = self.values.get(owner, ("",) * len(self.wanted))
        return zip(self.names, values, strict=True)


def _value(label: CustomLabel, labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    if label.source_annotation_key:
        value = annotations.get(label.source_annotation_key, "")
    else:
        value = labels.get(label.source_label_key or label.name, "")
    return value if not label.tracked_values or value in label.tracked_values else UNTRACKED


class MetricScopes:
    """The scopes of Kueue's series: the process, ClusterQueues, LocalQueues, Cohorts."""

    def __init__(self, configuration: Configuration, gates: FeatureGates, role: ReplicaRole) -> None:
        self._role = role
        wanted = configuration.metrics.custom_labels if gates.enabled(Gate.CustomMetricLabels) else ()
        self.cluster_queue_labels = _of_kind("ClusterQueue", wanted)
        self.local_queue_labels = _of_kind("LocalQueue", wanted)
        self.cohort_labels = _of_kind("Cohort", wanted)
        self.workload_labels = _of_kind("Workload", wanted)
        settings = configuration.metrics.local_queue_metrics
        self._local_queues_on = settings.enable and gates.enabled(Gate.LocalQueueMetrics)
        chosen = settings.local_queue_selector
        self._selector = EVERYTHING if chosen is None else compile_selector(chosen)
        self._chosen: set[Values] = set()

    def process(self) -> MetricScope:
        """The scope of the whole process."""
        return MetricScope(extra_labels=lambda _: self._with_role(()))

    def cluster_queue(self, label: str = "cluster_queue") -> MetricScope:
        """The scope of a ClusterQueue, identified by `label`."""
        return MetricScope((label,), extra_labels=lambda owner: self._with_role(self.cluster_queue_labels.of(owner)))

    def local_queue(self) -> MetricScope:
        """The scope of a reported LocalQueue (API-144)."""
        return MetricScope(
            ("name", "namespace"),
            self.reports_local_queue,
            lambda owner: self._with_role(self.local_queue_labels.of(owner)),
        )

    def cohort(self) -> MetricScope:
        """The scope of a Cohort."""
        return MetricScope(("cohort",), extra_labels=lambda owner: self._with_role(self.cohort_labels.of(owner)))

    def update_local_queue(self, owner: Values, labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
        """Update whether a LocalQueue is reported; returns whether its custom labels changed."""
        if self._selector.matches(labels):
            self._chosen.add(owner)
        else:
            self._chosen.discard(owner)
        return self.local_queue_labels.update(owner, labels, annotations)

    def forget_local_queue(self, owner: Values) -> None:
        """Remove a deleted LocalQueue."""
        self.local_queue_labels.forget(owner)
        self._chosen.discard(owner)

    def reports_local_queue(self, owner: Values) -> bool:
        """Whether a LocalQueue has series (API-144)."""
        return self._local_queues_on and (self._selector is EVERYTHING or owner in self._chosen)

    def _with_role(self, pairs: Pairs) -> Pairs:
        return (("replica_role", self._role()), *pairs)


def _of_kind(kind: str, wanted: tuple[CustomLabel, ...]) -> CustomLabels:
    return CustomLabels(tuple(label for label in wanted if label.source_kind == kind))


def only_if(condition: bool, scope: MetricScope) -> MetricScope:  # noqa: FBT001  a setting of the Configuration, not a switch
    """The scope, or one that reports nothing if a setting or a gate is off."""
    return scope if condition else MetricScope(scope.owner, lambda _: False)
