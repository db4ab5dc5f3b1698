"""Where the package reports what it counts: two methods, so that any metrics library fits behind them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

Labels = Mapping[str, str]
NO_LABELS: Labels = MappingProxyType({})


class MetricsSink(Protocol):
    """A sink for counts and observations."""

    def count(self, name: str, labels: Labels = NO_LABELS) -> None:
        """One more of `name`."""
        ...

    def observe(self, name: str, value: float, labels: Labels = NO_LABELS) -> None:
        """A value of `name`, such as a duration in seconds."""
        ...


class NoopMetrics:
    """Counts nothing."""

    def count(self, name: str, labels: Labels = NO_LABELS) -> None:
        """Nothing."""

    def observe(self, name: str, value: float, labels: Labels = NO_LABELS) -> None:
        """Nothing."""


NO_METRICS = NoopMetrics()
