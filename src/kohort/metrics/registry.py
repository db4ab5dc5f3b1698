"""All families of a process, and the page that Prometheus reads."""

from collections.abc import Iterator
from typing import Any, Final, TypeVar

from kohort.metrics.families import EVERYTHING, Counter, Family, Gauge, Histogram, MetricScope, escaped

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

AnyFamily = TypeVar("AnyFamily", bound=Family[Any])


class DuplicateMetricError(ValueError):
    """Two families have the same name: a programming error."""


class MetricsRegistry:
    """The families of a process, by name."""

    def __init__(self) -> None:
        self._families: dict[str, Family[Any]] = {}

    def counter(self, name: str, help_text: str, *labels: str, scope: MetricScope = EVERYTHING) -> Counter:
        """A new counter."""
        return self._add(Counter(name, help_text, labels, scope))

    def gauge(self, name: str, help_text: str, *labels: str, scope: MetricScope = EVERYTHING) -> Gauge:
        """A new gauge."""
        return self._add(Gauge(name, help_text, labels, scope))

    def histogram(
        self, name: str, help_text: str, *labels: str, buckets: tuple[float, ...], scope: MetricScope = EVERYTHING
    ) -> Histogram:
        """A new histogram."""
        return self._add(Histogram(name, help_text, labels, buckets, scope))

    def families(self) -> Iterator[Family[Any]]:
        """All families, by name."""
        return iter(sorted(self._families.values(), key=lambda family: family.name))

    def render(self) -> bytes:
        """The whole page in Prometheus' text format."""
        return "".join(self.pages()).encode()

    def pages(self) -> Iterator[str]:
        """The page in parts; families without series are omitted, as in Prometheus' own clients."""
        for family in self.families():
            head = f"# HELP {family.name} {escaped(family.help_text)}\n# TYPE {family.name} {family.kind}\n"
            for page in family.pages():
                yield head + page
                head = ""

    def _add(self, family: AnyFamily) -> AnyFamily:
        if family.name in self._families:
            raise DuplicateMetricError(f"metric {family.name} already exists")
        self._families[family.name] = family
        return family
