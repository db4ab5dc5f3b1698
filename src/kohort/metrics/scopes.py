"""Which queues and cohorts are reported, and which labels their series carry besides (API-143…145).

Role and custom labels of queues and cohorts are added when the page is written: a new leader's gauges say so at once,
a relabelled queue's too, and no series stays behind under what was. Labels of Workloads are labels of their families.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kohort.api.config.v1beta2 import Configuration, CustomLabel
from kohort.api.gates import FeatureGates, Gate
from kohort.api.selectors import EVERYTHING, compile_selector
from kohort.metrics.families import MetricScope, Pairs, Values

UNTRACKED: Final = "kueue.x-k8s.io/_UNTRACKED_VALUE_"

Role = Callable[[], str]
"""leader, follower or standalone."""


@dataclass(frozen=True, slots=True)
class CustomLabels:
    """The labels that a Configuration takes from objects of one kind, and their values per object."""

    wanted: tuple[CustomLabel, ...]
    values: dict[Values, tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> Values:
        """The labels as series carry them."""
        return tuple(f"custom_{label.name}" for label in self.wanted)

    def read(self, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Values:
        """The values that an object with these labels and annotations has."""
        return tuple(_value(label, labels, annotations) for label in self.wanted)

    def learn(self, owner: Values, labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
        """What an object says of itself now; whether it said something else before."""
        if not self.wanted:
            return False
        before, now = self.values.get(owner), self.read(labels, annotations)
        self.values[owner] = now
        return before is not None and before != now

    def forget(self, owner: Values) -> None:
        """The object is gone."""
        self.values.pop(owner, None)

    def of(self, owner: Values) -> Iterator[tuple[str, str]]:
        """Names and values for an object's series; empty values for one that is not known yet."""
        values = self.values.get(owner, ("",) * len(self.wanted))
        return zip(self.names, values, strict=True)


def _value(label: CustomLabel, labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    if label.source_annotation_key:
        value = annotations.get(label.source_annotation_key, "")
    else:
        value = labels.get(label.source_label_key or label.name, "")
    return value if not label.tracked_values or value in label.tracked_values else UNTRACKED


class MetricScopes:
    """Of what Kueue's series speak: the process, ClusterQueues, LocalQueues, Cohorts."""

    def __init__(self, configuration: Configuration, gates: FeatureGates, role: Role) -> None:
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
        """What holds for the whole process."""
        return MetricScope(adds=lambda _: self._with_role(()))

    def cluster_queue(self, label: str = "cluster_queue") -> MetricScope:
        """A ClusterQueue, under the label that names it."""
        return MetricScope((label,), adds=lambda owner: self._with_role(self.cluster_queue_labels.of(owner)))

    def local_queue(self) -> MetricScope:
        """A LocalQueue that is to be reported (API-144)."""
        return MetricScope(
            ("name", "namespace"),
            self.reports_local_queue,
            lambda owner: self._with_role(self.local_queue_labels.of(owner)),
        )

    def cohort(self) -> MetricScope:
        """A Cohort."""
        return MetricScope(("cohort",), adds=lambda owner: self._with_role(self.cohort_labels.of(owner)))

    def learn_local_queue(self, owner: Values, labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
        """Decide anew whether a LocalQueue is reported; whether it has other custom labels than before."""
        if self._selector.matches(labels):
            self._chosen.add(owner)
        else:
            self._chosen.discard(owner)
        return self.local_queue_labels.learn(owner, labels, annotations)

    def forget_local_queue(self, owner: Values) -> None:
        """The LocalQueue is gone."""
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
    """The scope, or one that reports nothing where a setting or a gate is off."""
    return scope if condition else MetricScope(scope.owner, lambda _: False)
