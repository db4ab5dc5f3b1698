"""The interface to a metrics library: two methods."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

MetricLabels = Mapping[str, str]
NO_LABELS: MetricLabels = MappingProxyType({})


class MetricsSink(Protocol):
    """A sink for counters and observations."""

    def count(self, name: str, labels: MetricLabels = NO_LABELS) -> None:
        """Increment the counter `name`."""
        ...

    def observe(self, name: str, value: float, labels: MetricLabels = NO_LABELS) -> None:
        """Observe a value of `name`, such as a duration in seconds."""
        ...


class NoopMetrics:
    """Discards everything."""

    def count(self, name: str, labels: MetricLabels = NO_LABELS) -> None:
        """Nothing."""

    def observe(self, name: str, value: float, labels: MetricLabels = NO_LABELS) -> None:
        """Nothing."""


NO_METRICS = NoopMetrics()
